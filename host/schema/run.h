/* run.h - one validation under way; shared by the files that validate.
 *
 * A value is first checked quietly: the checks only return true or false. If the result is false
 * and the caller wants the reason, the same checks run again with `explain` set; then they record
 * the path and offer reasons. See explain.c for how one is chosen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/json-equal.h"
#include "base/name.h"
#include "schema/program.h"
#include "schema/text.h"

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum run_limit {
    LIMIT_NONE,
    LIMIT_STEPS,
    LIMIT_RECURSION,
    LIMIT_COMPARE,
    LIMIT_MATCH,
    LIMIT_MEMORY
};

/** Resources entered and not left, innermost first: searched by `$dynamicRef`. */
struct scope {
    const struct resource *resource;
    const struct scope *outer;
};

struct explain;

struct run {
    struct budget budget;
    const struct schema *schema;
    const struct scope *scope; /**< NULL unless the schema has dynamic references */
    struct matcher *matcher;   /**< taken at the first pattern that is checked */
    struct explain *explain;   /**< NULL while quiet */
    uint32_t depth;
    enum run_limit limit; /**< which limit ended the run; then every check returns false */
};

/** Check a value against a node. */
bool run_check(struct run *run, const struct node *node, yyjson_val *value);

/** Like run_check(), without explaining. */
bool run_check_quietly(struct run *run, const struct node *node, yyjson_val *value);

/** The node to which `$dynamicRef` resolves here. */
const struct node *run_dynamic(const struct run *run, const struct applicators *apply);

static inline bool is_property(const struct property *property, const char *name, size_t length) {
    return property->length == length && name_equals(property->name, name, length);
}

/** End the run: a limit was reached. Returns false. */
bool run_stop(struct run *run, enum run_limit limit);

/** Whether `text` has a match; false also if the run has ended. */
bool run_search(struct run *run, const struct regex *regex, const char *text, size_t length);

/** The entry of `name` in the table, or NULL. */
const struct property *run_find_property(const struct object_rules *rules, const char *name,
                                         size_t length);

/** Validate a value against one node, in a new run; schema_validate() does this for the root.
 * `steps` is the number of allowed steps, then of those left. */
bool schema_check_node(const struct schema *schema, const struct node *node, yyjson_val *value,
                       yyjson_val **slots, size_t slot_count, int64_t *steps,
                       struct schema_failure *failure);

/** `unevaluatedItems` and `unevaluatedProperties` (unevaluated.c). */
bool run_check_unevaluated(struct run *run, const struct node *node, yyjson_val *value);
