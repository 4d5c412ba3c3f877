#include "config/definition.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/name.h"
#include "config/services.h"
#include "config/validate.h"
#include "schema/translate.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* A definition that is being read. */
struct reader {
    const struct definition_context *context;
    struct definition *definition;
    const char *pointer; /* of the definition */
    size_t problems_before;
    size_t errors_before;
};

/* ------------------------------------------------------------------ problems */

/* Longest cause; a longer one is cut. */
#define CAUSE_MAX 1024

/* `place` is that of the problem in the definition. */
TOOLRACK_PRINTF(5, 6)
static void say(const struct reader *reader, const struct problem *what, const char *place,
                const char *fix, const char *cause, ...) {
    char pointer[JSON_POINTER_MAX] = "";
    char text[CAUSE_MAX];
    strncat(pointer, reader->pointer, sizeof pointer - 1);
    strncat(pointer, place, sizeof pointer - strlen(pointer) - 1);
    va_list args;
    va_start(args, cause);
    (void)vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    struct problem problem = *what;
    problem.pointer = pointer;
    problem.tool = reader->definition->name;
    problem.fix = fix;
    problems_add(reader->context->problems, &problem, "%s", text);
}

#define RULE(id) (&(const struct problem){.severity = TOOLRACK_SEVERITY_ERROR, .rule = (id)})

static void no_memory(const struct reader *reader) {
    reader->context->problems->failed = true;
}

/* Whether one of the first `count` problems is an error at a place of the definition, or below it.
 */
