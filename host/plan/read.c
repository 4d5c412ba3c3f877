/* A plan is read as far as it can be, whatever is wrong with it: all that is wrong is told at once.
 * So each member is taken if it has its type, and what the schema refuses is left out. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/name.h"
#include "config/validate.h"
#include "plan/mistaken.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/reference.h"
#include "schema/keyword.h"

/* Of so many ids that no node has the one like it is looked for. */
#define SUGGESTED_MAX 100u

/* Most nodes that a fix lists. */
#define NODES_LISTED_MAX 12u

/* The reading of one plan. */
struct reading {
    struct plan *plan;
    struct problems *problems;
    struct graph_need *needs;
    size_t need_count;
    size_t need_room;
    bool failed;        /* no memory */
    unsigned suggested; /* ids that were looked for among all of them */
    char pointer[JSON_POINTER_MAX];
    uint32_t node; /* of the template that is looked at; graph.count: of no node */
    bool has_item; /* and it has an item */
};

static const struct validator_kind plan_kind = {
        .schema = plan_schema,
        .file = "toolrack-plan.schema.json",
        .whole = "the plan",
        .rules = {"plan-value", "plan-missing", "plan-key"}};

static const char *id_of(const struct reading *reading) {
    const struct plan *plan = reading->plan;
    return reading->node < plan->graph.count ? plan_node_id(plan, reading->node) : NULL;
}

#define TELL(reading, rule_id, fix_text, ...)                           \
    problems_add((reading)->problems,                                   \
                 &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR, \
                                   .rule = (rule_id),                   \
                                   .pointer = (reading)->pointer,       \
                                   .tool = id_of(reading),              \
                                   .fix = (fix_text)},                  \
                 __VA_ARGS__)

/* ------------------------------------------------------------------------------------ the text */

#define PLAN_READ_FLAGS \
    (YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS | YYJSON_READ_BIGNUM_AS_RAW)

/* The document, or a problem and none. */
static void parse(struct reading *reading) {
    struct plan *plan = reading->plan;
    yyjson_read_err why;
    if (plan->length > PLAN_TEXT_MAX) {
        TELL(reading, "plan-size", "split it into several",
             "the plan has %zu bytes of the %u allowed", plan->length, PLAN_TEXT_MAX);
        return;
    }
    plan->doc = yyjson_read_opts(plan->text, plan->length, PLAN_READ_FLAGS, NULL, &why);
    if (plan->doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        reading->failed = true;
    } else if (plan->doc == NULL) {
        problems_add(reading->problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "plan-syntax",
                                       .position = why.pos,
                                       .fix = "write JSON; comments and a last comma are allowed"},
                     "%s", why.msg);
    } else if (json_is_deeper(yyjson_doc_get_root(plan->doc), JSON_DEEPER_MAX)) {
        TELL(reading, "plan-depth", "make it flatter", "the plan is nested deeper than %u levels",
             JSON_DEEPER_MAX);
        yyjson_doc_free(STEAL(plan->doc));
    }
}

/* What is no plan, but holds one, or is a node of one: nothing else is told of it. */
static bool is_around(struct reading *reading, yyjson_val *root) {
    static const char *const names[] = {"plan", "workflow", "graph", "dag", "pipeline"};
    if (yyjson_obj_get(root, "nodes") != NULL) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (yyjson_is_obj(yyjson_obj_get(root, names[i]))) {
            json_pointer_add(reading->pointer, names[i]);
            TELL(reading, "plan-key", "write what it holds, with nothing around it",
                 "the plan stands inside of \"%s\"", names[i]);
            reading->pointer[0] = '\0';
            return true;
        }
    }
    if (yyjson_obj_get(root, "tool") == NULL) {
        return false;
    }
    TELL(reading, "plan-missing", "put it into {\"nodes\": [...]}",
         "the plan has no \"nodes\": it is a node itself");
    return true;
}

