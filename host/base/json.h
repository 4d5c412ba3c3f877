/* json.h - paths in a JSON value, and its members. */
#pragma once

#include <yyjson.h>

#include "base/json-pointer.h"

/** Longest path that json_at() follows. */
#define JSON_PATH_LENGTH_MAX 1024u

/** The value at a path in `root`, or NULL. A path is a key ("limit") or a JSON Pointer with or
 * without its first slash ("filter/0/name"); the empty path is `root`; for a NULL path NULL is
 * returned. [any-thread] */
yyjson_val *json_at(yyjson_val *root, const char *path);

/** A setting at a path as a plugin gets it: the contents of a string, or the JSON of any other
 * value, allocated with `alc`. NULL if it is absent or null, or if memory is out. [any-thread] */
const char *json_setting(yyjson_val *root, const char *path, const yyjson_alc *alc);

/** Most levels of arrays and objects in a tool's reply, and the words for a deeper one. */
#define JSON_REPLY_DEPTH_MAX 64u
#define JSON_TOO_DEEP        "the reply is nested deeper than the %u allowed"

/** Whether arrays and objects are nested more than `max` deep in a parsed value; `max` is at most
 * JSON_DEEPER_MAX. Without recursion. [any-thread] */
#define JSON_DEEPER_MAX 128u
bool json_is_deeper(const yyjson_val *root, unsigned max);

/** Whether a value is a text, or an array that has it, as "type" of a schema is. The second is for
 * a value that may be changed. [any-thread] */
bool json_has_text(yyjson_val *value, const char *text);
bool json_mut_has_text(yyjson_mut_val *value, const char *text);

/** The JSON Pointer of a part of a parsed value: a value in it, or the key of a member.
 * [any-thread] */
void json_point_at(yyjson_val *root, const yyjson_val *part, char ret[static JSON_POINTER_MAX]);

/** Put U+FFFD in the place of each escape of a half of a UTF-16 pair that stands alone ("\\ud83d"),
 * in JSON text, in place. JavaScript writes one for a text that was cut within a character; no
 * parser takes it, and then not even the id of a message could be read. [any-thread] */
void json_replace_lone_halves(char *text, size_t length);

/** Go through the members of an object as yyjson_obj_foreach(), which counts from a null pointer
 * when there is no object. It is evaluated several times. */
#define json_obj_foreach(object, at, count, key, value)               \
    for ((at) = 0, (count) = yyjson_obj_size(object),                 \
        (key) = (count) > 0 ? unsafe_yyjson_get_first(object) : NULL, \
        (value) = (count) > 0 ? (key) + 1 : NULL;                     \
         (at) < (count); (at)++, (key) = unsafe_yyjson_get_next(value), (value) = (key) + 1)
