/* value.h - JSON values as cells of an immutable document: copies, places. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "schema/text.h"

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
