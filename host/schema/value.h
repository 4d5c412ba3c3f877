/* value.h - JSON values as cells of an immutable document: copying and locating them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "schema/text.h"

/** Number of cells of a value in its document, including all values below it. Only for values of an
 * immutable document, where they are contiguous. */
static inline size_t value_cells(yyjson_val *value) {
    return (size_t)(unsafe_yyjson_get_next(value) - value);
}

/** A deep copy, including strings; NULL when out of memory. Not recursive, for any depth. */
yyjson_val *value_copy(struct arena *arena, yyjson_val *value);

/** Whether `value` is `root` or below it. */
bool value_contains(yyjson_val *root, yyjson_val *value);

/** Append the JSON Pointer from `root` to `value`. */
void value_locate(yyjson_val *root, yyjson_val *value, struct text *text);
