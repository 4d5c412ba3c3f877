#include "config/definition.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/name.h"
#include "config/services.h"

/* A definition while it is read. */
struct reader {
    const struct definition_context *context;
    struct definition *definition;
    const char *pointer; /* of the definition */
    size_t errors_before;
};

/* One member of a definition. */
struct member {
    const char *key;
    void (*read)(struct reader *reader, const struct member *member, yyjson_val *value);
    size_t offset; /* of its text in struct definition */
    bool required;
    const char *example; /* what the fix shows */
};

/* ------------------------------------------------------------------- saying */

/* Longest cause; what is longer is cut. */
#define CAUSE_MAX 1024

TOOLRACK_PRINTF(5, 6)
static void say(const struct reader *reader, const struct problem *what, const char *key,
                const char *fix, const char *cause, ...) {
    char pointer[JSON_POINTER_MAX] = "";
    char text[CAUSE_MAX];
    strncat(pointer, reader->pointer, sizeof pointer - 1);
    if (key != NULL) {
        strncat(pointer, key, sizeof pointer - strlen(pointer) - 1);
    }
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
#define KEY_RULE(id)          \
    (&(const struct problem){ \
            .severity = TOOLRACK_SEVERITY_ERROR, .rule = (id), .at = JSON_PLACE_KEY})

/* A member whose value is of the wrong kind. */
static void wrong(const struct reader *reader, const struct member *member, const char *must) {
    char key[NAME_LENGTH_MAX + 2];
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    (void)snprintf(key, sizeof key, "/%s", member->key);
    buf_printf(&fix, "write for example \"%s\": %s", member->key, member->example);
    say(reader, RULE("definition-value"), key, fix.data, "\"%s\" must be %s", member->key, must);
}

static void no_memory(const struct reader *reader) {
    reader->context->problems->failed = true;
}

/* The known key that was probably meant, or NULL. */
static const char *nearest_member(const char *key, const struct member *members, size_t count) {
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < count; i++) {
        (void)nearest_try(&nearest, members[i].key);
    }
    return nearest.name;
}

static void say_unknown(const struct reader *reader, const char *parent, const char *key,
                        const char *meant) {
    char pointer[JSON_POINTER_MAX] = "";
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    strncat(pointer, parent, sizeof pointer - 1);
    json_pointer_add(pointer, key);
    if (meant != NULL) {
        buf_printf(&fix, "did you mean \"%s\"?", meant);
    }
    say(reader, KEY_RULE("definition-key"), pointer, meant != NULL ? fix.data : "remove it",
        "a definition has no \"%s\"%s%s", key, parent[0] != '\0' ? " in " : "",
        parent[0] != '\0' ? parent + 1 : "");
}

/* Most members of a definition or an implementation; none can have as many. More are not looked at
 * one by one: each of them takes a look at all others. */
#define MEMBERS_MAX 64u

static bool has_few_members(const struct reader *reader, const char *parent, yyjson_val *value) {
    if (yyjson_obj_size(value) <= MEMBERS_MAX) {
        return true;
    }
    say(reader, RULE("definition-value"), parent, "remove what a definition does not have",
        "an object with %zu members is no part of a definition", yyjson_obj_size(value));
    return false;
}

/* Whether a member is the first of its key; another one is an error. */
static bool is_first(const struct reader *reader, const char *parent, yyjson_val *value,
                     yyjson_val *key, yyjson_val *member) {
    if (yyjson_obj_getn(value, yyjson_get_str(key), yyjson_get_len(key)) == member) {
        return true;
    }
    char pointer[JSON_POINTER_MAX] = "";
    strncat(pointer, parent, sizeof pointer - 1);
    json_pointer_add(pointer, yyjson_get_str(key));
    say(reader,
        &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                          .rule = "definition-key",
                          .at = JSON_PLACE_LAST_KEY},
        pointer, "remove one of them", "the key \"%s\" is given twice", yyjson_get_str(key));
    return false;
}

/* -------------------------------------------------------------------- texts */

/* A text that C can hold, or NULL. */
static const char *text_of(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

static const char **place_of(const struct reader *reader, const struct member *member) {
    return (const char **)(void *)((char *)reader->definition + member->offset);
}

static void read_text(struct reader *reader, const struct member *member, yyjson_val *value) {
    const char *text = text_of(value);
    if (text == NULL || (member->required && text[0] == '\0')) {
        wrong(reader, member, member->required ? "a text that is not empty" : "a text");
        return;
    }
    *place_of(reader, member) = text;
}

static void read_name(struct reader *reader, const struct member *member, yyjson_val *value) {
    const char *text = text_of(value);
    if (text == NULL || !name_valid(text)) {
        wrong(reader, member,
              "1 to 64 letters, digits, '_' or '-', beginning with a letter or '_'");
        return;
    }
    reader->definition->name = text;
}

/* The items of an array of texts, none of which holds the comma that stands between them. */
static bool join(yyjson_val *array, struct buf *out) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (array, at, count, item) {
        const char *text = text_of(item);
        if (text == NULL || text[0] == '\0' || strchr(text, ',') != NULL) {
            return false;
        }
        buf_printf(out, "%s%s", at > 0 ? "," : "", text);
    }
    return true;
}

