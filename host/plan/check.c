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

/* Where the result of a node is from. */
enum source { SOURCE_TOOL, SOURCE_FALLBACK, SOURCES };

/* What is known of values of a node: JSON Schemas, made when they are looked up. */
struct node_values {
    yyjson_doc *results[SOURCES]; /* NULL: unknown */
    yyjson_doc *items;            /* of the items that are written in the plan; likewise */
};

/* The check of one plan. */
struct checking {
    const struct plan *plan;
    const struct plan_finder *finder;
    struct problems *problems;
    struct plan_tools *found;
    struct node_values *values; /* of each node */
    bool failed;                /* no memory */
    uint32_t node;              /* that is looked at; graph.count: none */
    bool has_condition; /* what is looked at is used only if the condition of the node holds */
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

/* The schema of what the tool or the fallback of a node gives, of for_each: of each of its calls.
 * @return a new document; NULL: unknown */
static yyjson_doc *describe_result(struct checking *checking, uint32_t node, enum source source) {
    const struct plan_node *at = &checking->plan->nodes[node];
    const struct toolrack_tool *tool =
            source == SOURCE_TOOL ? checking->found->tools[node] : checking->found->fallbacks[node];
    const char *text = tool != NULL ? toolrack_tool_result_schema(tool) : NULL;
    if (source == SOURCE_FALLBACK && at->fallback_value != NULL) {
        return known_describe(at->fallback_value, &checking->failed);
    }
    yyjson_doc *doc = text != NULL ? yyjson_read(text, strlen(text), 0) : NULL;
    checking->failed = checking->failed || (doc == NULL && text != NULL);
    return doc;
}

/* The schema of the result of a node, whose fallback may be its source. */
static yyjson_val *result_of(struct checking *checking, uint32_t node, enum source source) {
    yyjson_doc **result = &checking->values[node].results[source];
    if (*result == NULL) {
        *result = describe_result(checking, node, source);
        if (checking->plan->nodes[node].items != NULL) {
            yyjson_doc *each = *result;
            *result = known_describe_array(yyjson_doc_get_root(each), &checking->failed);
            yyjson_doc_free(each);
        }
    }
    return yyjson_doc_get_root(*result);
}

static bool take_reference(void *user, const struct reference *reference, const char *pointer) {
    (void)pointer;
    *(struct reference *)user = *reference;
    return false;
}

static bool has_fallback(const struct checking *checking, const struct reference *reference) {
    const struct plan *plan = checking->plan;
    uint32_t node = reference->kind == REFERENCE_NODE
                            ? plan_find_node(plan, reference->name, reference->name_length)
                            : plan->graph.count;
    return node < plan->graph.count && plan->nodes[node].on_error == PLAN_FALLBACK;
}

static enum known look_up(struct checking *checking, const struct reference *reference,
                          enum source source, yyjson_val **ret);

/* The schema of all items of the node that is looked at; NULL: unknown. */
static yyjson_val *item_of(struct checking *checking) {
    const struct plan *plan = checking->plan;
    yyjson_val *items =
            checking->node < plan->graph.count ? plan->nodes[checking->node].items : NULL;
    char pointer[JSON_POINTER_MAX] = "";
    struct reference array;
    yyjson_val *schema = NULL;
    if (items != NULL && reference_is(items)) {
        (void)references_each(items, pointer, take_reference, &array);
        bool is_known = array.kind != REFERENCE_ITEM && !has_fallback(checking, &array) &&
                        look_up(checking, &array, SOURCE_TOOL, &schema) == KNOWN_SCHEMA;
        return is_known ? known_items(schema) : NULL;
    }
    yyjson_doc **described = &checking->values[checking->node].items;
    if (items != NULL && *described == NULL) { /* written in the plan */
        *described = known_describe_items(items, &checking->failed);
    }
    yyjson_val *root = yyjson_doc_get_root(*described);
    return yyjson_is_obj(root) ? root : NULL;
}

/* What is known of the value of a reference in the node that is looked at.
 * @param source  of the result, if it is to one */
static enum known look_up(struct checking *checking, const struct reference *reference,
                          enum source source, yyjson_val **ret) {
    const struct plan *plan = checking->plan;
    yyjson_val *schema = NULL;
    *ret = NULL;
    if (reference->kind == REFERENCE_INPUT) {
        const struct plan_input *input =
                plan_find_input(plan, reference->name, reference->name_length);
        schema = input != NULL ? input->described : NULL;
    } else if (reference->kind == REFERENCE_NODE) {
        uint32_t node = plan_find_node(plan, reference->name, reference->name_length);
        schema = node < plan->graph.count ? result_of(checking, node, source) : NULL;
    } else if (reference->kind == REFERENCE_ITEM && checking->node < plan->graph.count) {
        schema = item_of(checking);
    }
    return known_part(schema, reference->path, reference->path_length, ret);
}

/* Append what a reference is without its path, and that path, as "#/nodes/a/result/text". */
static void add_reference(struct buf *out, const struct reference *reference) {
    if (reference->kind == REFERENCE_ITEM) {
        buf_add_text(out, "#/item");
    } else {
        buf_printf(out, "#/%s/%.*s%s", reference->kind == REFERENCE_INPUT ? "inputs" : "nodes",
                   (int)reference->name_length, reference->name,
                   reference->kind == REFERENCE_INPUT ? "" : "/result");
    }
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
    } while (holds.path_length > 0 &&
             look_up(checking, &holds, SOURCE_TOOL, &schema) == KNOWN_ABSENT);
    if (look_up(checking, &holds, SOURCE_TOOL, &schema) != KNOWN_SCHEMA) {
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

/* Whether a reference goes into the result of a node with for_each as if that was called once. */
static bool passes_over_items(const struct checking *checking, const struct reference *reference) {
    const struct plan *plan = checking->plan;
    uint32_t node = reference->kind == REFERENCE_NODE
                            ? plan_find_node(plan, reference->name, reference->name_length)
                            : plan->graph.count;
    return node < plan->graph.count && plan->nodes[node].items != NULL &&
           reference->path_length > 1 && (reference->path[1] < '0' || reference->path[1] > '9');
}

/* A reference that leads to nothing, or only as long as the fallback is not needed (or else is). */
static void tell_absent(struct checking *checking, const struct reference *reference,
                        const bool absent[static SOURCES]) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    const bool is_each = passes_over_items(checking, reference);
    const bool is_certain =
            !has_fallback(checking, reference) || (absent[SOURCE_TOOL] && absent[SOURCE_FALLBACK]);
    buf_printf(&cause, "%.*s leads to nothing: %s", (int)reference->text_length, reference->text,
               is_each ? "the node has \"for_each\", so its result is an array of results"
               : reference->kind == REFERENCE_INPUT
                       ? "the JSON Schema of the input has no such part"
               : reference->kind == REFERENCE_ITEM ? "the items of \"for_each\" have no such part"
               : absent[SOURCE_TOOL] ? "the tool says that its result has no such part"
                                     : "the fallback of the node has no such part");
    if (is_each) {
        struct reference whole = *reference;
        whole.path_length = 0;
        buf_add_text(&fix, "refer to the array, ");
        add_reference(&fix, &whole);
        buf_add_text(&fix, ", or to one of its results: ");
        add_reference(&fix, &whole);
        buf_add_text(&fix, "/0");
        buf_add(&fix, reference->path, reference->path_length);
    } else if (!absent[SOURCE_TOOL]) {
        buf_add_text(&fix, "give the fallback this part, or the node that needs it a \"when\"");
    } else {
        add_what_is_there(checking, reference, &fix);
    }
    checking->failed = checking->failed || cause.failed || fix.failed;
    if (!checking->failed) {
        tell(checking, is_certain ? TOOLRACK_SEVERITY_ERROR : TOOLRACK_SEVERITY_WARNING,
             "plan-reference", fix.data, cause.data);
    }
}

/* Each reference must lead somewhere. */
static bool check_reference(void *user, const struct reference *reference, const char *pointer) {
    struct checking *checking = user;
    yyjson_val *schema;
    (void)pointer; /* it is checking->pointer */
    const bool absent[SOURCES] = {
            look_up(checking, reference, SOURCE_TOOL, &schema) == KNOWN_ABSENT,
            has_fallback(checking, reference) &&
                    look_up(checking, reference, SOURCE_FALLBACK, &schema) == KNOWN_ABSENT};
    if (absent[SOURCE_TOOL] || (absent[SOURCE_FALLBACK] && !checking->has_condition)) {
        tell_absent(checking, reference, absent);
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
    bool is_reference;
    struct reference reference;
    yyjson_val *schema; /* as the tool gives it; NULL: it is not known */
};

static unsigned types_of(struct checking *checking, const struct reference *reference,
                         enum source source, yyjson_val **ret_schema) {
    if (look_up(checking, reference, source, ret_schema) != KNOWN_SCHEMA) {
        *ret_schema = NULL;
    }
    return *ret_schema != NULL ? known_types(*ret_schema) : KNOWN_ANY;
}

/* The types that a value can have, without a fallback.
 * @param whole  receives what it is a reference to */
static unsigned types_given(struct checking *checking, yyjson_val *value, struct whole *whole) {
    char pointer[JSON_POINTER_MAX] = "";
    *whole = (struct whole){.is_reference = reference_is(value)};
    if (whole->is_reference) {
        (void)references_each(value, pointer, take_reference, &whole->reference);
        return types_of(checking, &whole->reference, SOURCE_TOOL, &whole->schema);
    }
    yyjson_val *literal = reference_literal(value);
    return literal != NULL                 ? known_type_of(literal)
           : has_mistaken(checking, value) ? KNOWN_ANY
                                           : known_type_of(value);
}

/* What a value of a plan must be. */
struct wanted {
    unsigned types;
    const char *what;  /* "the value", which will be ... */
    const char *wants; /* "the parameter takes" */
    const char *other; /* what to do where no part of the value has such a type */
    bool may_differ;   /* it decides whether the node runs, for which a fallback may be made */
};

static void tell_type(struct checking *checking, const struct whole *whole,
                      const struct wanted *wanted, unsigned given) {
    char is[KNOWN_WORDS_ROOM];
    char should[KNOWN_WORDS_ROOM];
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "%s will be %s, and %s %s", wanted->what, known_words(given, is),
               wanted->wants, known_words(wanted->types, should));
    buf_add_text(&fix, "refer to a part that fits: ");
    if (whole->schema == NULL ||
        add_parts(&fix, &whole->reference, whole->schema, wanted->types) == 0) {
        buf_clear(&fix);
        buf_add_text(&fix, wanted->other);
        if (whole->schema != NULL && (wanted->types & KNOWN_STRING) != 0) {
            CLEANUP(buf_finish) struct buf text = BUF_INIT;
            add_reference(&text, &whole->reference);
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

/* The tool of a node and its fallback give values of different types, of which one does not fit: a
 * warning, as it may never come. */
static void tell_other_type(struct checking *checking, const struct wanted *wanted, unsigned given,
                            enum source source) {
    char is[KNOWN_WORDS_ROOM];
    char should[KNOWN_WORDS_ROOM];
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    buf_printf(&cause, "%s will be %s %s, and %s %s", wanted->what, known_words(given, is),
               source == SOURCE_FALLBACK ? "if the fallback gives it" : "if the tool gives it",
               wanted->wants, known_words(wanted->types, should));
    checking->failed = checking->failed || cause.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_WARNING, "plan-type",
             source == SOURCE_FALLBACK
                     ? "make the fallback one of that type, or give this node a \"when\""
                     : "refer to a part of that type, or give this node a \"when\"",
             cause.data);
    }
}

/* Whether a value that a run gives can have the type that is wanted. Caller has set the place of
 * the value. */
static void check_type(struct checking *checking, yyjson_val *value, const struct wanted *wanted) {
    struct whole whole;
    yyjson_val *schema;
    unsigned given[SOURCES];
    bool fits[SOURCES];
    given[SOURCE_TOOL] = types_given(checking, value, &whole);
    given[SOURCE_FALLBACK] =
            whole.is_reference && has_fallback(checking, &whole.reference)
                    ? types_of(checking, &whole.reference, SOURCE_FALLBACK, &schema)
                    : given[SOURCE_TOOL];
    for (enum source source = 0; source < SOURCES; source++) {
        fits[source] = known_types_meet(given[source], wanted->types);
    }
    if (!fits[SOURCE_TOOL] && !fits[SOURCE_FALLBACK]) {
        tell_type(checking, &whole, wanted, given[SOURCE_TOOL]);
    } else if (fits[SOURCE_TOOL] != fits[SOURCE_FALLBACK] && !wanted->may_differ) {
        enum source source = fits[SOURCE_TOOL] ? SOURCE_FALLBACK : SOURCE_TOOL;
        tell_other_type(checking, wanted, given[source], source);
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
        if (yyjson_mut_obj_getn(properties, yyjson_get_str(key), yyjson_get_len(key)) != NULL &&
            is_unknown(checking, value)) {
            (void)yyjson_mut_obj_put(properties, yyjson_val_mut_copy(doc, key),
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
        !template_fill(arguments, find_literal, NULL, yyjson_doc_get_root(null), &text, &missing) ||
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

/* One thing that is wrong with the arguments, at the pointer.
 * @param unsaid  more mistakes, which are not told */
static void tell_mistake(struct checking *checking, const struct schema_mistake *mistake,
                         uint32_t unsaid, const char *fix) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    size_t length = strlen(checking->pointer);
    strncat(checking->pointer, mistake->field, sizeof checking->pointer - 1 - length);
    buf_printf(&cause, "%s %s", mistake->field[0] != '\0' ? mistake->field : "the arguments",
               mistake->reason);
    if (unsaid > 0) {
        buf_printf(&cause, "; %u more mistake%s of these arguments %s not shown", unsaid,
                   unsaid == 1 ? "" : "s", unsaid == 1 ? "is" : "are");
    }
    checking->failed = checking->failed || cause.failed;
    if (!checking->failed) {
        tell(checking, TOOLRACK_SEVERITY_ERROR, "plan-arguments", fix, cause.data);
    }
    checking->pointer[length] = '\0';
}

static void check_fit(struct checking *checking, yyjson_val *described, yyjson_val *arguments,
                      const char *tool) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *reduced = without_unknown(checking, described, arguments);
    CLEANUP(yyjson_doc_freep) yyjson_doc *filled = with_nulls(arguments);
    CLEANUP(schema_destroyp) struct schema *schema = NULL;
    struct toolrack_error err;
    if (reduced == NULL || filled == NULL) {
        checking->failed = true;
        return;
    }
    int code = schema_compile(yyjson_doc_get_root(reduced), &SCHEMA_OPTIONS_TOOL, &schema, &err);
    if (code < 0 || schema_validate(schema, yyjson_doc_get_root(filled), NULL)) {
        checking->failed = checking->failed || code == TOOLRACK_E_NO_MEMORY;
        return; /* a schema with references to what was left out says nothing */
    }
    struct schema_mistakes mistakes;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    schema_explain(schema, yyjson_doc_get_root(filled), NULL, &mistakes);
    add_parameters(&fix, tool, described);
    if (mistakes.code == TOOLRACK_E_NO_MEMORY || fix.failed) {
        checking->failed = true;
        return;
    }
    for (uint32_t i = 0; i < mistakes.told; i++) {
        bool is_last = i + 1 == mistakes.told;
        tell_mistake(checking, &mistakes.list[i], is_last ? mistakes.count - mistakes.told : 0,
                     fix.data);
    }
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
        yyjson_val *wanted = yyjson_obj_getn(properties, yyjson_get_str(key), yyjson_get_len(key));
        if (wanted != NULL && is_unknown(checking, value)) {
            json_pointer_add(checking->pointer, yyjson_get_str(key));
            check_type(checking, value,
                       &(struct wanted){.types = known_types(wanted),
                                        .what = "the value",
                                        .wants = "the parameter takes",
                                        .other = "refer to a value of that type",
                                        .may_differ = checking->has_condition});
            checking->pointer[length] = '\0';
        }
    }
}

/* What decides whether, and how often, a node is called. */
static void check_begin(struct checking *checking, uint32_t index) {
    const struct plan_node *node = &checking->plan->nodes[index];
    if (node->when != NULL && node->wanted == NULL) {
        set_place(checking, index, "when");
        check_type(checking, node->when,
                   &(struct wanted){.types = KNOWN_BOOLEAN,
                                    .what = "the condition",
                                    .wants = "must be",
                                    .other = "write {\"value\": {\"$ref\": ...}, \"is\": ...} "
                                             "with the JSON Schema that the value must match, such "
                                             "as {\"minimum\": 1} or {\"const\": \"yes\"}"});
    } else if (node->when != NULL && yyjson_is_obj(node->wanted)) {
        set_place(checking, index, "when");
        json_pointer_add(checking->pointer, "value");
        check_type(checking, node->when,
                   &(struct wanted){.types = known_types(node->wanted),
                                    .what = "the value",
                                    .wants = "\"is\" wants",
                                    .other = "correct \"is\", which would never match, or refer "
                                             "to another value",
                                    .may_differ = true});
    }
    if (yyjson_is_obj(node->items)) { /* the schema tells of what is no array */
        set_place(checking, index, "for_each");
        check_type(checking, node->items,
                   &(struct wanted){.types = KNOWN_ARRAY,
                                    .what = "the items",
                                    .wants = "must be",
                                    .other = "refer to an array, or write one",
                                    .may_differ = checking->has_condition});
    }
}

static void check_node(struct checking *checking, uint32_t index) {
    const struct plan_node *node = &checking->plan->nodes[index];
    yyjson_val *const templates[] = {node->when, node->items, node->fallback_value,
                                     node->fallback_arguments};
    static const char *const members[] = {"when", "for_each", "on_error", "on_error"};
    checking->has_condition = node->when != NULL;
    set_place(checking, index, "arguments");
    check_arguments(checking, checking->found->tools[index], node->arguments);
    if (node->arguments != NULL) {
        (void)references_each(node->arguments, checking->pointer, check_reference, checking);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(templates); i++) {
        set_place(checking, index, members[i]);
        checking->has_condition = node->when != NULL && templates[i] != node->when;
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
    CLEANUP(freep) struct node_values *values = calloc(count + 1u, sizeof *values);
    struct checking checking = {.plan = plan,
                                .finder = finder,
                                .problems = problems,
                                .found = ret,
                                .values = values,
                                .node = count};
    if (ret->tools == NULL || ret->fallbacks == NULL || values == NULL) {
        return error_oom(err);
    }
    find_tools(&checking);
    check_retries(&checking);
    for (uint32_t i = 0; i < count && !checking.failed; i++) {
        check_node(&checking, i);
    }
    checking.node = count;
    checking.has_condition = false;
    checking.pointer[0] = '\0';
    json_pointer_add(checking.pointer, "result");
    if (plan->result != NULL && !checking.failed) {
        (void)references_each(plan->result, checking.pointer, check_reference, &checking);
    }
    for (uint32_t i = 0; i < count; i++) {
        yyjson_doc_free(values[i].results[SOURCE_TOOL]);
        yyjson_doc_free(values[i].results[SOURCE_FALLBACK]);
        yyjson_doc_free(values[i].items);
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
    }
    free(tools->tools);
    free(tools->fallbacks);
    free(tools->inside);
    *tools = (struct plan_tools){0};
}
