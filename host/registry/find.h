/* find.h - what a selector finds in a snapshot, and the error when it finds nothing. */
#pragma once

#include "registry/snapshot.h"

/** Find "name", "name@version" or "name@range", as for toolrack_get(). NULL: there is none.
 * [any-thread, inside an RCU reader, as below] */
struct toolrack_tool *find_tool(const struct snapshot *snapshot, const char *selector);

/** The name nearest to `name`, borrowed from the snapshot; NULL: none is near. With `called` only
 * names by which a call may run a tool: a caller is not led to what it may not use. */
const char *find_nearest(const struct snapshot *snapshot, const char *name, bool called);

/** Set the error for a selector that finds nothing: NotFound, with the nearest name or the existing
 * versions. The error names the tool. `called` as above. Returns its code. */
int find_nothing(const struct snapshot *snapshot, const char *selector, bool called,
                 struct toolrack_error *err);
