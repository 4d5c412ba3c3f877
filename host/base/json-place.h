/* json-place.h - the position of a value in a text of JSON with comments.
 *
 * A parsed value has no line number. For error messages the line is found again by the value's JSON
 * Pointer. The text was parsed before and is well-formed; in any other text nothing is found, and
 * nothing after its end is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json-pointer.h"

/* Which part of the member at a pointer. */
enum json_place_at {
    JSON_PLACE_VALUE,
    JSON_PLACE_KEY,      /* its key; for an item of an array, its value */
    JSON_PLACE_LAST_KEY, /* the last key, if a key is given twice */
};

/** The position of a value or key, in bytes; false: not found. [any-thread] */
bool json_place_find(const char *text, size_t length, const char *pointer, enum json_place_at at,
                     size_t *ret_position);

/** Line and column of a byte, both from 1; columns count characters. [any-thread] */
void json_place_line(const char *text, size_t length, size_t position, size_t *ret_line,
                     size_t *ret_column);