static bool is_wrong(const struct reader *reader, const char *place, size_t count) {
    const struct problems *problems = reader->context->problems;
    size_t base = strlen(reader->pointer);
    size_t length = strlen(place);
    for (size_t i = reader->problems_before; i < count; i++) {
        const char *pointer = problems->items[i].pointer;
        if (problems->items[i].severity == TOOLRACK_SEVERITY_ERROR && strlen(pointer) >= base &&
            strncmp(pointer + base, place, length) == 0) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- members */

/* A member that is a string; NULL if it is missing or invalid. */
static const char *string_in(yyjson_val *object, const char *key) {
    yyjson_val *value = yyjson_obj_get(object, key);
    const char *string = yyjson_get_str(value);
    return string != NULL && strlen(string) == yyjson_get_len(value) ? string : NULL;
}

/* A value as JSON, in the arena. */
static const char *write_value(const struct reader *reader, yyjson_val *value) {
    yyjson_alc alc = arena_alc(reader->context->arena);
    const char *text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    if (text == NULL) {
        no_memory(reader);
    }
    return text;
}

/* The schema is taken for something else than it says. */
static void say_translated(void *user, const char *pointer, const char *fix, const char *cause) {
    char place[JSON_POINTER_MAX] = "/parameters";
    strncat(place, pointer, sizeof place - strlen(place) - 1);
    say(user, &(struct problem){.severity = TOOLRACK_SEVERITY_WARNING, .rule = "definition-schema"},
        place, fix, "%s", cause);
}

/* The schema of the arguments, in the arena. Generators write it as other languages and earlier
 * drafts have it. */
static const char *write_parameters(struct reader *reader, yyjson_val *value) {
    yyjson_alc alc = arena_alc(reader->context->arena);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, value);
    const char *text = NULL;
    if (copy != NULL) {
        translate_schema(doc, copy, say_translated, reader);
    }
    if (json_doc_is_whole(doc)) {
        text = yyjson_mut_val_write_opts(copy, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    }
    if (text == NULL) {
        no_memory(reader);
    }
    return text;
}

/* Words separated by commas, from a string or an array; NULL if there are none. */
static const char *words_in(const struct reader *reader, yyjson_val *object, const char *key) {
    yyjson_val *value = yyjson_obj_get(object, key);
    if (!yyjson_is_arr(value) || yyjson_arr_size(value) == 0) {
        return string_in(object, key);
    }
    CLEANUP(buf_finish) struct buf joined = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *word;
    yyjson_arr_foreach (value, at, count, word) {
        buf_printf(&joined, "%s%s", at > 0 ? "," : "",
                   yyjson_is_str(word) ? yyjson_get_str(word) : "");
    }
    const char *words =
            joined.failed ? NULL : arena_copy(reader->context->arena, joined.data, joined.length);
    if (words == NULL) {
        no_memory(reader);
    }
    return words;
}

enum measure measure_in(yyjson_val *object) {
    yyjson_val *value = yyjson_obj_get(object, "measure");
    return yyjson_equals_str(value, "all")       ? MEASURE_ALL
           : yyjson_equals_str(value, "sampled") ? MEASURE_SAMPLED
                                                 : MEASURE_UNSTATED;
}

static void take_members(struct reader *reader, yyjson_val *value) {
    static const char *const permissions[] = {
            [TR_SAFE] = "safe", [TR_CONFIRM] = "confirm", [TR_DANGEROUS] = "dangerous"};
    struct definition *definition = reader->definition;
    yyjson_val *parameters = yyjson_obj_get(value, "parameters");
    yyjson_val *priority = yyjson_obj_get(value, "priority");
    yyjson_val *implementation = yyjson_obj_get(value, "implementation");
    if (yyjson_equals_str(yyjson_obj_get(implementation, "type"), "mcp")) {
        definition->permission = TR_CONFIRM; /* what it does is a stranger's, who can change it */
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(permissions); i++) {
        if (yyjson_equals_str(yyjson_obj_get(value, "permission"), permissions[i])) {
            definition->permission = i;
        }
    }
    definition->description = string_in(value, "description");
    definition->version = string_in(value, "version");
    definition->title = string_in(value, "title");
    definition->category = string_in(value, "category");
    definition->purpose = string_in(value, "purpose");
    definition->deprecated = string_in(value, "deprecated");
    definition->handler = string_in(value, "handler");
    definition->tags = words_in(reader, value, "tags");
    definition->scenarios = words_in(reader, value, "scenarios");
    definition->priority = (int32_t)yyjson_get_sint(priority);
    definition->priority_stated = priority != NULL;
    definition->deadline_ms = (uint32_t)yyjson_get_uint(yyjson_obj_get(value, "deadline_ms"));
    definition->measure = measure_in(value);
    if (parameters != NULL && !is_wrong(reader, "/parameters", reader->context->problems->count)) {
        definition->parameters = write_parameters(reader, parameters);
    }
}

/* ---------------------------------------------------------- implementations */

static tr_status run_mock(struct tr_call *call, void *response) {
    return tr_reply_json(call, response);
}

static void read_mock(struct reader *reader, yyjson_val *value) {
    const char *text = write_value(reader, yyjson_obj_get(value, "mock_response"));
    yyjson_read_err why = {0};
    yyjson_doc *doc = text != NULL ? yyjson_read_opts((char *)(uintptr_t)text, strlen(text),
                                                      YYJSON_READ_NOFLAG, NULL, &why)
                                   : NULL;
    yyjson_doc_free(doc);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_INVALID_NUMBER) {
        say(reader, RULE("definition-value"), "/implementation/mock_response",
            "write numbers that a double holds",
            "\"mock_response\" has a number that is too large");
        return;
    }
    const char *handler = string_in(value, "handler");
    struct definition *definition = reader->definition;
    definition->handler = handler != NULL               ? handler
                          : definition->handler != NULL ? definition->handler
                                                        : definition->name;
    definition->service =
            (struct run_service){.run = run_mock, .user = (void *)(uintptr_t)text, .returns = true};
}

/* The handler, from the implementation or else from the definition. */
static const char *handler_of(struct reader *reader, yyjson_val *value, const char *type) {
    const char *inner = string_in(value, "handler");
    const char *handler = inner != NULL ? inner : reader->definition->handler;
    if (handler == NULL) {
        say(reader, RULE("definition-missing"), "/implementation",
            "add the name of the function that runs it, as in \"handler\": \"echo\"",
            "an implementation of type \"%s\" needs \"handler\"", type);
    }
    return reader->definition->handler = handler;
}

static const char *handler_place(yyjson_val *value) {
    return yyjson_obj_get(value, "handler") != NULL ? "/implementation/handler" : "/handler";
}

static void read_builtin(struct reader *reader, yyjson_val *value) {
    const char *handler = handler_of(reader, value, "builtin");
    const struct definition_context *context = reader->context;
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    bool found = false;
    for (size_t i = 0; handler != NULL && !found && i < context->builtin_count; i++) {
        const struct builtin *builtin = &context->builtins[i];
        found = strcmp(builtin->name, handler) == 0;
        if (found) {
            reader->definition->service = (struct run_service){
                    .run = builtin->run, .user = context->host, .returns = true};
        }
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", builtin->name);
    }
    if (handler != NULL && !found) {
        say(reader, RULE(DEFINITION_RULE_HANDLER), handler_place(value),
            "name one of them, or use the type \"internal\" for a service of the app",
            "unknown handler '%s'; there are: %s", handler, names.failed ? "" : names.data);
    }
}

static void say_no_service(struct reader *reader, yyjson_val *value, const char *handler) {
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    services_add_names(reader->context->services, &names);
    say(reader, RULE(DEFINITION_RULE_SERVICE), handler_place(value),
        "let the app register it, in toolrack_options.services or by toolrack_add_service()",
        "unknown handler '%s'; there are: %s", handler,
        names.length > 0 ? names.data : "none, as the app has registered no service");
}

static void read_internal(struct reader *reader, yyjson_val *value) {
    const char *handler = handler_of(reader, value, "internal");
    if (handler == NULL) {
        return;
    }
    if (reader->context->services == NULL) {
        say(reader,
            &(struct problem){.severity = TOOLRACK_SEVERITY_NOTE, .rule = DEFINITION_RULE_SERVICE},
            handler_place(value), "see that the app that uses this file does",
            "the app must register a service '%s'; nothing here shows whether it does", handler);
        reader->definition->service.run = run_mock; /* never called: nothing is registered */
        return;
    }
    const struct service *service = services_find(reader->context->services, handler);
    if (service == NULL) {
        say_no_service(reader, value, handler);
        return;
    }
    reader->definition->service = service->run;
}

static void read_native(struct reader *reader, yyjson_val *value) {
    struct definition *definition = reader->definition;
    struct toolrack_error err;
    definition->is_native = true;
    definition->foreign = (struct foreign){.name = definition->name,
                                           .description = definition->description,
                                           .version = definition->version,
                                           .title = definition->title,
                                           .category = definition->category,
                                           .tags = definition->tags,
                                           .permission = definition->permission,
                                           .priority = definition->priority,
                                           .deadline_ms = definition->deadline_ms,
                                           .deprecated = definition->deprecated,
                                           .purpose = definition->purpose,
                                           .scenarios = definition->scenarios};
    if (definition->parameters != NULL) {
        say(reader,
            &(struct problem){.severity = TOOLRACK_SEVERITY_WARNING, .rule = "definition-ignored"},
            "/parameters", "remove them",
            "the parameters are made from the types of the arguments");
    }
    int code = foreign_parse(value, reader->context->arena, &definition->foreign, &err);
    if (code == TOOLRACK_E_NO_MEMORY) {
        no_memory(reader);
    } else if (code < 0) {
        char place[JSON_POINTER_MAX];
        (void)snprintf(place, sizeof place, "/implementation%s", err.field);
        const char *last = strrchr(err.field, '/');
        bool is_undecided = last != NULL && strcmp(last, "/decide") == 0;
        say(reader, RULE("definition-native"), place,
            is_undecided
                    ? "decide it in the file, or where it is made: `toolrack bind LIB --decide "
                      "FUNCTION.ARGUMENT=CHOICE`"
                    : "write for example {\"type\": \"native\", \"library\": \"libm.so.6\", "
                      "\"symbol\": "
                      "\"cos\", \"arguments\": [{\"name\": \"x\", \"type\": \"float64\"}], "
                      "\"result\": "
                      "{\"type\": \"float64\"}}",
            "%s", err.message);
    }
}

static void read_plan(struct reader *reader, yyjson_val *value) {
    const struct definition_context *context = reader->context;
    struct definition *definition = reader->definition;
    struct definition_plan plan = {0};
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (definition->parameters != NULL) {
        say(reader,
            &(struct problem){.severity = TOOLRACK_SEVERITY_WARNING, .rule = "definition-ignored"},
            "/parameters", "remove them", "the parameters are the inputs of the plan");
    }
    int code = context->make_plan == NULL || context->read_file == NULL
                       ? error_set(&err, TOOLRACK_E_INVALID, "nothing here runs plans")
                       : context->read_file(context->config, string_in(value, "file"), &text, &err);
    if (code == 0) {
        code = context->make_plan(context->host, definition->name, definition->permission,
                                  reader->pointer, text.length > 0 ? text.data : "", text.length,
                                  context->arena, &plan, &err);
    }
    if (code == TOOLRACK_E_NO_MEMORY) {
        no_memory(reader);
    } else if (code < 0) {
        say(reader, RULE("definition-plan"), "/implementation/file",
            "correct the plan: `toolrack run FILE --dry-run` tells all that is wrong with it", "%s",
            err.message);
    }
    definition->parameters = plan.parameters;
    definition->service = plan.service;
}

static void read_mcp(struct reader *reader, yyjson_val *value) {
    const struct definition_context *context = reader->context;
    struct definition *definition = reader->definition;
    struct toolrack_error err;
    int code = context->make_remote == NULL
                       ? error_set(&err, TOOLRACK_E_INVALID, "nothing here calls MCP servers")
                       : context->make_remote(context->host, context->config, definition->name,
                                              value, context->arena, &definition->service, &err);
    if (code == TOOLRACK_E_NO_MEMORY) {
        no_memory(reader);
    } else if (code < 0) {
        say(reader, RULE("definition-mcp"), "/implementation",
            "write for example {\"type\": \"mcp\", \"server\": \"files\", \"tool\": \"read_file\"}",
            "%s", err.message);
    }
}

static void read_implementation(struct reader *reader, yyjson_val *value) {
    static const struct {
        const char *type;
        void (*read)(struct reader *reader, yyjson_val *value);
    } kinds[] = {{"mock", read_mock},     {"builtin", read_builtin}, {"internal", read_internal},
                 {"native", read_native}, {"plan", read_plan},       {"mcp", read_mcp}};
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (yyjson_equals_str(yyjson_obj_get(value, "type"), kinds[i].type)) {
            kinds[i].read(reader, value);
        }
    }
}

