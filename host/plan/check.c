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
#include "plan/mistaken.h"
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

static struct toolrack_tool *look_for(const struct checking *checking, const char *name) {
    const struct plan_finder *finder = checking->finder;
    return finder->find != NULL ? finder->find(finder->user, name)
                                : registry_get(finder->registry, name);
}

/* Most prefixes of a name that are taken off. */
#define PREFIXES_MAX 8u

/* The name of a tool behind what others put before it: "functions.add", "mcp__math__add". NULL:
 * there is none. */
static const char *after_prefix(const struct checking *checking, const char *name) {
    static const char *const separators[] = {".", "/", ":", "__"};
    unsigned tries = 0;
    for (const char *at = name; *at != '\0' && tries < PREFIXES_MAX; at++) {
        for (size_t i = 0; i < ARRAY_LENGTH(separators); i++) {
            size_t length = strlen(separators[i]);
            if (strncmp(at, separators[i], length) == 0) {
                CLEANUP(toolrack_tool_unrefp)
                struct toolrack_tool *found = look_for(checking, at + length);
                tries++;
                if (found != NULL) {
                    return at + length;
                }
            }
        }
    }
    return NULL;
}

/* There is no tool of a name; to who is shown a part of the tools, no word of the others. */
static void refuse_unknown(struct checking *checking, const char *name) {
    const struct plan_finder *finder = checking->finder;
    struct toolrack_error why;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    const char *within = after_prefix(checking, name);
    CLEANUP(freep)
    char *near = within != NULL         ? strdup(within)
                 : finder->find == NULL ? registry_suggest(finder->registry, name, true)
                                        : NULL;
    int code = near == NULL && finder->has_commands
                       ? registry_not_called(finder->registry, name, &why)
                       : error_set(&why, TOOLRACK_E_NOT_FOUND, "there is no tool '%.128s'", name);
    if (near != NULL) {
        buf_printf(&fix, "did you mean \"%s\"?", near);
    } else if (finder->has_commands) {
        buf_printf(&fix, "name a tool that there is: %s", COMMAND("list"));
    } else {
        buf_add_text(&fix, "name a tool that you are shown in lists or searches");
    }
    checking->failed = checking->failed || code == TOOLRACK_E_NO_MEMORY || fix.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-tool", fix.data, why.message);
    }
}

/* A tool is disabled, or no decision lets it run. */
static void refuse_kept(struct checking *checking, const struct toolrack_tool *tool,
                        const char *rule, const char *deed, const char *why) {
    const char *name = toolrack_tool_name(tool);
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "the tool '%s' %s", name, why);
    if (checking->finder->has_commands) {
        buf_printf(&fix, "%s it: %s; or use another tool", deed, COMMAND(deed, name));
    } else {
        buf_printf(&fix, "use another tool, or have an administrator %s it", deed);
    }
    checking->failed = checking->failed || cause.failed || fix.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, rule, fix.data, cause.data);
    }
}

