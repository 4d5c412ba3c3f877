/* json-twice.h - members that a JSON text gives twice.
 *
 * RFC 8259 leaves open which of the two counts, so programs differ: one that shows a text and one
 * that acts on it may read two different values. */
#pragma once

#include <yyjson.h>

#include "base/json-pointer.h"

enum json_twice {
    JSON_TWICE_NONE,
    JSON_TWICE_FOUND,
    JSON_TWICE_NO_MEMORY,
};

/** Look for an object with two members of one name in a parsed value, at any depth.
 * Memory is needed only for an object of many members.
 * @param root         a value as it was read
 * @param ret_pointer  the JSON Pointer of the member, if one is found
 * [any-thread] */
enum json_twice json_find_twice(yyjson_val *root, char ret_pointer[static JSON_POINTER_MAX]);

/** The same, except for objects of which that may be.
 * @param part_of  of an object with a member twice: the value all of which is left out and which
 *                 the object is in, or is; NULL: none */
enum json_twice json_find_twice_but(yyjson_val *root,
                                    yyjson_val *(*part_of)(void *user, yyjson_val *object),
                                    void *user, char ret_pointer[static JSON_POINTER_MAX]);
