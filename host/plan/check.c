#include "plan/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/json.h"
#include "plan/known.h"
#include "plan/reference.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(struct schema, schema_destroy)

/* The check of one plan. */
struct checking {
    const struct plan *plan;
    const struct plan_finder *finder;
    struct problems *problems;
    struct plan_tools *found;
    yyjson_doc **results; /* of each node: the schema of its tool's result; NULL: unknown */
    bool failed;          /* no memory */
    uint32_t node;        /* that is looked at; graph.count: none */
    char pointer[JSON_POINTER_MAX];
};

static void tell(struct checking *checking, enum toolrack_severity severity, const char *rule,
                 const char *fix, const char *cause) {
    const struct plan *plan = checking->plan;
    problems_add(checking->problems,
                 &(struct problem){.severity = severity,
                                   .rule = rule,
                                   .pointer = checking->pointer,
                                   .tool = checking->node < plan->graph.count
                                                   ? plan_node_id(plan, checking->node)
                                                   : NULL,
                                   .fix = fix},
                 "%s", cause);
}

static void set_place(struct checking *checking, uint32_t node, const char *member) {
    checking->node = node;
    checking->pointer[0] = '\0';
    json_pointer_add(checking->pointer, "nodes");
    json_pointer_add_index(checking->pointer, node);
    if (member != NULL) {
        json_pointer_add(checking->pointer, member);
    }
}

/* ----------------------------------------------------------------------------------- the tools */

/* There is no tool of a name; to who is shown a part of the tools, no word of the others. */
static void refuse_unknown(struct checking *checking, const char *name) {
    const struct plan_finder *finder = checking->finder;
    struct toolrack_error why;
    int code = finder->find == NULL
                       ? registry_not_called(finder->registry, name, &why)
                       : error_set(&why, TOOLRACK_E_NOT_FOUND, "there is no tool '%.128s'", name);
    checking->failed = checking->failed || code == TOOLRACK_E_NO_MEMORY;
    tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-tool",
         finder->find == NULL ? "name a tool of `toolrack list`"
                              : "name a tool that you are shown in lists or searches",
         why.message);
}

/* A tool at the pointer, with a reference; NULL, with a problem, if it cannot be called. */
static struct toolrack_tool *find_tool(struct checking *checking, const char *name) {
    struct toolrack_error why;
    const struct plan_finder *finder = checking->finder;
    struct toolrack_tool *tool = finder->find != NULL ? finder->find(finder->user, name)
                                                      : registry_get(finder->registry, name);
    if (tool == NULL) {
        refuse_unknown(checking, name);
        return NULL;
    }
    if (!toolrack_tool_enabled(tool)) {
        (void)tool_refuse_disabled(tool, &why);
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-disabled", "enable it, or use another tool",
             why.message);
    } else if (tool_is_withheld(tool)) {
        CLEANUP(buf_finish) struct buf cause = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        buf_printf(&cause, "no decision lets the tool '%s' run: it is %s", toolrack_tool_name(tool),
                   toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_DANGEROUS
                           ? "dangerous and not granted"
                           : "not as it was approved");
        buf_printf(&fix, "grant it: %s", COMMAND("grant", toolrack_tool_name(tool)));
        checking->failed = checking->failed || cause.failed || fix.failed;
        if (!checking->failed) {
            tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-permission", fix.data, cause.data);
        }
    }
    return tool;
}

static void find_tools(struct checking *checking) {
    const struct plan *plan = checking->plan;
    for (uint32_t i = 0; i < plan->graph.count && !checking->failed; i++) {
        const struct plan_node *node = &plan->nodes[i];
        set_place(checking, i, "tool");
        /* Without a name it was found when the plan was read. */
        checking->found->tools[i] = node->tool[0] != '\0' ? find_tool(checking, node->tool) : NULL;
        if (node->fallback_tool != NULL) {
            set_place(checking, i, "on_error");
            json_pointer_add(checking->pointer, "fallback");
            json_pointer_add(checking->pointer, "tool");
            checking->found->fallbacks[i] = find_tool(checking, node->fallback_tool);
        }
    }
}

