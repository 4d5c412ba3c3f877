/* json-place.h - where in a text of JSON with comments a value is.
 *
 * A parsed value does not know its line. An error message that names it to the person who wrote the
 * text finds it again by its JSON Pointer. The text was parsed before and is well-formed; in any
 * other text nothing is found, and nothing behind its end is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longest JSON Pointer, with its final zero. */
#define JSON_POINTER_MAX 512u

/* Which part of the member that a pointer names. */
enum json_place_at {
    JSON_PLACE_VALUE,
    JSON_PLACE_KEY,      /* its key; for an item of an array, its value */
    JSON_PLACE_LAST_KEY, /* the last key, of those that are given twice */
};

/** Where a value or key is, as a byte of the text; false: the text has none there. [any-thread] */
bool json_place_find(const char *text, size_t length, const char *pointer, enum json_place_at at,
                     size_t *ret_position);

/** Line and column of a byte, both from 1; columns count characters. [any-thread] */
void json_place_line(const char *text, size_t length, size_t position, size_t *ret_line,
                     size_t *ret_column);

/** Append a key to a pointer in `pointer`, of JSON_POINTER_MAX bytes. What does not fit is left
 * out: the pointer then leads to where the key is. [any-thread] */
void json_pointer_add(char *pointer, const char *key);
void json_pointer_add_index(char *pointer, size_t index);
