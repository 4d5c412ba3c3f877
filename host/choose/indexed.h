/* indexed.h - the registry's tools in the index that texts are matched with.
 *
 * The index is beside the registry. The first search makes it; from then on whoever changes the
 * registry brings it up to date, well under a millisecond for each tool that is new, so that nobody
 * who searches or calls a tool waits for that: a search meanwhile finds what was there before, as
 * far as it still is. It has each tool that its name alone calls, if that is as it was approved;
 * those that are disabled are found only by who asks for them. It holds no reference to a tool, so
 * nothing stays loaded for its sake. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/match.h"
#include "registry/registry.h"

struct indexed;
struct profiles;

/** What a tool says of itself, as the index and the evaluation read it: borrowed from the tool.
 * [any-thread] */
struct index_document indexed_document(const struct toolrack_tool *tool);

/** NULL when out of memory.
 * @param registry  borrowed until indexed_destroy(), as is `profiles`
 * @param profiles  are told which tools are gone. [any-thread] */
struct indexed *indexed_create(struct registry *registry, struct profiles *profiles);
/** NULL is ignored. [any-thread] */
void indexed_destroy(struct indexed *indexed);

/** The registry has changed. Nothing happens before the first search. If memory is short, the next
 * search tries again. [any-thread] */
void indexed_follow(struct indexed *indexed);

/** Make the index, if that was not done.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int indexed_prepare(struct indexed *indexed, struct toolrack_error *err);

struct indexed_query {
    const char *text; /**< borrowed; any bytes */
    size_t length;
    const struct values *values; /**< of the text; NULL: not known */
    const char *const *names;    /**< only tools with these names, NULL-terminated; NULL: all */
    /** Whether a tool may be found; NULL: each may. It must neither search nor change tools. */
    bool (*accepts)(void *user, const struct toolrack_tool *tool);
    void *user;
    bool disabled;                    /**< find those that are disabled, and no others */
    const struct match_boost *boosts; /**< by toolrack_tool_uid() */
    size_t boost_count;
};

/** Find the tools that fit a text, as match_find() does.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int indexed_find(struct indexed *indexed, const struct indexed_query *query, struct match_hit *ret,
                 size_t room, size_t *ret_count, struct toolrack_error *err);

/** List the ids of the enabled tools that the index has, in ascending order, if it has
 * changed.
 * @param number   of the snapshot that the caller has listed, 0: none; receives the present one
 * @param ret_ids  receives the ids, to be freed; NULL: it has not changed
 * @return as above. [any-thread] */
int indexed_list(struct indexed *indexed, uint64_t *number, uint64_t **ret_ids, size_t *ret_count,
                 struct toolrack_error *err);

/** The tool of a hit: a reference. NULL: it is registered no more, or its name calls another one
 * meanwhile. [any-thread] */
struct toolrack_tool *indexed_tool(struct indexed *indexed, uint64_t id);
