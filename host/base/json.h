/* json.h - places in a JSON value, and what a JSON string needs no escape for. */
#pragma once

#include <yyjson.h>

/** Longest path that json_at() follows. */
#define JSON_PATH_LENGTH_MAX 1024u

/** Where a path leads in `root`, or NULL. A path is a key ("limit") or a JSON Pointer with or
 * without its first slash ("filter/0/name"); the empty path is `root`, NULL leads nowhere.
 * [any-thread] */
yyjson_val *json_at(yyjson_val *root, const char *path);

/** A setting at a path as a plugin gets it: a string's text, or any other value's JSON, made with
 * `alc`. NULL where it is absent or null, or there is no memory. [any-thread] */
const char *json_setting(yyjson_val *root, const char *path, const yyjson_alc *alc);

/** How many bytes at the start of a text a JSON string holds as they are: up to the first control
 * character, quote or backslash. Whether they are UTF-8 is another question. [any-thread] */
size_t json_plain_run(const char *text, size_t length);