/* --------------------------------------------------------------- descriptor */

/* The member that a rule of plugins is about, found by the rule's id. The cause of a fault in the
 * schema names the place in it: "...: /properties/a/pattern: is not ...". */
static void find_place(const struct finding *finding, char ret[JSON_POINTER_MAX]) {
    bool is_schema = strncmp(finding->rule, "schema-", strlen("schema-")) == 0;
    const char *inside = is_schema ? strstr(finding->cause, ": /") : NULL;
    const char *end = inside != NULL ? strstr(inside + 2, ": ") : NULL;
    (void)snprintf(ret, JSON_POINTER_MAX, "%s%.*s",
                   is_schema                                        ? "/parameters"
                   : strcmp(finding->rule, "tool-version") == 0     ? "/version"
                   : strcmp(finding->rule, "tool-description") == 0 ? "/description"
                                                                    : "",
                   end != NULL ? (int)(end - inside - 2) : 0, end != NULL ? inside + 2 : "");
}

static enum toolrack_severity severity_of(int severity) {
    return severity == FINDING_ERROR     ? TOOLRACK_SEVERITY_ERROR
           : severity == FINDING_WARNING ? TOOLRACK_SEVERITY_WARNING
                                         : TOOLRACK_SEVERITY_NOTE;
}

/* Findings about the plugin around the tool do not concern its author, and a member that is wrong
 * by the configuration's schema is reported once. */
