/* indexed.h - the registry's tools in the index that texts are matched with.
 *
 * The index is beside the registry: who changes the registry does not know it, and who calls a tool
 * does not wait for it. Who searches brings it up to date first, which takes the longer the more
 * tools are new to it: well under a millisecond for each. It has each tool that its name alone
 * calls, if that is enabled and as it was approved. It holds no reference to a tool, so nothing
 * stays loaded for its sake. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/match.h"
#include "registry/registry.h"

struct indexed;
struct profiles;

/** NULL when out of memory.
 * @param registry  borrowed until indexed_destroy(), as is `profiles`
 * @param profiles  are told which tools are gone. [any-thread] */
struct indexed *indexed_create(struct registry *registry, struct profiles *profiles);
/** NULL is ignored. [any-thread] */
void indexed_destroy(struct indexed *indexed);

struct indexed_query {
    const char *text; /**< borrowed; any bytes */
    size_t length;
    /** Whether a tool may be found; NULL: each may. It must neither search nor change tools. */
    bool (*accepts)(void *user, const struct toolrack_tool *tool);
    void *user;
    const struct match_boost *boosts; /**< by toolrack_tool_uid() */
    size_t boost_count;
};

/** Bring the index up to date, and find the tools that fit a text, as match_find() does.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int indexed_find(struct indexed *indexed, const struct indexed_query *query, struct match_hit *ret,
                 size_t room, size_t *ret_count, struct toolrack_error *err);

/** Bring the index up to date, and list the ids of its tools, in ascending order, if it has
 * changed.
 * @param number   of the snapshot that the caller has listed, 0: none; receives the present one
 * @param ret_ids  receives the ids, to be freed; NULL: it has not changed
 * @return as above. [any-thread] */
int indexed_list(struct indexed *indexed, uint64_t *number, uint64_t **ret_ids, size_t *ret_count,
                 struct toolrack_error *err);

/** The tool of a hit: a reference. NULL: it is registered no more, or its name calls another one
 * meanwhile. [any-thread] */
struct toolrack_tool *indexed_tool(struct indexed *indexed, uint64_t id);