static void read_words(struct reader *reader, const struct member *member, yyjson_val *value) {
    CLEANUP(buf_finish) struct buf joined = BUF_INIT;
    if (text_of(value) != NULL) {
        *place_of(reader, member) = text_of(value);
        return;
    }
    if (!yyjson_is_arr(value) || !join(value, &joined)) {
        wrong(reader, member, "an array of texts without a comma, or one text with commas");
        return;
    }
    if (joined.length > 0) {
        *place_of(reader, member) = arena_copy(reader->context->arena, joined.data, joined.length);
    }
    if (joined.failed || (joined.length > 0 && *place_of(reader, member) == NULL)) {
        no_memory(reader);
    }
}

/* ------------------------------------------------------------------ the rest */

static void read_type(struct reader *reader, const struct member *member, yyjson_val *value) {
    if (!yyjson_equals_str(value, "function")) {
        wrong(reader, member, "\"function\", the only type there is");
    }
}

static void read_permission(struct reader *reader, const struct member *member, yyjson_val *value) {
    static const char *const names[] = {
            [TR_SAFE] = "safe", [TR_CONFIRM] = "confirm", [TR_DANGEROUS] = "dangerous"};
    for (uint32_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (yyjson_equals_str(value, names[i])) {
            reader->definition->permission = i;
            return;
        }
    }
    wrong(reader, member, "\"safe\", \"confirm\" or \"dangerous\"");
}

static void read_priority(struct reader *reader, const struct member *member, yyjson_val *value) {
    int64_t given = yyjson_get_sint(value);
    if (!yyjson_is_int(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) > INT32_MAX) ||
        given > INT32_MAX || given < INT32_MIN) {
        wrong(reader, member, "a whole number of 32 bits");
        return;
    }
    reader->definition->priority = (int32_t)given;
    reader->definition->priority_stated = true;
}

static void read_deadline(struct reader *reader, const struct member *member, yyjson_val *value) {
    uint64_t given = yyjson_get_uint(value);
    if (!yyjson_is_uint(value) || given == 0 || given >= UINT32_MAX) {
        wrong(reader, member, "a positive number of milliseconds");
        return;
    }
    reader->definition->deadline_ms = (uint32_t)given;
}

/* A value as the text of JSON, in the arena. */
static const char *write_value(const struct reader *reader, yyjson_val *value) {
    yyjson_alc alc = arena_alc(reader->context->arena);
    const char *text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    if (text == NULL) {
        no_memory(reader);
    }
    return text;
}

static void read_parameters(struct reader *reader, const struct member *member, yyjson_val *value) {
    if (!yyjson_is_obj(value) || !yyjson_equals_str(yyjson_obj_get(value, "type"), "object")) {
        wrong(reader, member, "a JSON Schema with \"type\": \"object\" at its root");
        return;
    }
    reader->definition->parameters = write_value(reader, value);
}

/* Read after all others: what it needs may stand behind it. */
static void read_implementation(struct reader *reader, const struct member *member,
                                yyjson_val *value) {
    if (!yyjson_is_obj(value) || text_of(yyjson_obj_get(value, "type")) == NULL) {
        wrong(reader, member, "an object with a \"type\"");
    }
}

#define TEXT(field) offsetof(struct definition, field)
static const struct member members[] = {
        {"name", read_name, 0, true, "\"weather\""},
        {"description", read_text, TEXT(description), true, "\"Say what the weather is like\""},
        {"type", read_type, 0, true, "\"function\""},
        {"parameters", read_parameters, 0, true,
         "{\"type\": \"object\", \"properties\": {\"town\": {\"type\": \"string\"}}}"},
        {"implementation", read_implementation, 0, true,
         "{\"type\": \"mock\", \"mock_response\": \"sunny\"}"},
        {"handler", read_text, TEXT(handler), false, "\"echo\""},
        {"version", read_text, TEXT(version), false, "\"1.0.0\""},
        {"title", read_text, TEXT(title), false, "\"Weather\""},
        {"category", read_text, TEXT(category), false, "\"travel\""},
        {"tags", read_words, TEXT(tags), false, "[\"demo\"]"},
        {"permission", read_permission, 0, false, "\"safe\""},
        {"priority", read_priority, 0, false, "60"},
        {"deadline_ms", read_deadline, 0, false, "500"},
        {"purpose", read_text, TEXT(purpose), false, "\"plan a trip\""},
        {"scenarios", read_words, TEXT(scenarios), false, "[\"travel\"]"},
        {"deprecated", read_text, TEXT(deprecated), false, "\"use forecast\""},
};
#undef TEXT