static void take_findings(const struct reader *reader, const struct descriptor *desc) {
    size_t known = reader->context->problems->count; /* by the configuration's own schema */
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        char place[JSON_POINTER_MAX];
        find_place(finding, place);
        if (finding->tool != NULL && (place[0] == '\0' || !is_wrong(reader, place, known))) {
            say(reader,
                &(struct problem){.severity = severity_of(finding->severity),
                                  .rule = finding->rule},
                place, finding->fix, "%s", finding->cause);
        }
    }
}

static struct descriptor_options descriptor_options(const struct definition_context *context,
                                                    bool *out_of_memory) {
    *out_of_memory = false;
    return (struct descriptor_options){.check_schema = context->check_schema,
                                       .check_values = context->check_values,
                                       .is_of_configuration = true,
                                       .user = out_of_memory};
}

/* The function in the descriptor; the host calls the service instead. */
static tr_status run_nothing(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the tool has no function of its own");
}

static int describe(const struct reader *reader, struct toolrack_error *err) {
    struct definition *definition = reader->definition;
    const struct tr_tool tool = {.size = sizeof tool,
                                 .name = definition->name,
                                 .description = definition->description,
                                 .version = definition->version,
                                 .title = definition->title,
                                 .category = definition->category,
                                 .tags = definition->tags,
                                 .permission = definition->permission,
                                 .priority = definition->priority,
                                 .deadline_ms = definition->deadline_ms,
                                 .schema = definition->parameters,
                                 .run = run_nothing,
                                 .deprecated = definition->deprecated,
                                 .purpose = definition->purpose,
                                 .scenarios = definition->scenarios};
    const struct tr_tool *const tools[] = {&tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .flags = TR_THREAD_SAFE,
                                     .id = definition->name,
                                     .version = DEFINITION_VERSION,
                                     .tool_count = 1,
                                     .tool_size = sizeof tool,
                                     .tools = tools};
    bool out_of_memory;
    struct descriptor_options options = descriptor_options(reader->context, &out_of_memory);
    int code = descriptor_copy(&plugin, &options, &definition->desc, err);
    if (code < 0 || out_of_memory) {
        return error_oom(err);
    }
    take_findings(reader, definition->desc);
    return 0;
}

