/* value.h - JSON values by meaning: equality, hash, copies, places in a document. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "schema/text.h"

/** Work that may still be done; shared by everything that one validation does. */
struct budget {
    int64_t steps;
    bool too_deep; /**< values nested deeper than SCHEMA_DEPTH_MAX were compared */
};

/** Take `n` steps; false when they are used up. */
static inline bool budget_spend(struct budget *budget, size_t n) {
    budget->steps -= (int64_t)n;
    return budget->steps >= 0;
}

/** Equality of JSON Schema: 1 == 1.0, the order of properties does not matter, false != 0. False
 * also when the budget ends; the caller looks at it. */
bool value_equal(yyjson_val *a, yyjson_val *b, struct budget *budget);

/** Equal values have equal hashes. */
uint64_t value_hash(yyjson_val *value, struct budget *budget);

/** How many cells of its document a value takes, itself and all below. Only for values of an
 * immutable document, where they stand in one row. */
static inline size_t value_cells(yyjson_val *value) {
    return (size_t)(unsafe_yyjson_get_next(value) - value);
}

/** A copy of its own, texts included; NULL when out of memory. No recursion, any depth. */
yyjson_val *value_copy(struct arena *arena, yyjson_val *value);

/** Whether `value` is `root` or stands below it. */
bool value_contains(yyjson_val *root, yyjson_val *value);

/** Append the JSON Pointer that leads from `root` to `value`. */
void value_locate(yyjson_val *root, yyjson_val *value, struct text *text);