/* A retry makes a call again, which a tool must allow. */
static void check_retries(struct checking *checking) {
    const struct plan *plan = checking->plan;
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const struct plan_retry *retry = &plan->nodes[i].retry;
        const struct toolrack_tool *tool = checking->found->tools[i];
        if (retry->attempts > 1 && !retry->force && tool != NULL &&
            !toolrack_tool_idempotent(tool) && !toolrack_tool_read_only(tool)) {
            set_place(checking, i, "retry");
            tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-retry",
                 "add \"force\": true to \"retry\" if a second call does no harm, or do not retry",
                 "the tool does not say that a second call with the same arguments does no more "
                 "than "
                 "the first");
        }
    }
}

/* ------------------------------------------------------------------------- what values will be */

/* The schema of the result of a node's tool. */
static yyjson_val *result_of(struct checking *checking, uint32_t node) {
    const struct toolrack_tool *tool = checking->found->tools[node];
    const char *text = tool != NULL ? toolrack_tool_result_schema(tool) : NULL;
    if (text != NULL && checking->results[node] == NULL) {
        checking->results[node] = yyjson_read(text, strlen(text), 0);
    }
    return yyjson_doc_get_root(checking->results[node]);
}

/* What is known of the value of a reference in a node. */
static enum known look_up(struct checking *checking, const struct reference *reference,
                          yyjson_val **ret) {
    const struct plan *plan = checking->plan;
    *ret = NULL;
    if (reference->kind == REFERENCE_INPUT) {
        const struct plan_input *input =
                plan_find_input(plan, reference->name, reference->name_length);
        return known_part(input != NULL ? input->described : NULL, reference->path,
                          reference->path_length, ret);
    }
    if (reference->kind != REFERENCE_NODE) {
        return KNOWN_OPEN;
    }
    uint32_t node = plan_find_node(plan, reference->name, reference->name_length);
    const char *path = reference->path;
    size_t length = reference->path_length;
    if (node < plan->graph.count && plan->nodes[node].on_error == PLAN_FALLBACK) {
        return KNOWN_OPEN; /* it may be another value */
    }
    if (node < plan->graph.count && plan->nodes[node].items != NULL) {
        /* An array of results: its items are what is known. */
        const char *end = length > 0 ? memchr(path + 1, '/', length - 1) : NULL;
        if (end == NULL) {
            return KNOWN_OPEN;
        }
        length -= (size_t)(end - path);
        path = end;
    }
    return node < plan->graph.count ? known_part(result_of(checking, node), path, length, ret)
                                    : KNOWN_OPEN;
}

/* Each reference must lead somewhere. */
static bool check_reference(void *user, const struct reference *reference, const char *pointer) {
    struct checking *checking = user;
    yyjson_val *schema;
    (void)pointer; /* it is checking->pointer */
    if (look_up(checking, reference, &schema) == KNOWN_ABSENT) {
        CLEANUP(buf_finish) struct buf cause = BUF_INIT;
        buf_printf(&cause, "%.*s leads to nothing: %s", (int)reference->text_length,
                   reference->text,
                   reference->kind == REFERENCE_INPUT
                           ? "the JSON Schema of the input has no such part"
                           : "the tool says that its result has no such part");
        checking->failed = checking->failed || cause.failed;
        if (!cause.failed) {
            tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-reference",
                 "refer to a part that the schema of the result has", cause.data);
        }
    }
    return !checking->failed;
}

/* ----------------------------------------------------------------------------------- arguments */

static bool is_reference_found(void *user, const struct reference *reference, const char *pointer) {
    (void)reference;
    (void)pointer;
    *(bool *)user = true;
    return false;
}

static bool has_reference(yyjson_val *template) {
    char pointer[JSON_POINTER_MAX] = "";
    bool found = false;
    (void)references_each(template, pointer, is_reference_found, &found);
    return found;
}

/* What a whole value is a reference to: the first of it, when it is one alone. */
struct whole {
    struct checking *checking;
    enum known known;
    yyjson_val *schema;
};

static bool take_whole(void *user, const struct reference *reference, const char *pointer) {
    struct whole *whole = user;
    (void)pointer;
    whole->known = look_up(whole->checking, reference, &whole->schema);
    return false;
}

/* Whether a value that a run gives can have the type that a parameter wants. Caller has set the
 * place of the value. */
