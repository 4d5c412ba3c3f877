/* run.h - one validation under way; shared by the files that validate.
 *
 * A value is first checked quietly: the checks only return true or false. If the result is false
 * and the caller wants the reason, the same checks run again with `explain` set; then they record
 * the path and offer reasons. See explain.c for how one is chosen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <yyjson.h>

#include "base/json-equal.h"
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

/* memcmp() without its call, for names: two possibly overlapping loads instead of a loop. */
static inline bool same_bytes(const char *a, const char *b, size_t length) {
    if (length >= 8) {
        if (length > 16) {
            return memcmp(a, b, length) == 0;
        }
        uint64_t a8, b8, a8_end, b8_end;
        memcpy(&a8, a, 8);
        memcpy(&b8, b, 8);
        memcpy(&a8_end, a + length - 8, 8);
        memcpy(&b8_end, b + length - 8, 8);
        return ((a8 ^ b8) | (a8_end ^ b8_end)) == 0;
    }
    if (length >= 4) {
        uint32_t a4, b4, a4_end, b4_end;
        memcpy(&a4, a, 4);
        memcpy(&b4, b, 4);
        memcpy(&a4_end, a + length - 4, 4);
        memcpy(&b4_end, b + length - 4, 4);
        return ((a4 ^ b4) | (a4_end ^ b4_end)) == 0;
    }
    for (size_t i = 0; i < length; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static inline bool is_property(const struct property *property, const char *name, size_t length) {
    return property->length == length && same_bytes(property->name, name, length);
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