/* Of an implementation. Each says itself which of them it needs. */
static const struct member implementation_members[] = {
        {"type", NULL, 0, true, "\"mock\""},
        {"mock_response", NULL, 0, false, "\"sunny\""},
        {"handler", NULL, 0, false, "\"echo\""},
};

/* ---------------------------------------------------------- implementations */

static tr_status run_mock(struct tr_call *call, void *response) {
    return tr_reply_json(call, response);
}

static void read_mock(struct reader *reader, yyjson_val *value) {
    yyjson_val *response = yyjson_obj_get(value, "mock_response");
    if (response == NULL) {
        say(reader, RULE("definition-missing"), "/implementation",
            "add the JSON value that the tool is to answer with, as in \"mock_response\": "
            "\"sunny\"",
            "an implementation of type \"mock\" needs \"mock_response\"");
        return;
    }
    const char *text = write_value(reader, response);
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
    reader->definition->service =
            (struct run_service){.run = run_mock, .user = (void *)(uintptr_t)text};
}

/* The handler, which either of the two places may name. */
static const char *handler_of(struct reader *reader, yyjson_val *value, const char *type) {
    yyjson_val *given = yyjson_obj_get(value, "handler");
    const char *outer = reader->definition->handler;
    const char *inner = text_of(given);
    if ((given != NULL && inner == NULL) || (inner != NULL && inner[0] == '\0')) {
        say(reader, RULE("definition-value"), "/implementation/handler",
            "write for example \"handler\": \"echo\"",
            "\"handler\" must be a text that is not empty");
        return NULL;
    }
    if (inner != NULL && outer != NULL && strcmp(inner, outer) != 0) {
        say(reader, RULE(DEFINITION_RULE_HANDLER), "/implementation/handler",
            "name it once, in the implementation",
            "the definition names two handlers, '%s' and '%s'", outer, inner);
        return NULL;
    }
    const char *handler = inner != NULL ? inner : outer;
    if (handler == NULL || handler[0] == '\0') {
        say(reader, RULE("definition-missing"), "/implementation",
            "add the name of the function that runs it, as in \"handler\": \"echo\"",
            "an implementation of type \"%s\" needs \"handler\"", type);
        return NULL;
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
            reader->definition->service =
                    (struct run_service){.run = builtin->run, .user = context->host};
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
        names.length > 0 ? names.data : "none, for the app registered no service");
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
        say(reader, RULE("definition-native"), place,
            "write for example {\"type\": \"native\", \"library\": \"libm.so.6\", \"symbol\": "
            "\"cos\", \"arguments\": [{\"name\": \"x\", \"type\": \"float64\"}], \"result\": "
            "{\"type\": \"float64\"}}",
            "%s", err.message);
    }
}

static void read_http(struct reader *reader, yyjson_val *value) {
    (void)value;
    say(reader, RULE("definition-http"), "/implementation/type",
        "remove the definition, or write a plugin that sends the request",
        "HTTP tools not yet supported (coming in v2)");
}

static const struct kind {
    const char *name;
    void (*read)(struct reader *reader, yyjson_val *value);
    const char *members; /* what it takes besides `type`; NULL: it looks itself */
} kinds[] = {
        {"mock", read_mock, "mock_response"},
        {"builtin", read_builtin, "handler"},
        {"internal", read_internal, "handler"},
        {"native", read_native, NULL},
        {"http", read_http, NULL},
};

static void check_implementation_keys(const struct reader *reader, const struct kind *kind,
                                      yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    yyjson_obj_foreach (value, at, count, key, member) {
        const char *text = yyjson_get_str(key);
        if (is_first(reader, "/implementation", value, key, member) && kind->members != NULL &&
            strcmp(text, "type") != 0 && strcmp(text, kind->members) != 0) {
            say_unknown(reader, "/implementation", text,
                        nearest_member(text, implementation_members,
                                       ARRAY_LENGTH(implementation_members)));
        }
    }
}