static void check_type(struct checking *checking, yyjson_val *value, yyjson_val *wanted) {
    char pointer[JSON_POINTER_MAX] = "";
    struct whole whole = {.checking = checking};
    unsigned given = KNOWN_STRING; /* references inside a string */
    unsigned takes = known_types(wanted);
    if (!yyjson_is_str(value)) {
        if (yyjson_obj_get(value, "$ref") == NULL) {
            given = known_type_of(value);
        } else {
            (void)references_each(value, pointer, take_whole, &whole);
            given = whole.known == KNOWN_SCHEMA ? known_types(whole.schema) : KNOWN_ANY;
        }
    }
    if (known_types_meet(given, takes)) {
        return;
    }
    char is[KNOWN_WORDS_ROOM];
    char should[KNOWN_WORDS_ROOM];
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    buf_printf(&cause, "the value will be %s, and the parameter takes %s", known_words(given, is),
               known_words(takes, should));
    checking->failed = checking->failed || cause.failed;
    if (!cause.failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-type",
             "refer to a part of another type, or put it into a string with ${...}", cause.data);
    }
}

/* Keywords that say of a member what "properties" does not: they are left out where a member is not
 * known. */
static bool is_about_values(const char *keyword) {
    static const char *const keywords[] = {
            "allOf",        "anyOf", "oneOf", "not",
            "if",           "then",  "else",  "dependentSchemas",
            "dependencies", "enum",  "const", "unevaluatedProperties"};
    for (size_t i = 0; i < ARRAY_LENGTH(keywords); i++) {
        if (strcmp(keyword, keywords[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The schema of the arguments without what it says of members that are not known. */
static yyjson_doc *without_unknown(yyjson_val *schema, yyjson_val *arguments) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, schema);
    yyjson_mut_doc_set_root(doc, root);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (schema, at, count, key, value) {
        if (is_about_values(yyjson_get_str(key))) {
            (void)yyjson_mut_obj_remove_key(root, yyjson_get_str(key));
        }
    }
    yyjson_mut_val *properties = yyjson_mut_obj_get(root, "properties");
    json_obj_foreach (arguments, at, count, key, value) {
        if (yyjson_mut_obj_get(properties, yyjson_get_str(key)) != NULL && has_reference(value)) {
            (void)yyjson_mut_obj_put(properties, yyjson_mut_str(doc, yyjson_get_str(key)),
                                     yyjson_mut_true(doc));
        }
    }
    return root != NULL ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
}

static yyjson_val *find_literal(void *user, const struct reference *reference) {
    (void)reference;
    return user;
}

/* The arguments, with null for what a run gives. */
static yyjson_doc *with_nulls(yyjson_val *arguments) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(yyjson_doc_freep) yyjson_doc *null = yyjson_read("null", 4, 0);
    struct reference_text missing;
    if (null == NULL ||
        !template_fill(arguments, find_literal, yyjson_doc_get_root(null), &text, &missing) ||
        text.failed) {
        return NULL;
    }
    return yyjson_read_opts(text.data, text.length, YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
}

static void check_fit(struct checking *checking, yyjson_val *described, yyjson_val *arguments,
                      const char *tool) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *reduced = without_unknown(described, arguments);
    CLEANUP(yyjson_doc_freep) yyjson_doc *filled = with_nulls(arguments);
    CLEANUP(schema_destroyp) struct schema *schema = NULL;
    struct schema_failure failure;
    struct toolrack_error err;
    if (reduced == NULL || filled == NULL) {
        checking->failed = true;
        return;
    }
    if (schema_compile(yyjson_doc_get_root(reduced), &SCHEMA_OPTIONS_TOOL, &schema, &err) < 0 ||
        schema_validate(schema, yyjson_doc_get_root(filled), &failure)) {
        return; /* a schema with references to what was left out says nothing */
    }
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    size_t length = strlen(checking->pointer);
    strncat(checking->pointer, failure.field, sizeof checking->pointer - 1 - length);
    buf_printf(&cause, "%s %s", failure.field[0] != '\0' ? failure.field : "the arguments",
               failure.reason);
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&fix, "see what the tool takes: %s", COMMAND("show", tool));
    checking->failed = checking->failed || cause.failed || fix.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-arguments", fix.data, cause.data);
    }
    checking->pointer[length] = '\0';
}

