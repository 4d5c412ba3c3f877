/* find.h - what a selector finds in a snapshot, and the error when it finds nothing. */
#pragma once

#include "registry/snapshot.h"

/** Find "name", "name@version" or "name@range", as for toolrack_get(). NULL: there is none.
 * [any-thread, inside an RCU reader, as below] */
struct toolrack_tool *find_tool(const struct snapshot *snapshot, const char *selector);

/** The name nearest to `name`, borrowed from the snapshot; NULL: none is near. */
const char *find_nearest(const struct snapshot *snapshot, const char *name);

/** Set the error for a selector that finds nothing: NotFound, with the nearest name or the existing
 * versions. The error names the tool. Returns its code. */
int find_nothing(const struct snapshot *snapshot, const char *selector, struct toolrack_error *err);
