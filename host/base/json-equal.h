/* json-equal.h - JSON values compared as JSON Schema does: 1 equals 1.0, the order of members does
 * not matter, false differs from 0.
 *
 * Values come from outside, and comparing a crafted pair could take very long. So each comparison
 * takes steps from a budget and descends no deeper than JSON_EQUAL_DEPTH_MAX: a caller that gets
 * false checks budget_ended(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

/* Deepest nesting of values that are compared. */
#define JSON_EQUAL_DEPTH_MAX 128

/** Remaining work, shared by all steps of one check. */
struct budget {
    int64_t steps; /**< negative: used up */
    bool too_deep; /**< values nested deeper than JSON_EQUAL_DEPTH_MAX were compared */
};

/** Take `n` steps; false when they are used up. */
static inline bool budget_spend(struct budget *budget, size_t n) {
    budget->steps -= (int64_t)n;
    return budget->steps >= 0;
}

/** Whether a result may be wrong because steps or depth were not enough. */
static inline bool budget_ended(const struct budget *budget) {
    return budget->steps < 0 || budget->too_deep;
}

/** Whether two values are equal; false also when the budget ends. [any-thread] */
bool json_equal(yyjson_val *a, yyjson_val *b, struct budget *budget);

/** Equal values have equal hashes. [any-thread] */
uint64_t json_hash(yyjson_val *value, struct budget *budget);

enum json_unique {
    JSON_UNIQUE,
    JSON_REPEATED,
    JSON_UNIQUE_ENDED,     /* the budget has ended */
    JSON_UNIQUE_NO_MEMORY, /* only with more than 128 items */
};

/** Whether an array contains no value twice; if it does, *ret_first and *ret_second are the indices
 * of the first repetition. [any-thread] */
enum json_unique json_check_unique(yyjson_val *array, struct budget *budget, size_t *ret_first,
                                   size_t *ret_second);
