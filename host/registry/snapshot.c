#include "registry/snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/semver.h"

/* Invariants:
 *
 *  (1) The tools of order[] are in registry order: priority downwards, then name, then version
 *      downwards. No leaf is empty.
 *  (2) The leaves of names[] have the same tools, each name in the leaf that snapshot_leaf_of()
 *      says; the tools of a group are sorted by version downwards.
 *  (3) group.call is chosen among the enabled tools of its group that are not kept, or among all of
 *      these if none is enabled: the set default, else the first release, else the first
 *      pre-release. It is NULL if all are kept.
 *  (4) The present snapshot owns one reference to each of its tools. */

int tool_compare_names(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    const struct descriptor_tool *x = a->reg->spec;
    const struct descriptor_tool *y = b->reg->spec;
    int order = strcmp(x->tool->name, y->tool->name);
    return order != 0 ? order : semver_compare(y->version, x->version);
}

int tool_compare_order(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    return tool_compare_names(a, b);
}

/* The rank of a tool for calls by its name alone; the highest is chosen. */
static unsigned rank_of(const struct toolrack_tool *tool) {
    return (tool->enabled ? 4u : 0u) + (tool->is_set_default ? 2u : 0u) +
           (semver_is_prerelease(tool->reg->spec->version) ? 0u : 1u);
}

struct toolrack_tool *snapshot_choose(struct toolrack_tool *const *tools, uint32_t count) {
    struct toolrack_tool *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!tools[i]->kept && (best == NULL || rank_of(tools[i]) > rank_of(best))) {
            best = tools[i];
        }
    }
    return best;
}

struct snapshot *snapshot_create(void) {
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct name_leaf **names = calloc(1, sizeof *names);
    struct name_leaf *leaf = calloc(1, sizeof *leaf + sizeof leaf->index[0]);
    if (snapshot == NULL || names == NULL || leaf == NULL) {
        free(snapshot);
        free(names);
        free(leaf);
        return NULL;
    }
    leaf->index = (uint32_t *)(void *)(leaf + 1);
    names[0] = leaf;
    snapshot->names = names;
    return snapshot;
}

void snapshot_destroy(struct snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    for (size_t i = 0; i < snapshot->order_count; i++) {
        for (uint32_t k = 0; k < snapshot->order[i]->count; k++) {
            toolrack_tool_unref(snapshot->order[i]->tools[k]);
        }
        free(snapshot->order[i]);
    }
    for (size_t i = 0; i < (size_t)1 << snapshot->name_bits; i++) {
        free(snapshot->names[i]);
    }
    snapshot_free_root(snapshot);
}

void snapshot_free_root(struct snapshot *snapshot) {
    for (size_t which = 0; which < SNAPSHOT_TEXT_COUNT; which++) {
        for (size_t i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
            toolrack_text_unref(atomic_load(&snapshot->texts[which][i]));
        }
    }
    free(snapshot->names);
    free(snapshot->order);
    free(snapshot);
}

const struct name_group *snapshot_find(const struct snapshot *snapshot, const char *name,
                                       size_t length) {
    uint32_t hash = name_hash(name, length);
    const struct name_leaf *leaf = snapshot->names[snapshot_leaf_of(hash, snapshot->name_bits)];
    for (uint32_t at = hash & leaf->mask; leaf->index[at] != 0; at = (at + 1) & leaf->mask) {
        const struct name_group *group = &leaf->groups[leaf->index[at] - 1];
        if (group->hash == hash && group->length == length &&
            memcmp(group->name, name, length) == 0) {
            return group;
        }
    }
    return NULL;
}

#ifndef NDEBUG
static bool has_tool(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    const struct name_group *group =
            snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    bool found = false;
    for (uint32_t i = 0; group != NULL && i < group->count; i++) {
        found = found || group->tools[i] == tool;
    }
    return found;
}

static size_t check_group(const struct snapshot *snapshot, const struct name_group *group) {
    assert(snapshot_find(snapshot, group->name, group->length) == group);
    assert(group->count > 0 && (group->call == NULL || !group->call->kept));
    for (uint32_t i = 0; i < group->count; i++) {
        const struct toolrack_tool *tool = group->tools[i];
        assert(tool_has_name(tool, group->name, group->length));
        assert(i == 0 || tool_compare_names(group->tools[i - 1], tool) < 0);
        assert(tool->kept || (group->call != NULL && rank_of(tool) <= rank_of(group->call)));
    }
    return group->count;
}
#endif

void snapshot_check(const struct snapshot *snapshot) {
#ifndef NDEBUG
    const struct toolrack_tool *before = NULL;
    const struct toolrack_tool *tool;
    size_t in_order = 0;
    size_t in_names = 0;
    size_t names = 0;
    for (struct snapshot_place at = {0}; (tool = snapshot_next(snapshot, &at)) != NULL;) {
        assert(before == NULL || tool_compare_order(before, tool) < 0);
        assert(has_tool(snapshot, tool));
        before = tool;
        in_order++;
    }
    for (size_t i = 0; i < (size_t)1 << snapshot->name_bits; i++) {
        const struct name_leaf *leaf = snapshot->names[i];
        for (uint32_t k = 0; k < leaf->count; k++) {
            assert(snapshot_leaf_of(leaf->groups[k].hash, snapshot->name_bits) == i);
            in_names += check_group(snapshot, &leaf->groups[k]);
        }
        names += leaf->count;
    }
    assert(in_order == snapshot->count && in_names == snapshot->count);
    assert(names == snapshot->name_count);
#else
    (void)snapshot;
#endif
}

/* ------------------------------------------------------------------- texts */

bool snapshot_is_default(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    const struct name_group *group =
            snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    return tool->enabled && group != NULL && group->call == tool;
}

bool snapshot_is_first(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    const struct name_group *group =
            snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    return group != NULL && group->call == tool;
}

struct toolrack_text *snapshot_text(struct snapshot *snapshot, enum toolrack_format format,
                                    enum snapshot_text which, snapshot_define *define) {
    struct toolrack_text *known = atomic_load(&snapshot->texts[which][format]);
    struct toolrack_text *made[SNAPSHOT_TEXT_COUNT] = {0};
    if (known != NULL) {
        return text_ref(known);
    }
    if (!define(snapshot, format, made)) {
        return NULL;
    }
    /* Two threads may make them at once, and they come out the same; the first ones are kept. */
    for (size_t i = 0; i < SNAPSHOT_TEXT_COUNT; i++) {
        struct toolrack_text *none = NULL;
        if (!atomic_compare_exchange_strong(&snapshot->texts[i][format], &none, made[i])) {
            toolrack_text_unref(made[i]);
        }
    }
    return text_ref(atomic_load(&snapshot->texts[which][format]));
}