/* The schema of a native tool is made from its C types. What cannot be sent to a worker is refused
 * here. */
static int describe_native(const struct reader *reader, struct toolrack_error *err) {
    struct definition *definition = reader->definition;
    struct toolrack_error reason;
    bool out_of_memory;
    struct descriptor_options options = descriptor_options(reader->context, &out_of_memory);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = foreign_describe(&definition->foreign, NULL, &options, &definition->desc, &reason);
    if (code == 0) {
        code = foreign_write(&definition->foreign, &text, &reason);
    }
    if (code == TOOLRACK_E_NO_MEMORY || out_of_memory) {
        return error_oom(err);
    }
    if (code < 0) {
        say(reader, RULE("definition-native"), "/implementation", "correct it as the cause says",
            "%s", reason.message);
    } else {
        take_findings(reader, definition->desc);
    }
    return 0;
}

/* ----------------------------------------------------------------- the whole */

static bool is_sound(const struct reader *reader) {
    return reader->context->problems->errors == reader->errors_before;
}

int definition_read(const struct definition_context *context, yyjson_val *value,
                    const char *pointer, struct definition *ret, struct toolrack_error *err) {
    *ret = (struct definition){0};
    struct reader reader = {.context = context,
                            .definition = ret,
                            .pointer = pointer,
                            .problems_before = context->problems->count,
                            .errors_before = context->problems->errors};
    const char *name = string_in(value, "name");
    yyjson_val *implementation = yyjson_obj_get(value, "implementation");
    ret->name = name != NULL && name_valid(name) ? name : NULL;
    if (yyjson_equals_str(yyjson_obj_get(implementation, "type"), "http")) {
        say(&reader, RULE("definition-http"), "/implementation/type",
            "remove the definition, or write a plugin that sends the request",
            "HTTP tools not yet supported (coming in v2)");
        return TOOLRACK_E_INVALID;
    }
    validator_check_definition(context->validator, value, pointer, ret->name, context->problems);
    take_members(&reader, value);
    if (!is_wrong(&reader, "/implementation", context->problems->count)) {
        read_implementation(&reader, implementation);
    }
    int code = 0;
    if (ret->is_native && is_sound(&reader)) {
        code = describe_native(&reader, err);
    } else if (!ret->is_native && ret->name != NULL && ret->description != NULL &&
               ret->parameters != NULL) {
        code = describe(&reader, err); /* also when there are problems: its findings are added */
    }
    if (code == 0 && context->problems->failed) {
        code = error_oom(err);
    }
    if (code == 0 && !is_sound(&reader)) {
        code = TOOLRACK_E_INVALID;
    }
    return code;
}

void definition_finish(struct definition *definition) {
    descriptor_unref(definition->desc);
    definition->desc = NULL;
}
