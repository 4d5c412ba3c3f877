/* mirror.h - arguments that a server of the web wants in headers, too ("x-mcp-header" of a schema,
 * 2026-07-28), so that what is between can look at them. */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"

/* Most of one tool, and how deep in its arguments. */
#define MIRRORS_MAX       64u
#define MIRRORS_DEPTH_MAX 16u

struct mirror {
    const char *header;      /* its name, behind "Mcp-Param-" */
    const char *const *keys; /* where the value is in the arguments, from outside */
    size_t depth;
};

struct mirrors {
    const struct mirror *items;
    size_t count;
};

/** Read those of a schema, into an arena.
 * @param ret  set in any case: none, if something is wrong
 * @return NULL, or what is wrong with one: such a tool must not be used. [any-thread] */
const char *mirrors_read(yyjson_val *schema, struct arena *arena, struct mirrors *ret);
/** Append their header lines, each with "\r\n"; what is not there or null has none. [any-thread] */
void mirrors_write(const struct mirrors *mirrors, yyjson_val *arguments, struct buf *out);
/** Append a value as it may stand in a header, or in base64 where it may not. [any-thread] */
void mirror_add_value(struct buf *out, const char *value, size_t length);