static void follow_implementation(struct reader *reader, yyjson_val *value) {
    const char *type = text_of(yyjson_obj_get(value, "type"));
    if (!has_few_members(reader, "/implementation", value)) {
        return;
    }
    for (size_t i = 0; type != NULL && i < ARRAY_LENGTH(kinds); i++) {
        if (strcmp(kinds[i].name, type) == 0) {
            check_implementation_keys(reader, &kinds[i], value);
            kinds[i].read(reader, value);
            return;
        }
    }
    if (type != NULL) {
        say(reader, RULE("definition-type"), "/implementation/type", "use one of them",
            "unknown type of implementation \"%s\"; there are: mock, builtin, internal, native",
            type);
    }
}

/* --------------------------------------------------------------- descriptor */

/* Which member a rule of plugins is about: the first whose start is that of the rule's id. */
static const char *member_of(const struct finding *finding) {
    static const struct {
        const char *rule;
        const char *member;
    } table[] = {
            {"schema-", "/parameters"},
            {"tool-version", "/version"},
            {"tool-description", "/description"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        if (strncmp(finding->rule, table[i].rule, strlen(table[i].rule)) == 0) {
            return table[i].member;
        }
    }
    return NULL;
}

static enum toolrack_severity severity_of(int severity) {
    return severity == FINDING_ERROR     ? TOOLRACK_SEVERITY_ERROR
           : severity == FINDING_WARNING ? TOOLRACK_SEVERITY_WARNING
                                         : TOOLRACK_SEVERITY_NOTE;
}

/* What is said of the plugin around it is none of the author's business. */
static void take_findings(const struct reader *reader, const struct descriptor *desc) {
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->tool != NULL) {
            say(reader,
                &(struct problem){.severity = severity_of(finding->severity),
                                  .rule = finding->rule},
                member_of(finding), finding->fix, "%s", finding->cause);
        }
    }
}

static struct descriptor_options descriptor_options(const struct definition_context *context,
                                                    bool *out_of_memory) {
    *out_of_memory = false;
    return (struct descriptor_options){.check_schema = context->check_schema,
                                       .check_values = context->check_values,
                                       .user = out_of_memory};
}

/* Stands in the descriptor where the service is called. */
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

/* A native tool makes its schema itself. What a worker could not be told is refused here. */
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

static void read_member(struct reader *reader, yyjson_val *key, yyjson_val *value) {
    const char *text = yyjson_get_str(key);
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if (strcmp(members[i].key, text) == 0) {
            members[i].read(reader, &members[i], value);
            return;
        }
    }
    say_unknown(reader, "", text, nearest_member(text, members, ARRAY_LENGTH(members)));
}

static bool has_type(yyjson_val *value, const char *type) {
    yyjson_val *implementation = yyjson_obj_get(value, "implementation");
    return yyjson_equals_str(yyjson_obj_get(implementation, "type"), type);
}

static void read_members(struct reader *reader, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    yyjson_val *name = yyjson_obj_get(value, "name");
    if (name != NULL && text_of(name) != NULL && name_valid(text_of(name))) {
        reader->definition->name = text_of(name); /* what is wrong is named after it */
    }
    yyjson_obj_foreach (value, at, count, key, member) {
        if (is_first(reader, "", value, key, member)) {
            read_member(reader, key, member);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        bool needed = members[i].required &&
                      (members[i].read != read_parameters || !has_type(value, "native"));
        if (needed && yyjson_obj_get(value, members[i].key) == NULL) {
            CLEANUP(buf_finish) struct buf fix = BUF_INIT;
            buf_printf(&fix, "add for example \"%s\": %s", members[i].key, members[i].example);
            say(reader, RULE("definition-missing"), NULL, fix.data, "the definition has no \"%s\"",
                members[i].key);
        }
    }
}

static bool is_sound(const struct reader *reader) {
    return reader->context->problems->errors == reader->errors_before;
}

int definition_read(const struct definition_context *context, yyjson_val *value,
                    const char *pointer, struct definition *ret, struct toolrack_error *err) {
    *ret = (struct definition){0};
    struct reader reader = {.context = context,
                            .definition = ret,
                            .pointer = pointer,
                            .errors_before = context->problems->errors};
    int code = 0;
    if (!yyjson_is_obj(value)) {
        say(&reader, RULE("definition-value"), NULL, "write it as an object, { ... }",
            "a definition must be an object");
    } else if (has_few_members(&reader, NULL, value)) {
        read_members(&reader, value);
        follow_implementation(&reader, yyjson_obj_get(value, "implementation"));
    }
    if (ret->is_native && is_sound(&reader)) {
        code = describe_native(&reader, err);
    } else if (!ret->is_native && ret->name != NULL && ret->description != NULL &&
               ret->parameters != NULL) {
        code = describe(&reader, err); /* its findings too, whatever else is wrong */
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
