/* snapshot.h - one immutable state of the registry.
 *
 * Everything that readers use is made before the snapshot is published and never changes
 * afterwards, except the texts about its tools, which are made at the first request. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "registry/text.h"
#include "registry/tool.h"

/* All versions of one name. */
struct name_slot {
    uint32_t hash;
    uint32_t length;            /* of the name; 0: the slot is empty */
    const char *name;           /* borrowed from a registration of the group */
    struct toolrack_tool *call; /* what a call by the name alone runs; NULL: all are kept */
    uint32_t first;             /* into by_name */
    uint32_t count;
};

/* Texts about the tools of a snapshot, in each format. */
enum snapshot_text {
    SNAPSHOT_DEFINITIONS,
    SNAPSHOT_NAMES, /* how the definitions call tools and their properties */
    SNAPSHOT_TEXT_COUNT
};

struct snapshot {
    uint64_t number; /* of those that the registry published, from 1; an empty registry has 0 */
    size_t count;
    struct toolrack_tool **tools;   /* registry order; a reference to each */
    struct toolrack_tool **by_name; /* by name, versions downwards; borrowed from `tools` */
    struct name_slot *slots;        /* open addressing, at most half full */
    uint32_t mask;
    _Atomic(struct toolrack_text *) texts[SNAPSHOT_TEXT_COUNT][TOOLRACK_FORMAT_COUNT];
};

/** Make a snapshot of `count` tools, which are sorted by tool_compare_names(); no two have the same
 * name and version. Takes over the references to the tools, also on failure.
 * @return NULL when out of memory. [writer] */
struct snapshot *snapshot_create(struct toolrack_tool **tools, size_t count);
/** Release it and its references; NULL is ignored. No reader may hold it. [writer] */
void snapshot_destroy(struct snapshot *snapshot);

/** All versions of a name, or NULL. [any-thread, inside an RCU reader] */
const struct name_slot *snapshot_find(const struct snapshot *snapshot, const char *name,
                                      size_t length);

/** Check the invariants, in a debug build. */
void snapshot_check(const struct snapshot *snapshot);

/** Of all tools of a name, the one that a call by its name alone runs; NULL: all are kept versions,
 * which do not answer to the name alone. */
struct toolrack_tool *snapshot_choose(struct toolrack_tool *const *tools, uint32_t count);

/** Order by name, then version downwards. 0: the same name and version. */
int tool_compare_names(const struct toolrack_tool *a, const struct toolrack_tool *b);

/** Whether a call by its name alone runs this tool, and it is enabled: one tool of each name is
 * shown to those who call by name. [any-thread, inside an RCU reader] */
bool snapshot_is_default(const struct snapshot *snapshot, const struct toolrack_tool *tool);
/** The same, also of a name whose tools are all disabled. */
bool snapshot_is_first(const struct snapshot *snapshot, const struct toolrack_tool *tool);

/* Makes the texts of a snapshot in one format, a reference to each.
 * @return whether there was memory; without it there are no references. */
typedef bool snapshot_define(const struct snapshot *snapshot, enum toolrack_format format,
                             struct toolrack_text *ret[SNAPSHOT_TEXT_COUNT]);

/** One of the texts in one format; all are made at the first call.
 * @return a reference, or NULL when out of memory. [any-thread, inside an RCU reader] */
struct toolrack_text *snapshot_text(struct snapshot *snapshot, enum toolrack_format format,
                                    enum snapshot_text which, snapshot_define *define);
