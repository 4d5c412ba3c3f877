/* `unevaluatedProperties` and `unevaluatedItems`.
 *
 * They apply to the children that no other keyword has evaluated, in all schemas that apply to the
 * same value. Other checks record nothing for them. If a schema has one of the two and has passed
 * otherwise, it is walked again, and each child that some part of it evaluates is marked in a
 * bitmap. Branches of anyOf and similar keywords are checked again to see whether they apply. The
 * bitmap is on the stack up to UNEVALUATED_STACK_CHILDREN children, from malloc above. */
#include <stdlib.h>
#include <string.h>

#include "schema/explain.h"
#include "schema/run.h"

#define UNEVALUATED_STACK_CHILDREN 1024u
#define WORD_BITS                  64u

struct marks {
    uint64_t *words;
    bool all; /* every child */
};

static void mark(struct run *run, const struct node *node, yyjson_val *value, struct marks *marks);

/* Mark the children that a schema evaluates, if the value is valid against it. */
static bool mark_if_valid(struct run *run, const struct node *node, yyjson_val *value,
                          struct marks *marks) {
    bool valid = run_check_quietly(run, node, value);
    if (valid) {
        mark(run, node, value, marks);
    }
    return valid;
}

static void mark_members(struct run *run, const struct object_rules *rules, yyjson_val *object,
                         struct marks *marks) {
    if (rules->additional != NULL) {
        marks->all = true; /* it evaluates all remaining children */
        return;
    }
    size_t count = unsafe_yyjson_get_len(object);
    yyjson_val *key = unsafe_yyjson_get_first(object);
    for (size_t i = 0; i < count && budget_spend(&run->budget, 1); i++) {
        const char *name = unsafe_yyjson_get_str(key);
        size_t length = unsafe_yyjson_get_len(key);
        const struct property *property = run_find_property(rules, name, length);
        bool found = property != NULL && property->node != NULL;
        for (uint32_t k = 0; !found && k < rules->pattern_count; k++) {
            found = run_search(run, rules->patterns[k].regex, name, length);
        }
        if (found) {
            marks->words[i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
    for (uint32_t i = 0; i < rules->dependent_count; i++) {
        const struct dependent *dependent = &rules->dependents[i];
        if (dependent->node != NULL &&
            yyjson_obj_getn(object, dependent->trigger, dependent->trigger_length) != NULL) {
            mark(run, dependent->node, object, marks);
        }
    }
}

static void mark_items(struct run *run, const struct array_rules *rules, yyjson_val *array,
                       struct marks *marks) {
    if (rules->rest != NULL) {
        marks->all = true;
        return;
    }
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    for (size_t i = 0; i < count && run->limit == LIMIT_NONE; i++) {
        if (i < rules->prefix.count ||
            (rules->contains != NULL && run_check_quietly(run, rules->contains, item))) {
            marks->words[i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
        }
        item = unsafe_yyjson_get_next(item);
    }
}

static void mark_applicators(struct run *run, const struct applicators *apply, yyjson_val *value,
                             struct marks *marks) {
    if (apply->reference != NULL) {
        mark(run, apply->reference, value, marks);
    }
    if (apply->dynamic != NULL) {
        mark(run, run_dynamic(run, apply), value, marks);
    }
    for (uint32_t i = 0; i < apply->all.count; i++) {
        mark(run, apply->all.nodes[i], value, marks);
    }
    for (uint32_t i = 0; i < apply->any.count; i++) {
        (void)mark_if_valid(run, apply->any.nodes[i], value, marks);
    }
    for (uint32_t i = 0; i < apply->one.count; i++) {
        (void)mark_if_valid(run, apply->one.nodes[i], value, marks);
    }
    if (apply->condition != NULL) {
        bool holds = mark_if_valid(run, apply->condition, value, marks);
        const struct node *next = holds ? apply->then : apply->otherwise;
        if (next != NULL) {
            mark(run, next, value, marks);
        }
    }
}

/* Mark the children that the node evaluates, except by its own unevaluated*. */
static void mark_node(struct run *run, const struct node *node, yyjson_val *value,
                      struct marks *marks) {
    if (node->object != NULL && unsafe_yyjson_is_obj(value)) {
        mark_members(run, node->object, value, marks);
    }
    if (node->array != NULL && unsafe_yyjson_is_arr(value)) {
        mark_items(run, node->array, value, marks);
    }
    if (node->apply != NULL && !marks->all) {
        mark_applicators(run, node->apply, value, marks);
    }
}

/* Mark for an inner schema that has passed: its own unevaluated* evaluates all remaining
 * children. */
static void mark(struct run *run, const struct node *node, yyjson_val *value, struct marks *marks) {
    if (run->limit != LIMIT_NONE || marks->all) {
        return;
    }
    if (!budget_spend(&run->budget, 1)) {
        (void)run_stop(run, LIMIT_STEPS);
        return;
    }
    const struct node *took = NULL;
    if (node->apply != NULL) {
        took = unsafe_yyjson_is_obj(value) ? node->apply->unevaluated_properties
                                           : node->apply->unevaluated_items;
    }
    if (took != NULL) {
        marks->all = true;
        return;
    }
    if (++run->depth > SCHEMA_RECURSION_MAX) {
        (void)run_stop(run, LIMIT_RECURSION);
        return;
    }
    struct scope scope = {.resource = node->resource, .outer = run->scope};
    bool enters = run->scope != NULL && run->scope->resource != node->resource;
    run->scope = enters ? &scope : run->scope;
    mark_node(run, node, value, marks);
    run->scope = enters ? scope.outer : run->scope;
    run->depth--;
}

/* Check a child that nothing has evaluated, and say what is wrong with it. */
static bool explain_rest(struct run *run, const struct node *rest, yyjson_val *value,
                         yyjson_val *key, size_t index, yyjson_val *child) {
    bool valid = false;
    if (unsafe_yyjson_is_obj(value) && rest->never) {
        return explain_unevaluated(run, value, key);
    }
    if (unsafe_yyjson_is_obj(value)) {
        explain_enter_member(run, NULL, value, key);
        valid = run_check(run, rest, child);
    } else {
        explain_enter_index(run, index);
        valid = rest->never ? explain(run, "unevaluatedItems",
                                      "is not allowed: the array has too many items")
                            : run_check(run, rest, child);
    }
    explain_leave(run);
    return valid;
}

static bool check_rest(struct run *run, const struct node *rest, yyjson_val *value,
                       const struct marks *marks) {
    bool is_object = unsafe_yyjson_is_obj(value);
    size_t count = unsafe_yyjson_get_len(value);
    yyjson_val *at = unsafe_yyjson_get_first(value);
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        yyjson_val *key = at;
        at += is_object;
        if ((marks->words[i / WORD_BITS] >> (i % WORD_BITS) & 1) == 0) {
            bool valid = run->explain == NULL ? run_check(run, rest, at)
                                              : explain_rest(run, rest, value, key, i, at);
            if (!valid && (run->explain == NULL || run->limit != LIMIT_NONE)) {
                return false;
            }
            all = all && valid;
        }
        at = unsafe_yyjson_get_next(at);
    }
    return all;
}

static bool check_with(struct run *run, const struct node *node, const struct node *rest,
                       yyjson_val *value, uint64_t *words) {
    struct marks marks = {.words = words};
    struct explain *explain = run->explain;
    run->explain = NULL; /* checks while marking need no reasons */
    mark_node(run, node, value, &marks);
    run->explain = explain;
    if (run->budget.steps < 0) {
        return run_stop(run, LIMIT_STEPS);
    }
    return run->limit == LIMIT_NONE && (marks.all || check_rest(run, rest, value, &marks));
}

static bool check_on_stack(struct run *run, const struct node *node, const struct node *rest,
                           yyjson_val *value) {
    uint64_t words[UNEVALUATED_STACK_CHILDREN / WORD_BITS] = {0};
    return check_with(run, node, rest, value, words);
}

bool run_check_unevaluated(struct run *run, const struct node *node, yyjson_val *value) {
    const struct node *rest = NULL;
    if (unsafe_yyjson_is_obj(value)) {
        rest = node->apply->unevaluated_properties;
    } else if (unsafe_yyjson_is_arr(value)) {
        rest = node->apply->unevaluated_items;
    }
    if (rest == NULL) {
        return true;
    }
    if (unsafe_yyjson_get_len(value) <= UNEVALUATED_STACK_CHILDREN) {
        return check_on_stack(run, node, rest, value);
    }
    uint64_t *words = calloc(unsafe_yyjson_get_len(value) / WORD_BITS + 1, sizeof *words);
    if (words == NULL) {
        return run_stop(run, LIMIT_MEMORY);
    }
    bool valid = check_with(run, node, rest, value, words);
    free(words);
    return valid;
}
