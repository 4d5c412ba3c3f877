/* change.h - a change of the registry under construction: the tools of the next snapshot, each a
 * reference, and what to tell about it. Sized before it is filled, so that nothing can fail in the
 * middle. The registry's lock guards it. */
#pragma once

#include "registry/snapshot.h"

/* A change of one tool, told after the lock is released. */
struct notice {
    enum toolrack_event_kind kind;
    struct toolrack_tool *tool; /* a reference */
};

struct change {
    uint64_t uid_old; /* the last from before: registrations with a greater one are new */
    struct toolrack_tool **tools;
    size_t count;
    struct notice *notices;
    size_t notice_count;
    struct snapshot *replaced; /* by what was published */
};

/** Begin a change of `tools_max` tools and as many notices at most. False: out of memory; then, as
 * always, change_finish() releases it. */
bool change_begin(struct change *change, size_t tools_max, uint64_t uid_old);
void change_finish(struct change *change);

/** Add a tool, with a reference of the change's own. */
void change_add(struct change *change, struct toolrack_tool *tool);
void change_note(struct change *change, enum toolrack_event_kind kind, struct toolrack_tool *tool);

/** Sort the tools from `first` on by name, version downwards and arrival: what else is here needs
 * them so, and each name and version once. */
void change_sort(struct change *change, size_t first);

/** The first of tools that are sorted by name to have a name; `count` where there is none. */
size_t change_find_name(struct toolrack_tool *const *tools, size_t count, const char *name,
                        size_t length);

/** The tool of the same name and version among sorted tools, or NULL. */
struct toolrack_tool *change_find_same(struct toolrack_tool *const *tools, size_t count,
                                       const struct toolrack_tool *wanted);

/** The tools as a snapshot, to which they go in any case; NULL when out of memory. */
struct snapshot *change_take_snapshot(struct change *change);
