/* change.h - a change of the registry under construction: the tools of the next snapshot, each a
 * reference, and the notices about them. Its memory is allocated first, so that no later step can
 * fail. The registry's lock guards it. */
#pragma once

#include "base/name.h"
#include "registry/snapshot.h"

/* A change of one tool, reported after the lock is released. */
struct notice {
    enum toolrack_event_kind kind;
    struct toolrack_tool *tool; /* a reference */
};

struct change {
    uint64_t uid_old; /* the last uid before the change: registrations with a greater uid are new */
    struct toolrack_tool **tools;
    size_t count;
    struct notice *notices;
    size_t notice_count;
    struct snapshot *replaced; /* the snapshot that publish() replaced */
};

/** Begin a change of `tools_max` tools and as many notices at most. False: out of memory;
 * change_finish() must be called then too. */
bool change_begin(struct change *change, size_t tools_max, uint64_t uid_old);
void change_finish(struct change *change);

/** Add a tool; the change takes its own reference. */
void change_add(struct change *change, struct toolrack_tool *tool);
void change_note(struct change *change, enum toolrack_event_kind kind, struct toolrack_tool *tool);

/** Sort the tools from `first` on by name, then version downwards, then order of arrival. The
 * functions below require this order, and each name and version once. */
void change_sort(struct change *change, size_t first);

/** The index of the first tool with a name, among tools sorted by name; `count` when there is none.
 */
size_t change_find_name(struct toolrack_tool *const *tools, size_t count, const char *name,
                        size_t length);

/** The tool of the same name and version among sorted tools, or NULL. */
struct toolrack_tool *change_find_same(struct toolrack_tool *const *tools, size_t count,
                                       const struct toolrack_tool *wanted);

/** A name like `name` that no tool of a sorted change has: weather_v2, weather_alt, weather_v3 ...;
 * "another name" if all of these are taken. */
void change_free_name(const struct change *change, const char *name, char ret[NAME_LENGTH_MAX + 1]);

/** Make a snapshot of the tools; their references are taken over also on failure. NULL when out of
 * memory. */
struct snapshot *change_take_snapshot(struct change *change);