static void validate(struct reading *reading, yyjson_val *root) {
    struct validator *validator = NULL;
    struct toolrack_error err;
    size_t errors = reading->problems->errors;
    if (validator_create(&plan_kind, &validator, &err) < 0) {
        reading->failed = true;
        return;
    }
    validator_check_file(validator, root, reading->problems);
    validator_destroy(validator);
    if (reading->problems->errors > errors) {
        return;
    }
    enum json_twice twice = json_find_twice(root, reading->pointer);
    reading->failed = reading->failed || twice == JSON_TWICE_NO_MEMORY;
    if (twice == JSON_TWICE_FOUND) {
        TELL(reading, "plan-key", "remove one of them", "%s is given twice", reading->pointer);
    }
    reading->pointer[0] = '\0';
}

/* -------------------------------------------------------------------------------------- inputs */

/* Compile a JSON Schema at the pointer; NULL, with a problem, for one that is wrong. */
static struct schema *compile(struct reading *reading, yyjson_val *described) {
    struct schema *schema = NULL;
    struct toolrack_error err;
    const struct schema_options options = {.check_defaults = true};
    int code = described != NULL ? schema_compile(described, &options, &schema, &err) : 0;
    reading->failed = reading->failed || code == TOOLRACK_E_NO_MEMORY;
    if (code < 0 && code != TOOLRACK_E_NO_MEMORY) {
        TELL(reading, "plan-schema", "correct the JSON Schema", "%s", err.message);
    }
    return schema;
}

static void read_inputs(struct reading *reading, yyjson_val *inputs) {
    struct plan *plan = reading->plan;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    plan->inputs = arena_zalloc(&plan->arena, (yyjson_obj_size(inputs) + 1) * sizeof *plan->inputs);
    if (plan->inputs == NULL) {
        reading->failed = true;
        return;
    }
    json_obj_foreach (inputs, at, count, key, value) {
        json_pointer_add(reading->pointer, "inputs");
        json_pointer_add(reading->pointer, yyjson_get_str(key));
        plan->inputs[plan->input_count++] =
                (struct plan_input){.name = yyjson_get_str(key),
                                    .schema = compile(reading, value),
                                    .described = value,
                                    .otherwise = yyjson_obj_get(value, "default")};
        reading->pointer[0] = '\0';
    }
}

/* --------------------------------------------------------------------------------------- nodes */

static uint32_t number(yyjson_val *object, const char *key, uint32_t otherwise) {
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_uint(value) && yyjson_get_uint(value) <= UINT32_MAX
                   ? (uint32_t)yyjson_get_uint(value)
                   : otherwise;
}

