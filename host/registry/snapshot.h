/* snapshot.h - one immutable state of the registry.
 *
 * A snapshot is two trees of two levels: a root, which is an array, and leaves. One has the names,
 * by the first bits of their hashes; the other the tools in registry order. The next snapshot has
 * roots of its own and shares all leaves except those that the change is about (snapshot-step.h):
 * so a change of one tool among 65,000 copies some 30 KB of pointers instead of making everything
 * again, 40 us instead of 15 ms.
 *
 * Everything that readers use is made before the snapshot is published and never changes
 * afterwards, except the texts about its tools, which are made at the first request. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/name.h"
#include "registry/text.h"
#include "registry/tool.h"

/* All versions of one name. */
struct name_group {
    uint32_t hash;
    uint32_t length;                    /* of the name */
    const char *name;                   /* borrowed from a registration of the group */
    struct toolrack_tool *call;         /* what a call by the name alone runs; NULL: all are kept */
    struct toolrack_tool *const *tools; /* versions downwards */
    uint32_t count;
    uint64_t letters; /* name_letters() of it */
};

/* What both kinds of leaves begin with. */
struct snapshot_leaf {
    struct snapshot_leaf *next; /* for the writer alone, see snapshot-step.h */
    uint64_t number;            /* of the first snapshot that had it */
};

/* The names whose hashes begin with the same bits. */
struct name_leaf {
    struct snapshot_leaf leaf;
    uint32_t count;
    uint32_t mask;
    uint32_t *index; /* open addressing by the last bits of the hash, at most half full: one more
                        than an index into groups, 0: empty */
    struct name_group groups[];
};

/* Tools that follow each other in registry order. */
struct order_leaf {
    struct snapshot_leaf leaf;
    uint32_t count; /* at least 1 */
    struct toolrack_tool *tools[];
};

/* Texts about the tools of a snapshot, in each format. */
enum snapshot_text {
    SNAPSHOT_DEFINITIONS,
    SNAPSHOT_NAMES, /* how the definitions call tools and their properties */
    SNAPSHOT_TEXT_COUNT
};

struct snapshot {
    uint64_t number; /* of those that the registry published, from 1; an empty registry has 0 */
    size_t count;    /* of the tools */
    size_t name_count;
    unsigned name_bits;       /* so many bits of a hash tell its leaf */
    struct name_leaf **names; /* 2 to the power of name_bits */
    struct order_leaf **order;
    size_t order_count;
    _Atomic(struct toolrack_text *) texts[SNAPSHOT_TEXT_COUNT][TOOLRACK_FORMAT_COUNT];
};

/** A snapshot without tools. NULL when out of memory. [writer] */
struct snapshot *snapshot_create(void);
/** Release it, its leaves and a reference to each of its tools; NULL is ignored. No reader may hold
 * it, and no other snapshot may share its leaves. [writer] */
void snapshot_destroy(struct snapshot *snapshot);

/** Free it without its leaves and its references to tools, for snapshot-step.h. [writer] */
void snapshot_free_root(struct snapshot *snapshot);

/** All versions of a name, or NULL. [any-thread, inside an RCU reader] */
const struct name_group *snapshot_find(const struct snapshot *snapshot, const char *name,
                                       size_t length);

/** The number of the leaf of a name. */
static inline size_t snapshot_leaf_of(uint32_t hash, unsigned name_bits) {
    return (size_t)((uint64_t)hash << name_bits >> 32);
}

/* A place in registry order; all zero: before the first tool. */
struct snapshot_place {
    size_t leaf;
    uint32_t at;
};

/** The tool at a place, which is moved behind it; NULL: there are no more:
 *
 *     for (struct snapshot_place at = {0}; (tool = snapshot_next(snapshot, &at)) != NULL;)
 *
 * [any-thread, inside an RCU reader] */
static inline struct toolrack_tool *snapshot_next(const struct snapshot *snapshot,
                                                  struct snapshot_place *place) {
    if (place->leaf == snapshot->order_count) {
        return NULL;
    }
    const struct order_leaf *leaf = snapshot->order[place->leaf];
    struct toolrack_tool *tool = leaf->tools[place->at];
    if (++place->at == leaf->count) {
        *place = (struct snapshot_place){.leaf = place->leaf + 1};
    }
    return tool;
}

/** Check the invariants, in a debug build. */
void snapshot_check(const struct snapshot *snapshot);

/** Of all tools of a name, the one that a call by its name alone runs; NULL: all are kept versions,
 * which do not answer to the name alone. */
struct toolrack_tool *snapshot_choose(struct toolrack_tool *const *tools, uint32_t count);

/** Order by name, then version downwards. 0: the same name and version. */
int tool_compare_names(const struct toolrack_tool *a, const struct toolrack_tool *b);
/** Registry order: by priority downwards, then as above. */
int tool_compare_order(const struct toolrack_tool *a, const struct toolrack_tool *b);

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
