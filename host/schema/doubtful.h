/* doubtful.h - what is valid in a schema and says nothing, or not what its author means.
 *
 *   {"city": {"type": "string"}}           properties without "properties" around them
 *   {"inputSchema": {...}}                 a whole definition in place of its schema
 *   "propertys", "require"                 a name near that of a keyword
 *   "pattern": "/^a$/i"                    a literal of JavaScript
 *
 * JSON Schema ignores members that it does not know: a tool would take any arguments. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#define DOUBTFUL_WORDS_MAX 256

struct doubt {
    const char *key; /**< the member, of the schema */
    char cause[DOUBTFUL_WORDS_MAX];
    char fix[DOUBTFUL_WORDS_MAX];
};

/** Whether the members of a schema at the root were meant to be elsewhere. [any-thread] */
bool doubtful_root(yyjson_mut_val *schema, struct doubt *ret);

/** Whether a member of a schema is one that JSON Schema ignores or takes otherwise.
 * [any-thread] */
bool doubtful_member(yyjson_mut_val *key, yyjson_mut_val *value, struct doubt *ret);
