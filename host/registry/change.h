/* change.h - a change of the registry under construction. It is about names: all tools that they
 * have now, all that they will have, each a reference, and the notices about them; the tools of
 * other names stay as they are and cost nothing. Its memory is allocated first, so that no later
 * step can fail. The registry's lock guards it. */
#pragma once

#include "base/name.h"
#include "registry/snapshot-step.h"

/* A change of one tool, reported after the lock is released. */
struct notice {
    enum toolrack_event_kind kind;
    struct toolrack_tool *tool; /* a reference */
};

struct change {
    const struct snapshot *old; /* the present snapshot; not valid after its publication */
    uint64_t uid_old; /* the last uid before the change: registrations with a greater uid are new */
    const struct name_group **groups; /* of `old`, of the names that it is about */
    size_t group_count;
    struct toolrack_tool **before; /* what these names have now, sorted; the old snapshot has the
                                      references */
    size_t before_count;
    struct toolrack_tool **tools;
    size_t count;
    struct notice *notices;
    size_t notice_count;
    struct snapshot_step step;
    struct snapshot *replaced; /* the snapshot that the change replaced; it was published then */
};

/** Begin a change of at most `names` names, each of which is told to change_concern().
 * change_finish() must be called in any case. False: out of memory, also below. */
bool change_begin(struct change *change, const struct snapshot *old, uint64_t uid_old,
                  size_t names);
/** The change is about a name, and may be told so again. */
void change_concern(struct change *change, const char *name, size_t length);
/** All names were told: find their tools, and make room for these and `more` tools, and for two
 * notices about each. */
bool change_open(struct change *change, size_t more);
void change_finish(struct change *change);

/** Add a tool; the change takes its own reference. There is room for it. */
void change_add(struct change *change, struct toolrack_tool *tool);
/** Add a view that was made for the change, whose reference it takes over. False for NULL. */
bool change_take(struct change *change, struct toolrack_tool *view);
/** Add all tools that the names have now. */
void change_add_all(struct change *change);
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

/** Whether the change is about a name. The change is sorted. */
bool change_is_about(const struct change *change, const char *name);

/** A name like `name` that no tool has after a sorted change: weather_v2, weather_alt, weather_v3
 * ...; "another name" if all of these are taken. */
void change_free_name(const struct change *change, const char *name, char ret[NAME_LENGTH_MAX + 1]);