/* The arguments of a call of a tool, at the pointer. */
static void check_arguments(struct checking *checking, const struct toolrack_tool *tool,
                            yyjson_val *arguments) {
    if (tool == NULL || yyjson_obj_get(arguments, "$ref") != NULL) {
        return;
    }
    const char *text = toolrack_tool_schema(tool);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *none = yyjson_read("{}", 2, 0);
    if (doc == NULL || none == NULL) {
        checking->failed = true;
        return;
    }
    yyjson_val *given = arguments != NULL ? arguments : yyjson_doc_get_root(none);
    yyjson_val *properties = yyjson_obj_get(yyjson_doc_get_root(doc), "properties");
    check_fit(checking, yyjson_doc_get_root(doc), given, toolrack_tool_name(tool));
    size_t length = strlen(checking->pointer);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (given, at, count, key, value) {
        yyjson_val *wanted = yyjson_obj_get(properties, yyjson_get_str(key));
        if (wanted != NULL && has_reference(value)) {
            json_pointer_add(checking->pointer, yyjson_get_str(key));
            check_type(checking, value, wanted);
            checking->pointer[length] = '\0';
        }
    }
}

static void check_node(struct checking *checking, uint32_t index) {
    const struct plan_node *node = &checking->plan->nodes[index];
    yyjson_val *const templates[] = {node->when, node->items, node->fallback_value};
    static const char *const members[] = {"when", "for_each", "on_error"};
    set_place(checking, index, "arguments");
    check_arguments(checking, checking->found->tools[index], node->arguments);
    if (node->arguments != NULL) {
        (void)references_each(node->arguments, checking->pointer, check_reference, checking);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(templates); i++) {
        set_place(checking, index, members[i]);
        if (templates[i] != NULL) {
            (void)references_each(templates[i], checking->pointer, check_reference, checking);
        }
    }
    if (node->fallback_tool != NULL) {
        set_place(checking, index, "on_error");
        json_pointer_add(checking->pointer, "fallback");
        json_pointer_add(checking->pointer, "arguments");
        check_arguments(checking, checking->found->fallbacks[index],
                        node->fallback_arguments != NULL ? node->fallback_arguments
                                                         : node->arguments);
    }
}

int plan_check(const struct plan *plan, const struct plan_finder *finder, struct problems *problems,
               struct plan_tools *ret, struct toolrack_error *err) {
    const uint32_t count = plan->graph.count;
    *ret = (struct plan_tools){.tools = calloc(count + 1u, sizeof *ret->tools),
                               .fallbacks = calloc(count + 1u, sizeof *ret->fallbacks),
                               .count = count};
    CLEANUP(freep) yyjson_doc **results = calloc(count + 1u, sizeof(yyjson_doc *));
    struct checking checking = {.plan = plan,
                                .finder = finder,
                                .problems = problems,
                                .found = ret,
                                .results = results,
                                .node = count};
    if (ret->tools == NULL || ret->fallbacks == NULL || results == NULL) {
        return error_oom(err);
    }
    find_tools(&checking);
    check_retries(&checking);
    for (uint32_t i = 0; i < count && !checking.failed; i++) {
        check_node(&checking, i);
    }
    checking.node = count;
    checking.pointer[0] = '\0';
    json_pointer_add(checking.pointer, "result");
    if (plan->result != NULL && !checking.failed) {
        (void)references_each(plan->result, checking.pointer, check_reference, &checking);
    }
    for (uint32_t i = 0; i < count; i++) {
        yyjson_doc_free(results[i]);
    }
    return checking.failed || problems->failed ? error_oom(err) : 0;
}

void plan_tools_finish(struct plan_tools *tools) {
    for (uint32_t i = 0; i < tools->count; i++) {
        if (tools->tools != NULL) {
            toolrack_tool_unref(tools->tools[i]);
        }
        if (tools->fallbacks != NULL) {
            toolrack_tool_unref(tools->fallbacks[i]);
        }
    }
    free(tools->tools);
    free(tools->fallbacks);
    *tools = (struct plan_tools){0};
}
