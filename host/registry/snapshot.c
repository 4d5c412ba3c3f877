#include "registry/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "base/semver.h"

/* Invariants:
 *
 *  (1) tools[] is in registry order: priority downwards, then name, then version downwards.
 *  (2) by_name[] holds the same tools by name, then version downwards, so that the versions of one
 *      name stand together; each slot points at such a run.
 *  (3) slot.call is the first enabled tool of its run, or the first of all when none is enabled.
 *  (4) The snapshot owns one reference on each of its tools. */

static int compare_text(const char *a, const char *b) {
    return strcmp(a, b);
}

int tool_compare_names(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    const struct descriptor_tool *x = a->reg->spec;
    const struct descriptor_tool *y = b->reg->spec;
    int order = compare_text(x->tool->name, y->tool->name);
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

static bool same_name(const struct registration *a, const struct registration *b) {
    return a->name_hash == b->name_hash && a->name_length == b->name_length &&
           memcmp(a->spec->tool->name, b->spec->tool->name, a->name_length) == 0;
}

/* The slots for `count` names: a power of two, at least twice as many. */
static uint32_t slot_count_for(size_t count) {
    uint32_t slots = 8;
    while (slots < 2 * count) {
        slots *= 2;
    }
    return slots;
}

static void add_slot(struct snapshot *snapshot, uint32_t first, uint32_t count) {
    struct toolrack_tool *call = snapshot->by_name[first];
    for (uint32_t i = 0; i < count; i++) {
        if (snapshot->by_name[first + i]->enabled) {
            call = snapshot->by_name[first + i];
            break;
        }
    }
    const struct registration *reg = call->reg;
    uint32_t at = reg->name_hash & snapshot->mask;
    while (snapshot->slots[at].length != 0) {
        at = (at + 1) & snapshot->mask;
    }
    snapshot->slots[at] = (struct name_slot){.hash = reg->name_hash,
                                             .length = reg->name_length,
                                             .name = reg->spec->tool->name,
                                             .call = call,
                                             .first = first,
                                             .count = count};
}

static void index_names(struct snapshot *snapshot) {
    size_t first = 0;
    for (size_t i = 1; i <= snapshot->count; i++) {
        if (i == snapshot->count ||
            !same_name(snapshot->by_name[i]->reg, snapshot->by_name[first]->reg)) {
            add_slot(snapshot, (uint32_t)first, (uint32_t)(i - first));
            first = i;
        }
    }
}

struct snapshot *snapshot_create(struct toolrack_tool **tools, size_t count) {
    uint32_t slot_count = slot_count_for(count);
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
        qsort(snapshot->tools, count, sizeof *tools, compare_registry_order);
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
    for (size_t i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        toolrack_text_unref(atomic_load(&snapshot->definitions[i]));
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
        if (slot->length == 0) { /* first: no name is empty, but one that is asked for may be */
            return NULL;
        }
        if (slot->hash == hash && slot->length == length && memcmp(slot->name, name, length) == 0) {
            return slot;
        }
    }
}

/* ------------------------------------------------------------ definitions */

bool snapshot_is_default(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    const struct name_slot *slot = snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    return tool->enabled && slot != NULL && slot->call == tool;
}

struct toolrack_text *snapshot_definitions(struct snapshot *snapshot, enum toolrack_format format,
                                           snapshot_define *define) {
    struct toolrack_text *known = atomic_load(&snapshot->definitions[format]);
    if (known != NULL) {
        return text_ref(known);
    }
    struct toolrack_text *made = define(snapshot, format);
    if (made == NULL) {
        return NULL;
    }
    /* Two may make it at once; the first one's stays. */
    if (atomic_compare_exchange_strong(&snapshot->definitions[format], &known, made)) {
        return text_ref(made);
    }
    toolrack_text_unref(made);
    return text_ref(known);
}