static const char *text(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

static yyjson_val *object(yyjson_val *of, const char *key) {
    yyjson_val *value = yyjson_obj_get(of, key);
    return yyjson_is_obj(value) ? value : NULL;
}

/* Whether a JSON Schema can refuse a value: {"equals": 5} has no keyword, and true none at all. */
static bool can_refuse(yyjson_val *described) {
    static const struct dialect dialect = {DRAFT_2020, VOCABULARY_DEFAULT};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (described, at, count, key, value) {
        enum keyword keyword = keyword_find(&dialect, key);
        if (keyword == KEYWORD_REF ||
            (keyword != KEYWORD_COUNT && (keyword_rows[keyword].vocabularies &
                                          (VOCABULARY_APPLICATOR | VOCABULARY_VALIDATION)) != 0)) {
            return true;
        }
    }
    return false;
}

/* What the value of a condition must match, at the pointer. */
static struct schema *compile_condition(struct reading *reading, yyjson_val *is) {
    if (can_refuse(is)) {
        return compile(reading, is);
    }
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    CLEANUP(freep) char *text = yyjson_is_obj(is) ? NULL : yyjson_val_write(is, 0, NULL);
    if (text != NULL) {
        buf_printf(&fix, "write {\"const\": %s}", text);
    } else {
        buf_add_text(&fix,
                     "write a JSON Schema, such as {\"const\": \"yes\"}, {\"minimum\": 10} or "
                     "{\"enum\": [\"a\", \"b\"]}");
    }
    TELL(reading, "plan-when", fix.failed ? NULL : fix.data,
         "\"is\" must be a JSON Schema that says what the value is");
    return NULL;
}

/* The condition, at the pointer of the node: a reference alone, or {"value", "is"}. */
static void read_when(struct reading *reading, yyjson_val *when, struct plan_node *ret) {
    bool has_reference = yyjson_obj_get(when, "$ref") != NULL;
    if (!yyjson_is_obj(when)) {
        return; /* the schema says so */
    }
    if (has_reference && yyjson_obj_size(when) == 1) {
        ret->when = when;
        return;
    }
    size_t length = strlen(reading->pointer);
    json_pointer_add(reading->pointer, "when");
    ret->when = yyjson_obj_get(when, "value");
    yyjson_val *is = yyjson_obj_get(when, "is");
    if (ret->when == NULL || is == NULL || yyjson_obj_size(when) != 2) {
        TELL(reading, "plan-when",
             "write {\"$ref\": ...}, or {\"value\": {\"$ref\": ...}, \"is\": {\"minimum\": 10}} "
             "with a "
             "JSON Schema, such as {\"const\": \"yes\"}",
             has_reference ? "a reference has no other members than \"$ref\""
                           : "the condition is neither a reference nor a value and what it is");
    } else {
        json_pointer_add(reading->pointer, "is");
        ret->is = compile_condition(reading, is);
        ret->wanted = is;
    }
    reading->pointer[length] = '\0';
}

/* An array, a reference to one, or {"items", "max_items", "parallel"}. */
static void read_for_each(yyjson_val *for_each, struct plan_node *ret) {
    bool is_alone = yyjson_obj_size(for_each) == 1 && (yyjson_obj_get(for_each, "$ref") != NULL ||
                                                       reference_literal(for_each) != NULL);
    ret->items =
            yyjson_is_obj(for_each) && !is_alone ? yyjson_obj_get(for_each, "items") : for_each;
    ret->items_max = number(for_each, "max_items", PLAN_ITEMS_MAX);
    ret->items_parallel = number(for_each, "parallel", PLAN_ITEMS_PARALLEL);
}

static void read_on_error(struct reading *reading, yyjson_val *node, const char *otherwise,
                          struct plan_node *ret) {
    yyjson_val *on_error = yyjson_obj_get(node, "on_error");
    yyjson_val *retry = yyjson_obj_get(node, "retry");
    yyjson_val *fallback = yyjson_obj_get(on_error, "fallback");
    const char *policy = yyjson_is_str(on_error) ? yyjson_get_str(on_error) : otherwise;
    bool retries = retry != NULL || strcmp(policy, "retry") == 0;
    ret->on_error = fallback != NULL              ? PLAN_FALLBACK
                    : strcmp(policy, "skip") == 0 ? PLAN_SKIP
                                                  : PLAN_STOP;
    ret->fallback_value = yyjson_obj_get(fallback, "value");
    ret->fallback_tool = text(fallback, "tool");
    ret->fallback_arguments = object(fallback, "arguments");
    ret->retry = (struct plan_retry){
            .attempts = retries ? number(retry, "attempts", PLAN_ATTEMPTS) : 1,
            .delay_ms = number(retry, "delay_ms", PLAN_RETRY_DELAY_MS),
            .max_delay_ms = number(retry, "max_delay_ms", PLAN_RETRY_DELAY_MAX_MS),
            .force = yyjson_get_bool(yyjson_obj_get(retry, "force"))};
    if (fallback != NULL && (ret->fallback_value != NULL) == (ret->fallback_tool != NULL)) {
        size_t length = strlen(reading->pointer);
        json_pointer_add(reading->pointer, "on_error");
        json_pointer_add(reading->pointer, "fallback");
        TELL(reading, "plan-fallback",
             "write {\"value\": ...} or {\"tool\": NAME, \"arguments\": {...}}",
             "a fallback is a value or a tool, and this is %s",
             ret->fallback_tool != NULL ? "both" : "neither");
        reading->pointer[length] = '\0';
    }
}

static void read_node(struct reading *reading, yyjson_val *node, const char *on_error,
                      struct plan_node *ret) {
    const char *id = text(node, "id");
    const char *tool = text(node, "tool");
    *ret = (struct plan_node){.id = id != NULL ? id : "",
                              .tool = tool != NULL ? tool : "",
                              .arguments = object(node, "arguments"),
                              .deadline_ms = number(node, "deadline_ms", 0)};
    read_when(reading, yyjson_obj_get(node, "when"), ret);
    if (yyjson_obj_get(node, "for_each") != NULL) {
        read_for_each(yyjson_obj_get(node, "for_each"), ret);
    }
    read_on_error(reading, node, on_error, ret);
}

static void read_nodes(struct reading *reading, yyjson_val *root) {
    struct plan *plan = reading->plan;
    yyjson_val *nodes = yyjson_obj_get(root, "nodes");
    const char *on_error = text(root, "on_error");
    size_t at;
    size_t count = yyjson_arr_size(nodes) <= PLAN_NODES_MAX ? yyjson_arr_size(nodes) : 0;
    yyjson_val *node;
    plan->nodes = arena_zalloc(&plan->arena, (count + 1) * sizeof *plan->nodes);
    if (plan->nodes == NULL || count == 0) {
        reading->failed = reading->failed || plan->nodes == NULL;
        return;
    }
    yyjson_arr_foreach (nodes, at, count, node) {
        reading->node = (uint32_t)at;
        plan->graph.count = (uint32_t)at + 1;
        json_pointer_add(reading->pointer, "nodes");
        json_pointer_add_index(reading->pointer, at);
        read_node(reading, node, on_error != NULL ? on_error : "stop", &plan->nodes[at]);
        reading->pointer[0] = '\0';
    }
    reading->node = plan->graph.count;
}

/* ------------------------------------------------------------------------------- ids and needs */

struct by_id {
    const char *id;
    uint32_t node;
};

static int compare_ids(const void *a, const void *b) {
    const struct by_id *left = a;
    const struct by_id *right = b;
    int order = strcmp(left->id, right->id);
    return order != 0 ? order : left->node < right->node ? -1 : left->node > right->node;
}

static void sort_ids(struct reading *reading) {
    struct plan *plan = reading->plan;
    const uint32_t count = plan->graph.count;
    CLEANUP(freep) struct by_id *sorted = calloc(count + 1u, sizeof *sorted);
    plan->by_id = arena_zalloc(&plan->arena, (count + 1u) * sizeof *plan->by_id);
    if (sorted == NULL || plan->by_id == NULL) {
        reading->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = (struct by_id){plan->nodes[i].id, i};
    }
    qsort(sorted, count, sizeof *sorted, compare_ids);
    for (uint32_t i = 0; i < count; i++) {
        plan->by_id[i] = sorted[i].node;
        if (i > 0 && sorted[i].id[0] != '\0' && strcmp(sorted[i].id, sorted[i - 1].id) == 0) {
            json_pointer_add(reading->pointer, "nodes");
            json_pointer_add_index(reading->pointer, sorted[i].node);
            json_pointer_add(reading->pointer, "id");
            reading->node = sorted[i].node;
            TELL(reading, "plan-node-twice", "give each node an id of its own",
                 "another node has the id \"%s\"", sorted[i].id);
            reading->pointer[0] = '\0';
        }
    }
}

/* The order of compare_ids(), of an id and bytes among which may be any. */
static int compare_id(const char *id, const char *with, size_t length) {
    size_t id_length = strlen(id);
    int order = memcmp(id, with, id_length < length ? id_length : length);
    return order != 0 ? order : (id_length > length) - (id_length < length);
}

uint32_t plan_find_node(const struct plan *plan, const char *id, size_t length) {
    uint32_t from = 0;
    uint32_t to = plan->graph.count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = compare_id(plan->nodes[plan->by_id[middle]].id, id, length);
        if (order == 0) {
            return plan->by_id[middle];
        }
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    return plan->graph.count;
}

const struct plan_input *plan_find_input(const struct plan *plan, const char *name, size_t length) {
    for (size_t i = 0; i < plan->input_count; i++) {
        if (strlen(plan->inputs[i].name) == length &&
            memcmp(plan->inputs[i].name, name, length) == 0) {
            return &plan->inputs[i];
        }
    }
    return NULL;
}

static void add_need(struct reading *reading, uint32_t needs, bool data) {
    if (reading->node >= reading->plan->graph.count) {
        return; /* the result of the plan needs what it refers to, and is no node */
    }
    if (reading->need_count == reading->need_room) {
        size_t room = reading->need_room == 0 ? 64 : 2 * reading->need_room;
        struct graph_need *grown = realloc(reading->needs, room * sizeof *grown);
        if (grown == NULL) {
            reading->failed = true;
            return;
        }
        reading->needs = grown;
        reading->need_room = room;
    }
    reading->needs[reading->need_count++] = (struct graph_need){reading->node, needs, data};
}

/* "did you mean", if a node has nearly the id.
 * @param typed  the id, as long as any may be */
static bool add_nearest(struct reading *reading, const char *typed, struct buf *fix) {
    const struct plan *plan = reading->plan;
    struct nearest nearest = nearest_to(typed);
    bool is_told = reading->suggested++ < SUGGESTED_MAX;
    for (uint32_t i = 0; is_told && i < plan->graph.count; i++) {
        (void)nearest_try(&nearest, plan->nodes[i].id);
    }
    if (nearest.name != NULL) {
        buf_printf(fix, "did you mean \"%s\"?", nearest.name);
    }
    return nearest.name != NULL;
}

static void add_nodes(const struct plan *plan, struct buf *fix) {
    buf_add_text(fix, "name a node of the plan:");
    for (uint32_t i = 0; i < plan->graph.count && i < NODES_LISTED_MAX; i++) {
        const char *other = plan->nodes[i].id;
        buf_printf(fix, "%s %s", i > 0 ? "," : "", other[0] != '\0' ? other : "(no id)");
    }
    buf_add_text(fix, plan->graph.count > NODES_LISTED_MAX ? ", ..." : "");
}

/* As much of an id as any may have. @return its length */
static size_t cut_id(const char *id, size_t length, char ret[NAME_LENGTH_MAX + 1]) {
    size_t cut = length < NAME_LENGTH_MAX ? length : NAME_LENGTH_MAX;
    memcpy(ret, id, cut);
    ret[cut] = '\0';
    return cut;
}

static void tell_no_node(struct reading *reading, const char *rule, const char *id, size_t length) {
    char typed[NAME_LENGTH_MAX + 1];
    char meant[JSON_POINTER_MAX];
    size_t cut = cut_id(id, length, typed);
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    if (!add_nearest(reading, typed, &fix)) {
        if (mistaken_path(reading->plan, id, length, 1, false, meant)) {
            const char *named = strchr(meant + strlen("#/"), '/') + 1;
            buf_printf(&fix, "write the id alone: \"%.*s\"", (int)strcspn(named, "/"), named);
        } else {
            add_nodes(reading->plan, &fix);
        }
    }
    TELL(reading, rule, fix.failed ? NULL : fix.data, "there is no node \"%.*s\"", (int)cut, typed);
}

/* Most bytes of a text that a cause quotes. */
#define QUOTED_MAX 200

/* It begins as a reference, and is none. */
static void tell_wrong(struct reading *reading, const struct reference *reference) {
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    char meant[JSON_POINTER_MAX];
    bool is_inside = reference->text[0] == '$';
    int length = (int)(reference->text_length < QUOTED_MAX ? reference->text_length : QUOTED_MAX);
    if (mistaken_path(reading->plan, reference->text, reference->text_length, 2, reading->has_item,
                      meant)) {
        buf_add_text(&fix, "write ");
        if (is_inside) {
            reference_add_inside(&fix, meant);
        } else {
            buf_add_text(&fix, meant);
        }
    } else {
        buf_add_text(&fix, is_inside ? "write ${nodes.ID.result}, ${inputs.NAME} or ${item}, each "
                                       "perhaps with .more"
                                     : "write #/nodes/ID/result, #/inputs/NAME or #/item, each "
                                       "perhaps with /more");
    }
    buf_add_text(&fix, "; what is no reference belongs into {\"$literal\": ...}");
    TELL(reading, "plan-reference", fix.failed ? NULL : fix.data, "%.*s refers to nothing", length,
         reference->text);
}

static bool take_reference(void *user, const struct reference *reference, const char *pointer) {
    struct reading *reading = user;
    (void)pointer; /* it is reading->pointer */
    switch (reference->kind) {
    case REFERENCE_NODE: {
        uint32_t node = plan_find_node(reading->plan, reference->name, reference->name_length);
        if (node == reading->plan->graph.count) {
            tell_no_node(reading, "plan-reference", reference->name, reference->name_length);
        } else {
            add_need(reading, node, true);
        }
        break;
    }
    case REFERENCE_INPUT:
        if (plan_find_input(reading->plan, reference->name, reference->name_length) == NULL) {
            TELL(reading, "plan-reference", "add it to \"inputs\", with its JSON Schema",
                 "the plan has no input \"%.*s\"", (int)reference->name_length, reference->name);
        }
        break;
    case REFERENCE_ITEM:
        if (!reading->has_item) {
            TELL(reading, "plan-reference",
                 "give the node a \"for_each\", or refer to something else",
                 "there is an item only in the arguments of a node with \"for_each\"");
        }
        break;
    case REFERENCE_WRONG: tell_wrong(reading, reference); break;
    }
    return !reading->failed;
}

/* What to write in place of a reference to what the plan has not. */
static void add_known(struct reading *reading, const struct mistaken *mistaken, const char *typed,
                      struct buf *fix) {
    if (mistaken->is_input) {
        buf_add_text(fix, "add it to \"inputs\", with its JSON Schema");
    } else if (!add_nearest(reading, typed, fix)) {
        add_nodes(reading->plan, fix);
    }
}

/* What to write in place of what is no reference, but meant as one. */
static void add_meant(const struct mistaken *mistaken, struct buf *fix) {
    if (mistaken->kind == MISTAKEN_INSIDE) {
        buf_add_text(fix, "write ");
        reference_add_inside(fix, mistaken->meant);
    } else {
        buf_printf(fix, "write {\"$ref\": \"%s\"}", mistaken->meant);
    }
}

static void tell_mistaken(void *user, const struct mistaken *mistaken, const char *pointer) {
    struct reading *reading = user;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    char typed[NAME_LENGTH_MAX + 1] = "";
    bool is_text = mistaken->kind == MISTAKEN_INSIDE || mistaken->kind == MISTAKEN_LIKELY;
    bool is_unknown = mistaken->unknown != NULL;
    int length = (int)(mistaken->length < QUOTED_MAX ? mistaken->length : QUOTED_MAX);
    if (is_unknown) {
        (void)cut_id(mistaken->unknown, mistaken->unknown_length, typed);
        add_known(reading, mistaken, typed, &fix);
    } else {
        add_meant(mistaken, &fix);
    }
    buf_add_text(&fix, mistaken->kind == MISTAKEN_MORE && !is_unknown
                               ? ", without other members"
                               : "; what is to stay as it is belongs into {\"$literal\": ...}");
    problems_add(reading->problems,
                 &(struct problem){.severity = is_text ? TOOLRACK_SEVERITY_WARNING
                                                       : TOOLRACK_SEVERITY_ERROR,
                                   .rule = "plan-reference",
                                   .pointer = pointer,
                                   .tool = id_of(reading),
                                   .fix = fix.failed ? NULL : fix.data},
                 is_unknown && mistaken->is_input
                         ? "%.*s is no reference, and the plan has no input \"%s\""
                 : is_unknown ? "%.*s is no reference, and there is no node \"%s\""
                 : mistaken->kind == MISTAKEN_OBJECT ? "{\"$ref\": \"%.*s\"} is no reference%s"
                 : mistaken->kind == MISTAKEN_MORE
                         ? "{\"$ref\": \"%.*s\", ...} is no reference: it has other members%s"
                         : "%.*s is text, and no reference%s",
                 length, mistaken->text, typed);
}

/* Look at the references of a template at a member of what the pointer names. */
static void look(struct reading *reading, const char *member, const char *below,
                 yyjson_val *template, bool has_item) {
    size_t length = strlen(reading->pointer);
    if (template == NULL) {
        return;
    }
    json_pointer_add(reading->pointer, member);
    if (below != NULL) {
        json_pointer_add(reading->pointer, below);
    }
    reading->has_item = has_item;
    (void)references_each(template, reading->pointer, take_reference, reading);
    mistaken_each(reading->plan, template, has_item, reading->pointer, tell_mistaken, reading);
    reading->pointer[length] = '\0';
}

static void take_depends(struct reading *reading, yyjson_val *depends) {
    size_t length = strlen(reading->pointer);
    size_t at;
    size_t count;
    yyjson_val *id;
    json_pointer_add(reading->pointer, "depends_on");
    size_t member = strlen(reading->pointer);
    yyjson_arr_foreach (depends, at, count, id) {
        if (yyjson_is_str(id)) {
            uint32_t node = plan_find_node(reading->plan, yyjson_get_str(id), yyjson_get_len(id));
            json_pointer_add_index(reading->pointer, at);
            if (node == reading->plan->graph.count) {
                tell_no_node(reading, "plan-depends", yyjson_get_str(id), yyjson_get_len(id));
            } else {
                add_need(reading, node, false);
            }
            reading->pointer[member] = '\0';
        }
    }
    reading->pointer[length] = '\0';
}

static void look_at_node(struct reading *reading, yyjson_val *described,
                         const struct plan_node *node) {
    yyjson_val *fallback = yyjson_obj_get(yyjson_obj_get(described, "on_error"), "fallback");
    bool has_item = node->items != NULL;
    look(reading, "arguments", NULL, node->arguments, has_item);
    look(reading, "when", node->is != NULL ? "value" : NULL, node->when, false);
    if (yyjson_is_ctn(node->items)) { /* of anything else the schema has told */
        look(reading, "for_each",
             yyjson_obj_get(yyjson_obj_get(described, "for_each"), "items") ? "items" : NULL,
             node->items, false);
    }
    look(reading, "on_error", "fallback", fallback, has_item);
    take_depends(reading, yyjson_obj_get(described, "depends_on"));
}

static void look_at_all(struct reading *reading, yyjson_val *root) {
    struct plan *plan = reading->plan;
    yyjson_val *nodes = yyjson_obj_get(root, "nodes");
    size_t at;
    size_t count;
    yyjson_val *node;
    yyjson_arr_foreach (nodes, at, count, node) {
        if (at >= plan->graph.count) {
            break;
        }
        reading->node = (uint32_t)at;
        json_pointer_add(reading->pointer, "nodes");
        json_pointer_add_index(reading->pointer, at);
        look_at_node(reading, node, &plan->nodes[at]);
        reading->pointer[0] = '\0';
    }
    reading->node = plan->graph.count;
    look(reading, "result", NULL, plan->result, false);
}

/* ----------------------------------------------------------------------------------- the graph */

#define CYCLE_SHOWN 12u

static void tell_cycle(struct reading *reading, const uint32_t *cycle, size_t count) {
    const struct plan *plan = reading->plan;
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    for (size_t i = 0; i < count && i < CYCLE_SHOWN; i++) {
        buf_printf(&path, "%s -> ", plan->nodes[cycle[i]].id);
    }
    if (count > CYCLE_SHOWN) {
        buf_printf(&path, "(%zu more) -> ", count - CYCLE_SHOWN);
    }
    buf_add_text(&path, plan->nodes[cycle[0]].id);
    reading->node = cycle[0];
    reading->failed = reading->failed || path.failed;
    json_pointer_add(reading->pointer, "nodes");
    json_pointer_add_index(reading->pointer, cycle[0]);
    if (!path.failed) {
        TELL(reading, "plan-cycle", "remove one of these references or \"depends_on\"",
             count == 1 ? "the node needs itself: %s" : "these nodes need each other: %s",
             path.data);
    }
    reading->pointer[0] = '\0';
    reading->node = plan->graph.count;
}

static void make_graph(struct reading *reading) {
    struct plan *plan = reading->plan;
    uint32_t *cycle;
    bool failed = false;
    if (!graph_make(&plan->arena, plan->graph.count, reading->needs, reading->need_count,
                    &plan->graph)) {
        reading->failed = true;
        return;
    }
    size_t count = graph_find_cycle(&plan->graph, &plan->arena, &cycle, &failed);
    reading->failed = reading->failed || failed;
    if (count > 0) {
        tell_cycle(reading, cycle, count);
    }
}

static void read_all(struct reading *reading) {
    struct plan *plan = reading->plan;
    parse(reading);
    yyjson_val *root = yyjson_doc_get_root(plan->doc);
    if (plan->doc == NULL || is_around(reading, root)) {
        return;
    }
    plan->name = text(root, "name");
    plan->parallel = number(root, "parallel", PLAN_PARALLEL);
    plan->deadline_ms = number(root, "deadline_ms", 0);
    plan->result = yyjson_obj_get(root, "result");
    validate(reading, root);
    read_inputs(reading, yyjson_obj_get(root, "inputs"));
    read_nodes(reading, root);
    if (!reading->failed) {
        sort_ids(reading);
    }
    if (!reading->failed) {
        look_at_all(reading, root);
        make_graph(reading);
    }
}

/* The schema knows no nodes: say in which one its problems are. */
static void name_nodes(const struct plan *plan, struct problems *problems) {
    static const char begin[] = "/nodes/";
    for (size_t i = 0; i < problems->count; i++) {
        struct problem *problem = &problems->items[i];
        if (problem->tool == NULL && problem->pointer != NULL &&
            strncmp(problem->pointer, begin, strlen(begin)) == 0) {
            unsigned long node = strtoul(problem->pointer + strlen(begin), NULL, 10);
            const char *id = node < plan->graph.count ? plan->nodes[node].id : "";
            if (name_valid(id)) {
                problem->tool = arena_copy(problems->arena, id, strlen(id));
                problems->failed = problems->failed || problem->tool == NULL;
            }
        }
    }
}

static void plan_destroyp(struct plan **plan) {
    plan_destroy(*plan);
}

int plan_read(const char *text_read, size_t length, struct problems *problems, struct plan **ret,
              struct toolrack_error *err) {
    CLEANUP(plan_destroyp) struct plan *plan = calloc(1, sizeof *plan);
    *ret = NULL;
    if (plan == NULL) {
        return error_oom(err);
    }
    arena_init(&plan->arena, NULL, 0);
    plan->length = length;
    plan->text = arena_copy(&plan->arena, text_read, length);
    struct reading reading = {.plan = plan, .problems = problems, .failed = plan->text == NULL};
    if (!reading.failed) {
        read_all(&reading);
    }
    free(reading.needs);
    name_nodes(plan, problems);
    if (reading.failed || problems->failed) {
        return error_oom(err);
    }
    *ret = plan->graph.count > 0 ? STEAL(plan) : NULL;
    return 0;
}

void plan_destroy(struct plan *plan) {
    if (plan == NULL) {
        return;
    }
    for (size_t i = 0; i < plan->input_count; i++) {
        schema_destroy(plan->inputs[i].schema);
    }
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        schema_destroy(plan->nodes[i].is);
    }
    yyjson_doc_free(plan->doc);
    arena_finish(&plan->arena);
    free(plan);
}