/* A tool at the pointer, with a reference; NULL, with a problem, if it cannot be called. */
static struct toolrack_tool *find_tool(struct checking *checking, const char *name) {
    struct toolrack_tool *tool = look_for(checking, name);
    if (tool == NULL) {
        refuse_unknown(checking, name);
        return NULL;
    }
    if (!toolrack_tool_enabled(tool)) {
        refuse_kept(checking, tool, "plan-disabled", "enable", "is disabled");
    } else if (tool_is_withheld(tool)) {
        refuse_kept(checking, tool, "plan-permission", "grant",
                    toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_DANGEROUS
                            ? "is dangerous, and no grant lets it run"
                            : "is not as it was approved");
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
        checking->failed = checking->failed || checking->results[node] == NULL;
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

/* Append what a reference is without its path, and that path, as "#/nodes/a/result/text". */
static void add_reference(struct buf *out, const struct reference *reference) {
    buf_printf(out, "#/%s/%.*s%s", reference->kind == REFERENCE_INPUT ? "inputs" : "nodes",
               (int)reference->name_length, reference->name,
               reference->kind == REFERENCE_INPUT ? "" : "/result");
    buf_add(out, reference->path, reference->path_length);
}

/* Most parts of a value, and parameters of a tool, that a fix lists. */
#define LISTED_MAX 12u

/* Append the parts of a value which can have one of the types, as references. @return how many */
static size_t add_parts(struct buf *out, const struct reference *reference, yyjson_val *schema,
                        unsigned types) {
    size_t added = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    json_obj_foreach (yyjson_obj_get(schema, "properties"), at, count, key, part) {
        unsigned has = known_types(part);
        bool fits = types == KNOWN_ANY || (has != KNOWN_ANY && known_types_meet(has, types));
        if (fits && added++ < LISTED_MAX) {
            buf_add_text(out, added > 1 ? ", " : "");
            add_reference(out, reference);
            buf_add_pointer(out, yyjson_get_str(key), yyjson_get_len(key));
        }
    }
    return added;
}

/* What to refer to in place of a part that is not there: the parts of what holds it. */
static void add_what_is_there(struct checking *checking, const struct reference *absent,
                              struct buf *out) {
    struct reference holds = *absent;
    yyjson_val *schema = NULL;
    char words[KNOWN_WORDS_ROOM];
    do {
        const char *last = memrchr(holds.path, '/', holds.path_length);
        holds.path_length = last != NULL ? (size_t)(last - holds.path) : 0;
    } while (holds.path_length > 0 && look_up(checking, &holds, &schema) == KNOWN_ABSENT);
    if (look_up(checking, &holds, &schema) != KNOWN_SCHEMA) {
        buf_add_text(out, "refer to a part that the schema of the result has");
        return;
    }
    size_t begin = out->length;
    buf_add_text(out, "refer to ");
    if (add_parts(out, &holds, schema, KNOWN_ANY) == 0) {
        buf_truncate(out, begin);
        buf_add_text(out, "refer to ");
        add_reference(out, &holds);
        buf_printf(out, " as a whole: it is %s", known_words(known_types(schema), words));
    }
}

/* Each reference must lead somewhere. */
static bool check_reference(void *user, const struct reference *reference, const char *pointer) {
    struct checking *checking = user;
    yyjson_val *schema;
    (void)pointer; /* it is checking->pointer */
    if (look_up(checking, reference, &schema) == KNOWN_ABSENT) {
        CLEANUP(buf_finish) struct buf cause = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        buf_printf(&cause, "%.*s leads to nothing: %s", (int)reference->text_length,
                   reference->text,
                   reference->kind == REFERENCE_INPUT
                           ? "the JSON Schema of the input has no such part"
                           : "the tool says that its result has no such part");
        add_what_is_there(checking, reference, &fix);
        checking->failed = checking->failed || cause.failed || fix.failed;
        if (!checking->failed) {
            tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-reference", fix.data, cause.data);
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

static void is_mistaken_found(void *user, const struct mistaken *mistaken, const char *pointer) {
    (void)pointer;
    *(bool *)user = *(bool *)user || mistaken->kind == MISTAKEN_OBJECT ||
                    mistaken->kind == MISTAKEN_MORE || mistaken->kind == MISTAKEN_WHOLE;
}

/* Whether a value has parts that were meant to be references: that was found, and what they would
 * give is not known. */
static bool has_mistaken(const struct checking *checking, yyjson_val *template) {
    char pointer[JSON_POINTER_MAX] = "";
    bool found = false;
    const struct plan *plan = checking->plan;
    bool has_item = checking->node < plan->graph.count && plan->nodes[checking->node].items != NULL;
    mistaken_each(plan, template, has_item, pointer, is_mistaken_found, &found);
    return found;
}

/* Whether a value is not known before the run. */
static bool is_unknown(const struct checking *checking, yyjson_val *template) {
    char pointer[JSON_POINTER_MAX] = "";
    bool found = false;
    (void)references_each(template, pointer, is_reference_found, &found);
    return found || has_mistaken(checking, template);
}

/* What a whole value is a reference to. */
struct whole {
    struct checking *checking;
    struct reference reference;
    yyjson_val *schema; /* NULL: it is not known */
};

static bool take_whole(void *user, const struct reference *reference, const char *pointer) {
    struct whole *whole = user;
    (void)pointer;
    whole->reference = *reference;
    if (look_up(whole->checking, reference, &whole->schema) != KNOWN_SCHEMA) {
        whole->schema = NULL;
    }
    return false;
}

/* The types that a value can have. @param whole  receives what it is a reference to */
static unsigned types_given(struct checking *checking, yyjson_val *value, struct whole *whole) {
    char pointer[JSON_POINTER_MAX] = "";
    *whole = (struct whole){.checking = checking};
    if (reference_is(value)) {
        (void)references_each(value, pointer, take_whole, whole);
        return whole->schema != NULL ? known_types(whole->schema) : KNOWN_ANY;
    }
    yyjson_val *literal = reference_literal(value);
    return literal != NULL                 ? known_type_of(literal)
           : has_mistaken(checking, value) ? KNOWN_ANY
                                           : known_type_of(value);
}

/* Whether a value that a run gives can have the type that is wanted. Caller has set the place of
 * the value.
 * @param what   that is wrong otherwise: "the value will be %s, and the parameter takes %s"
 * @param other  what to do where no part of the value has such a type */
static void check_type(struct checking *checking, yyjson_val *value, unsigned takes,
                       const char *what, const char *wants, const char *other) {
    struct whole whole;
    const unsigned given = types_given(checking, value, &whole);
    if (known_types_meet(given, takes)) {
        return;
    }
    char is[KNOWN_WORDS_ROOM];
    char should[KNOWN_WORDS_ROOM];
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "%s will be %s, and %s %s", what, known_words(given, is), wants,
               known_words(takes, should));
    buf_add_text(&fix, "refer to a part that fits: ");
    if (whole.schema == NULL || add_parts(&fix, &whole.reference, whole.schema, takes) == 0) {
        buf_clear(&fix);
        buf_add_text(&fix, other);
        if (whole.schema != NULL && (takes & KNOWN_STRING) != 0) {
            CLEANUP(buf_finish) struct buf text = BUF_INIT;
            add_reference(&text, &whole.reference);
            fix.failed = fix.failed || text.failed;
            buf_add_text(&fix, ", or put it into a string: \"");
            reference_add_inside(&fix, text.failed ? "#/" : text.data);
            buf_add_char(&fix, '"');
        }
    }
    checking->failed = checking->failed || cause.failed || fix.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-type", fix.data, cause.data);
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
static yyjson_doc *without_unknown(const struct checking *checking, yyjson_val *schema,
                                   yyjson_val *arguments) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
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
        if (yyjson_mut_obj_get(properties, yyjson_get_str(key)) != NULL &&
            is_unknown(checking, value)) {
            (void)yyjson_mut_obj_put(properties, yyjson_mut_str(doc, yyjson_get_str(key)),
                                     yyjson_mut_true(doc));
        }
    }
    return json_doc_is_whole(doc) ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
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

/* "the parameters of add: a, a number; b, a number; round, true or false, may be left out". */
static void add_parameters(struct buf *out, const char *tool, yyjson_val *described) {
    char words[KNOWN_WORDS_ROOM];
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_val *required = yyjson_obj_get(described, "required");
    yyjson_val *properties = yyjson_obj_get(described, "properties");
    if (yyjson_obj_size(properties) == 0) {
        buf_printf(out, "%s has no parameters: leave the arguments out", tool);
        return;
    }
    buf_printf(out, "the parameters of %s: ", tool);
    json_obj_foreach (properties, at, count, key, value) {
        bool is_required = false;
        size_t k;
        size_t required_count;
        yyjson_val *one;
        yyjson_arr_foreach (required, k, required_count, one) {
            is_required = is_required || yyjson_equals(one, key);
        }
        if (at == LISTED_MAX) {
            buf_printf(out, "; and %zu more", count - at);
            break;
        }
        buf_printf(out, "%s%s", at > 0 ? "; " : "", yyjson_get_str(key));
        if (known_types(value) != KNOWN_ANY) {
            buf_printf(out, ", %s", known_words(known_types(value), words));
        }
        buf_add_text(out, is_required ? "" : ", may be left out");
    }
}

static void check_fit(struct checking *checking, yyjson_val *described, yyjson_val *arguments,
                      const char *tool) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *reduced = without_unknown(checking, described, arguments);
    CLEANUP(yyjson_doc_freep) yyjson_doc *filled = with_nulls(arguments);
    CLEANUP(schema_destroyp) struct schema *schema = NULL;
    struct schema_failure failure;
    struct toolrack_error err;
    if (reduced == NULL || filled == NULL) {
        checking->failed = true;
        return;
    }
    int code = schema_compile(yyjson_doc_get_root(reduced), &SCHEMA_OPTIONS_TOOL, &schema, &err);
    if (code < 0 || schema_validate(schema, yyjson_doc_get_root(filled), &failure)) {
        checking->failed = checking->failed || code == TOOLRACK_E_NO_MEMORY;
        return; /* a schema with references to what was left out says nothing */
    }
    if (failure.code == TOOLRACK_E_NO_MEMORY) {
        checking->failed = true;
        return;
    }
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    size_t length = strlen(checking->pointer);
    strncat(checking->pointer, failure.field, sizeof checking->pointer - 1 - length);
    buf_printf(&cause, "%s %s", failure.field[0] != '\0' ? failure.field : "the arguments",
               failure.reason);
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    add_parameters(&fix, tool, described);
    checking->failed = checking->failed || cause.failed || fix.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-arguments", fix.data, cause.data);
    }
    checking->pointer[length] = '\0';
}

/* The arguments of a call of a tool, at the pointer. */
static void check_arguments(struct checking *checking, const struct toolrack_tool *tool,
                            yyjson_val *arguments) {
    if (tool == NULL || reference_is(arguments) || reference_literal(arguments) != NULL) {
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
        if (wanted != NULL && is_unknown(checking, value)) {
            json_pointer_add(checking->pointer, yyjson_get_str(key));
            check_type(checking, value, known_types(wanted), "the value", "the parameter takes",
                       "refer to a value of that type");
            checking->pointer[length] = '\0';
        }
    }
}

/* What decides whether, and how often, a node is called. */
static void check_begin(struct checking *checking, uint32_t index) {
    const struct plan_node *node = &checking->plan->nodes[index];
    if (node->when != NULL && node->wanted == NULL) {
        set_place(checking, index, "when");
        check_type(checking, node->when, KNOWN_BOOLEAN, "the condition", "must be",
                   "write {\"value\": {\"$ref\": ...}, \"is\": ...} with the JSON Schema that the "
                   "value must match, such as {\"minimum\": 1} or {\"const\": \"yes\"}");
    } else if (node->when != NULL && yyjson_is_obj(node->wanted)) {
        set_place(checking, index, "when");
        json_pointer_add(checking->pointer, "value");
        check_type(checking, node->when, known_types(node->wanted), "the value", "\"is\" wants",
                   "correct \"is\", which would never match, or refer to another value");
    }
    if (node->items != NULL) {
        set_place(checking, index, "for_each");
        check_type(checking, node->items, KNOWN_ARRAY, "the items", "must be",
                   "refer to an array, or write one");
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
    check_begin(checking, index);
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
    for (uint32_t i = 0; tools->inside != NULL && i < 2u * tools->count; i++) {
        free(tools->inside[i].calls);
        free(tools->inside[i].sha256);
    }
    free(tools->tools);
    free(tools->fallbacks);
    free(tools->inside);
    *tools = (struct plan_tools){0};
}
