#include "registry/snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "base/semver.h"
#include "base/sort.h"

/* Invariants:
 *
 *  (1) tools[] is in registry order: priority downwards, then name, then version downwards.
 *  (2) by_name[] holds the same tools by name, then version downwards, so that the versions of one
 *      name are adjacent; each slot points to such a group.
 *  (3) slot.call is chosen among the enabled tools of its group that are not kept, or among all of
 *      these if none is enabled: the set default, else the first release, else the first
 *      pre-release. It is NULL if all are kept.
 *  (4) The snapshot owns one reference to each of its tools. */

int tool_compare_names(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    const struct descriptor_tool *x = a->reg->spec;
    const struct descriptor_tool *y = b->reg->spec;
    int order = strcmp(x->tool->name, y->tool->name);
    return order != 0 ? order : semver_compare(y->version, x->version);
}

static int compare_registry_order(const void *a, const void *b) {
    const struct toolrack_tool *x = *(struct toolrack_tool *const *)a;
    const struct toolrack_tool *y = *(struct toolrack_tool *const *)b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return tool_compare_names(x, y);
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

static void index_names(struct snapshot *snapshot) {
    for (size_t first = 0, next; first < snapshot->count; first = next) {
        const struct registration *reg = snapshot->by_name[first]->reg;
        const char *name = reg->spec->tool->name;
        next = first + 1;
        while (next < snapshot->count &&
               tool_has_name(snapshot->by_name[next], name, reg->name_length)) {
            next++;
        }
        uint32_t count = (uint32_t)(next - first);
        uint32_t at = reg->name_hash & snapshot->mask;
        while (snapshot->slots[at].length != 0) {
            at = (at + 1) & snapshot->mask;
        }
        snapshot->slots[at] =
                (struct name_slot){.hash = reg->name_hash,
                                   .length = reg->name_length,
                                   .name = name,
                                   .call = snapshot_choose(&snapshot->by_name[first], count),
                                   .first = (uint32_t)first,
                                   .count = count};
    }
}

struct snapshot *snapshot_create(struct toolrack_tool **tools, size_t count) {
    uint32_t slot_count = 8; /* a power of two, at least twice the number of names */
    while (slot_count < 2 * count) {
        slot_count *= 2;
    }
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct toolrack_tool **lists = calloc(2 * count + 1, sizeof(struct toolrack_tool *));
    struct name_slot *slots = calloc(slot_count, sizeof(struct name_slot));
    if (snapshot == NULL || lists == NULL || slots == NULL) {
        free(snapshot);
        free(lists);
        free(slots);
        for (size_t i = 0; i < count; i++) {
            toolrack_tool_unref(tools[i]);
        }
        return NULL;
    }
    snapshot->count = count;
    snapshot->tools = lists;
    snapshot->by_name = lists + count;
    snapshot->slots = slots;
    snapshot->mask = slot_count - 1;
    if (count > 0) {
        memcpy(snapshot->tools, tools, count * sizeof *tools);
        memcpy(snapshot->by_name, tools, count * sizeof *tools);
        sort(snapshot->tools, count, sizeof *tools, compare_registry_order);
    }
    index_names(snapshot);
    return snapshot;
}

void snapshot_destroy(struct snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        toolrack_tool_unref(snapshot->tools[i]);
    }
    for (size_t which = 0; which < SNAPSHOT_TEXT_COUNT; which++) {
        for (size_t i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
            toolrack_text_unref(atomic_load(&snapshot->texts[which][i]));
        }
    }
    free(snapshot->tools);
    free(snapshot->slots);
    free(snapshot);
}

const struct name_slot *snapshot_find(const struct snapshot *snapshot, const char *name,
                                      size_t length) {
    uint32_t hash = name_hash(name, length);
    for (uint32_t at = hash & snapshot->mask;; at = (at + 1) & snapshot->mask) {
        const struct name_slot *slot = &snapshot->slots[at];
        if (slot->length == 0) { /* checked first: a requested name may be empty */
            return NULL;
        }
        if (slot->hash == hash && slot->length == length && memcmp(slot->name, name, length) == 0) {
            return slot;
        }
    }
}

void snapshot_check(const struct snapshot *snapshot) {
#ifndef NDEBUG
    size_t in_slots = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct toolrack_tool *tool = snapshot->by_name[i];
        const struct registration *reg = tool->reg;
        const struct name_slot *slot =
                snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
        assert(i == 0 || tool_compare_names(snapshot->by_name[i - 1], tool) < 0);
        assert(i == 0 || compare_registry_order(&snapshot->tools[i - 1], &snapshot->tools[i]) < 0);
        assert(slot != NULL && slot->first <= i && i < slot->first + slot->count);
        assert(tool->kept || (slot->call != NULL && rank_of(tool) <= rank_of(slot->call)));
        assert(slot->call == NULL || !slot->call->kept);
        in_slots += slot->first == i ? slot->count : 0;
    }
    assert(in_slots == snapshot->count);
#else
    (void)snapshot;
#endif
}

/* ------------------------------------------------------------------- texts */

bool snapshot_is_default(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    const struct name_slot *slot = snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    return tool->enabled && slot != NULL && slot->call == tool;
}

bool snapshot_is_first(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    const struct name_slot *slot = snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    return slot != NULL && slot->call == tool;
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
