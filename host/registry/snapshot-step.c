#include "registry/snapshot-step.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

/* A leaf of names has 16 to 64 of them on average, so that with 65,000 tools the root has 1,024
 * leaves: the copy of the root costs as much as the copy of a leaf. The bounds are apart so that a
 * registry that grows and shrinks by a tool does not distribute all names each time. */
#define NAMES_MOST  64u
#define NAMES_LEAST 16u

/* A leaf of tools has at least ORDER_LEAST, except the last one of all. */
#define ORDER_MOST  128u
#define ORDER_LEAST 32u

static void put_in(struct snapshot_leaf **list, struct snapshot_leaf *leaf) {
    leaf->next = *list;
    *list = leaf;
}

static void free_leaves(struct snapshot_leaf *list) {
    for (struct snapshot_leaf *leaf = list, *next; leaf != NULL; leaf = next) {
        next = leaf->next;
        free(leaf);
    }
}

/* ------------------------------------------------------------------- names */

/* What becomes of a name: no tools, and it is removed. */
struct name_edit {
    uint32_t hash;
    uint32_t length;
    const char *name;
    struct toolrack_tool *const *tools;
    uint32_t count;
};

struct name_edits {
    struct name_edit *items; /* sorted by hash, and so by leaf */
    size_t count;
};

static int compare_hashes(const void *a, const void *b) {
    const struct name_edit *x = a;
    const struct name_edit *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* From so many on it is faster than qsort(). */
#define DIGITS_FROM 64u

/* By one digit of the hash after the other, without comparisons: at the start of a host with 1,000
 * tools qsort() took 3 % of `toolrack list --json`. There is room for as many at `spare`. */
static void sort_by_digits(struct name_edit *items, size_t count, struct name_edit *spare) {
    enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
    for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) { /* an even number: back in items */
        size_t at[DIGITS] = {0};
        size_t before = 0;
        for (size_t i = 0; i < count; i++) {
            at[items[i].hash >> shift & (DIGITS - 1)]++;
        }
        for (size_t digit = 0; digit < DIGITS; digit++) {
            size_t same = at[digit];
            at[digit] = before;
            before += same;
        }
        for (size_t i = 0; i < count; i++) {
            spare[at[items[i].hash >> shift & (DIGITS - 1)]++] = items[i];
        }
        struct name_edit *sorted = spare;
        spare = items;
        items = sorted;
    }
}

static void sort_edits(struct name_edits *edits) {
    CLEANUP(freep)
    struct name_edit *spare =
            edits->count >= DIGITS_FROM ? calloc(edits->count, sizeof *spare) : NULL;
    if (spare != NULL) {
        sort_by_digits(edits->items, edits->count, spare);
    } else if (edits->count > 1) {
        qsort(edits->items, edits->count, sizeof edits->items[0], compare_hashes);
    }
}

/* How many of the tools have the name of the first. */
static uint32_t count_of_name(struct toolrack_tool *const *tools, size_t count) {
    const struct registration *reg = tools[0]->reg;
    uint32_t same = 1;
    while (same < count && tool_has_name(tools[same], reg->spec->tool->name, reg->name_length)) {
        same++;
    }
    return same;
}

static struct name_edit edit_of(struct toolrack_tool *const *tools, uint32_t count) {
    const struct registration *reg = tools[0]->reg;
    return (struct name_edit){.hash = reg->name_hash,
                              .length = reg->name_length,
                              .name = reg->spec->tool->name,
                              .tools = tools,
                              .count = count};
}

/* Write an edit for each name of the two sorted lists; there is room. Returns by how much the
 * number of names grows. */
static ptrdiff_t list_edits(struct toolrack_tool *const *before, size_t before_count,
                            struct toolrack_tool *const *after, size_t after_count,
                            struct name_edits *ret) {
    ptrdiff_t growth = 0;
    size_t gone = 0;
    size_t at = 0;
    while (gone < before_count || at < after_count) {
        int order = gone == before_count ? 1
                    : at == after_count  ? -1
                                         : strcmp(before[gone]->reg->spec->tool->name,
                                                  after[at]->reg->spec->tool->name);
        uint32_t had = order <= 0 ? count_of_name(&before[gone], before_count - gone) : 0;
        uint32_t has = order >= 0 ? count_of_name(&after[at], after_count - at) : 0;
        struct name_edit edit = edit_of(has > 0 ? &after[at] : &before[gone], has);
        ret->items[ret->count++] = edit;
        growth += (has > 0) - (had > 0);
        gone += had;
        at += has;
    }
    sort_edits(ret);
    return growth;
}

/* The edit of a name, or NULL. */
static const struct name_edit *find_edit(const struct name_edits *edits, uint32_t hash,
                                         const char *name, uint32_t length) {
    size_t low = 0;
    size_t high = edits->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (edits->items[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < edits->count && edits->items[low].hash == hash; low++) {
        const struct name_edit *edit = &edits->items[low];
        if (edit->length == length && memcmp(edit->name, name, length) == 0) {
            return edit;
        }
    }
    return NULL;
}

/* A leaf of so many names with so many tools in all, in one piece: groups, index, tools. */
static struct name_leaf *allocate_names(size_t names, size_t tools) {
    uint32_t slots = 1; /* one of them stays empty */
    while (slots < 2 * names) {
        slots *= 2;
    }
    struct name_leaf *leaf = calloc(1, sizeof *leaf + names * sizeof leaf->groups[0] +
                                               tools * sizeof leaf->groups[0].tools[0] +
                                               slots * sizeof leaf->index[0]);
    if (leaf != NULL) {
        struct toolrack_tool **room = (struct toolrack_tool **)(void *)&leaf->groups[names];
        leaf->index = (uint32_t *)(void *)(room + tools);
        leaf->mask = slots - 1;
    }
    return leaf;
}

/* Enter a group into a leaf with room for it. `room` is where its tools are copied to. */
static void enter(struct name_leaf *leaf, struct name_group group, struct toolrack_tool ***room) {
    uint32_t at = group.hash & leaf->mask;
    while (leaf->index[at] != 0) {
        at = (at + 1) & leaf->mask;
    }
    memcpy(*room, group.tools, group.count * sizeof group.tools[0]);
    group.tools = *room;
    *room += group.count;
    leaf->groups[leaf->count++] = group;
    leaf->index[at] = leaf->count;
}

/* Make a leaf of the names of an old one, if any, as the edits of this leaf leave them. */
static struct name_leaf *make_names(const struct name_leaf *old, const struct name_edits *edits) {
    size_t names = 0;
    size_t tools = 0;
    for (size_t i = 0; i < edits->count; i++) {
        names += edits->items[i].count > 0;
        tools += edits->items[i].count;
    }
    for (uint32_t i = 0; old != NULL && i < old->count; i++) {
        names++; /* some are edited: then there is room to spare */
        tools += old->groups[i].count;
    }
    struct name_leaf *leaf = allocate_names(names, tools);
    if (leaf == NULL) {
        return NULL;
    }
    struct toolrack_tool **room = (struct toolrack_tool **)(void *)&leaf->groups[names];
    for (uint32_t i = 0; old != NULL && i < old->count; i++) {
        const struct name_group *group = &old->groups[i];
        if (find_edit(edits, group->hash, group->name, group->length) == NULL) {
            enter(leaf, *group, &room);
        }
    }
    for (size_t i = 0; i < edits->count; i++) {
        const struct name_edit *edit = &edits->items[i];
        if (edit->count > 0) {
            enter(leaf,
                  (struct name_group){.hash = edit->hash,
                                      .length = edit->length,
                                      .name = edit->name,
                                      .call = snapshot_choose(edit->tools, edit->count),
                                      .tools = edit->tools,
                                      .count = edit->count,
                                      .letters = name_letters(edit->name)},
                  &room);
        }
    }
    return leaf;
}

/* The edits of the leaf that the first one belongs to. */
static struct name_edits of_one_leaf(const struct name_edits *edits, size_t first, unsigned bits) {
    struct name_edits ret = {.items = &edits->items[first], .count = 1};
    size_t leaf = snapshot_leaf_of(ret.items[0].hash, bits);
    while (first + ret.count < edits->count &&
           snapshot_leaf_of(ret.items[ret.count].hash, bits) == leaf) {
        ret.count++;
    }
    return ret;
}

/* The next root has the old leaves, except those with edits. */
static bool exchange_names(struct snapshot_step *step, const struct snapshot *old,
                           const struct name_edits *edits) {
    struct snapshot *next = step->next;
    memcpy(next->names, old->names, sizeof next->names[0] << next->name_bits);
    for (size_t first = 0; first < edits->count;) {
        const struct name_edits here = of_one_leaf(edits, first, next->name_bits);
        size_t at = snapshot_leaf_of(here.items[0].hash, next->name_bits);
        struct name_leaf *leaf = make_names(old->names[at], &here);
        if (leaf == NULL) {
            return false;
        }
        put_in(&step->made, &leaf->leaf);
        put_in(&step->replaced, &old->names[at]->leaf);
        next->names[at] = leaf;
        first += here.count;
    }
    return true;
}

/* All names are distributed again, to more or fewer leaves: each doubling costs as much as the
 * tools that led to it, so a tool costs the same whatever their number. */
static bool distribute_names(struct snapshot_step *step, const struct snapshot *old,
                             const struct name_edits *edits) {
    struct snapshot *next = step->next;
    CLEANUP(freep)
    struct name_edit *items = calloc(old->name_count + edits->count + 1, sizeof *items);
    struct name_edits all = {.items = items};
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < (size_t)1 << old->name_bits; i++) {
        put_in(&step->replaced, &old->names[i]->leaf);
        for (uint32_t k = 0; k < old->names[i]->count; k++) {
            const struct name_group *group = &old->names[i]->groups[k];
            if (find_edit(edits, group->hash, group->name, group->length) == NULL) {
                items[all.count++] = edit_of(group->tools, group->count);
            }
        }
    }
    memcpy(&items[all.count], edits->items, edits->count * sizeof *items);
    all.count += edits->count;
    sort(items, all.count, sizeof *items, compare_hashes); /* the edits are: at the start, all */
    for (size_t i = 0, first = 0; i < (size_t)1 << next->name_bits; i++) {
        struct name_edits here = {.items = &items[first]};
        if (first < all.count && snapshot_leaf_of(items[first].hash, next->name_bits) == i) {
            here = of_one_leaf(&all, first, next->name_bits);
        }
        next->names[i] = make_names(NULL, &here);
        if (next->names[i] == NULL) {
            return false;
        }
        put_in(&step->made, &next->names[i]->leaf);
        first += here.count;
    }
    return true;
}

static unsigned bits_for(size_t names, unsigned bits) {
    while (names > (size_t)NAMES_MOST << bits) {
        bits++;
    }
    while (bits > 0 && names < (size_t)NAMES_LEAST << bits) {
        bits--;
    }
    return bits;
}

static bool step_names(struct snapshot_step *step, const struct snapshot *old,
                       struct toolrack_tool *const *before, size_t before_count,
                       struct toolrack_tool *const *after, size_t after_count) {
    struct snapshot *next = step->next;
    struct name_edits edits = {0};
    CLEANUP(freep)
    struct name_edit *items = calloc(before_count + after_count + 1, sizeof *items);
    edits.items = items;
    if (items == NULL) {
        return false;
    }
    next->name_count = (size_t)((ptrdiff_t)old->name_count +
                                list_edits(before, before_count, after, after_count, &edits));
    next->name_bits = bits_for(next->name_count, old->name_bits);
    next->names = calloc((size_t)1 << next->name_bits, sizeof next->names[0]);
    return next->names != NULL &&
           (next->name_bits == old->name_bits ? exchange_names(step, old, &edits)
                                              : distribute_names(step, old, &edits));
}

/* ------------------------------------------------------------------- order */

/* The tools of one side of a step that are not reached yet, in registry order. */
struct tools_left {
    struct toolrack_tool **tools;
    size_t count;
};

static int compare_in_order(const void *a, const void *b) {
    return tool_compare_order(*(struct toolrack_tool *const *)a, *(struct toolrack_tool *const *)b);
}

static bool in_order(struct tools_left *ret, struct toolrack_tool *const *tools, size_t count) {
    ret->tools = calloc(count + 1, sizeof(struct toolrack_tool *));
    ret->count = count;
    if (ret->tools != NULL && count > 0) {
        memcpy(ret->tools, tools, count * sizeof(struct toolrack_tool *));
        sort(ret->tools, count, sizeof(struct toolrack_tool *), compare_in_order);
    }
    return ret->tools != NULL;
}

/* Whether the next of them comes before a tool; before NULL is everything. */
static bool is_before(const struct tools_left *left, const struct toolrack_tool *tool) {
    return left->count > 0 && (tool == NULL || tool_compare_order(left->tools[0], tool) < 0);
}

static struct toolrack_tool *take(struct tools_left *left) {
    left->count--;
    return *left->tools++;
}

/* What the leaves that are made again have, until it is cut into new ones. */
struct order_merge {
    struct snapshot_step *step;
    const struct snapshot *old;
    struct tools_left gone;
    struct tools_left added;
    struct toolrack_tool **tools;
    size_t count;
};

/* Cut what was merged into leaves of the same size. */
static bool cut(struct order_merge *merge) {
    size_t parts = (merge->count + ORDER_MOST - 1) / ORDER_MOST;
    size_t from = 0;
    for (size_t i = 0; i < parts; i++) {
        size_t to = merge->count * (i + 1) / parts;
        struct order_leaf *leaf = calloc(1, sizeof *leaf + (to - from) * sizeof leaf->tools[0]);
        if (leaf == NULL) {
            return false;
        }
        leaf->count = (uint32_t)(to - from);
        memcpy(leaf->tools, &merge->tools[from], (to - from) * sizeof leaf->tools[0]);
        put_in(&merge->step->made, &leaf->leaf);
        merge->step->next->order[merge->step->next->order_count++] = leaf;
        from = to;
    }
    merge->count = 0;
    return true;
}

/* The last leaf, from `first` on, whose first tool is not behind `tool`; else `first`. */
static size_t leaf_with(const struct snapshot *old, size_t first,
                        const struct toolrack_tool *tool) {
    size_t low = first;
    size_t high = old->order_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tool_compare_order(old->order[middle]->tools[0], tool) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > first ? low - 1 : first;
}

/* Merge one old leaf with what belongs before the first tool of the next leaf. */
static void merge_leaf(struct order_merge *merge, size_t at) {
    const struct snapshot *old = merge->old;
    const struct toolrack_tool *end =
            at + 1 < old->order_count ? old->order[at + 1]->tools[0] : NULL;
    struct order_leaf *leaf = at < old->order_count ? old->order[at] : NULL;
    for (uint32_t i = 0; leaf != NULL && i < leaf->count; i++) {
        struct toolrack_tool *tool = leaf->tools[i];
        while (is_before(&merge->added, tool)) {
            merge->tools[merge->count++] = take(&merge->added);
        }
        if (merge->gone.count > 0 && merge->gone.tools[0] == tool) {
            (void)take(&merge->gone);
        } else {
            merge->tools[merge->count++] = tool;
        }
    }
    while (is_before(&merge->added, end)) {
        merge->tools[merge->count++] = take(&merge->added);
    }
    if (leaf != NULL) {
        put_in(&merge->step->replaced, &leaf->leaf);
    }
}

static void share(struct order_merge *merge, size_t from, size_t to) {
    struct snapshot *next = merge->step->next;
    if (to > from) {
        memcpy(&next->order[next->order_count], &merge->old->order[from],
               (to - from) * sizeof next->order[0]);
        next->order_count += to - from;
    }
}

/* The next root has the old leaves up to the first edit, then what is made of the leaves with edits
 * that follow each other, and so on. */
static bool merge_all(struct order_merge *merge) {
    const struct snapshot *old = merge->old;
    size_t at = 0;
    while (merge->gone.count > 0 || merge->added.count > 0) {
        const struct toolrack_tool *first =
                merge->gone.count > 0 && !is_before(&merge->added, merge->gone.tools[0])
                        ? merge->gone.tools[0]
                        : merge->added.tools[0];
        size_t from = at;
        at = leaf_with(old, at, first);
        share(merge, from, at);
        bool goes_on = true;
        while (goes_on) {
            merge_leaf(merge, at);
            at += at < old->order_count;
            const struct toolrack_tool *end =
                    at + 1 < old->order_count ? old->order[at + 1]->tools[0] : NULL;
            goes_on = at < old->order_count &&
                      (merge->count < ORDER_LEAST || is_before(&merge->gone, end) ||
                       is_before(&merge->added, end));
        }
        if (!cut(merge)) {
            return false;
        }
    }
    share(merge, at, old->order_count);
    return true;
}

static bool step_order(struct snapshot_step *step, const struct snapshot *old,
                       struct toolrack_tool *const *before, size_t before_count,
                       struct toolrack_tool *const *after, size_t after_count) {
    struct order_merge merge = {.step = step, .old = old};
    size_t edits = before_count + after_count;
    /* An edit is in one leaf, and one more follows it if that one gets small. */
    size_t most = 2 * edits * ORDER_MOST < old->count ? 2 * edits * ORDER_MOST : old->count;
    CLEANUP(freep) struct toolrack_tool **gone = NULL;
    CLEANUP(freep) struct toolrack_tool **added = NULL;
    CLEANUP(freep)
    struct toolrack_tool **room = calloc(most + after_count + 1, sizeof(struct toolrack_tool *));
    bool ready = in_order(&merge.gone, before, before_count);
    gone = merge.gone.tools;
    ready = in_order(&merge.added, after, after_count) && ready && room != NULL;
    added = merge.added.tools;
    merge.tools = room;
    step->next->count = old->count - before_count + after_count;
    step->next->order = calloc(old->order_count + edits + 1, sizeof step->next->order[0]);
    return ready && step->next->order != NULL && merge_all(&merge);
}

/* -------------------------------------------------------------------- step */

bool snapshot_step_make(struct snapshot_step *step, const struct snapshot *old,
                        struct toolrack_tool *const *before, size_t before_count,
                        struct toolrack_tool *const *after, size_t after_count) {
    *step = (struct snapshot_step){.next = calloc(1, sizeof *step->next)};
    if (step->next == NULL || !step_names(step, old, before, before_count, after, after_count) ||
        !step_order(step, old, before, before_count, after, after_count)) {
        snapshot_step_drop(step);
        return false;
    }
    return true;
}

void snapshot_step_number(struct snapshot_step *step, uint64_t number) {
    step->next->number = number;
    for (struct snapshot_leaf *leaf = step->made; leaf != NULL; leaf = leaf->next) {
        leaf->number = number;
    }
}

void snapshot_step_drop(struct snapshot_step *step) {
    if (step->next != NULL) {
        free_leaves(step->made);
        snapshot_free_root(step->next);
    }
    *step = (struct snapshot_step){0};
}

void snapshot_step_finish(struct snapshot_step *step, struct snapshot *old) {
    free_leaves(step->replaced);
    snapshot_free_root(old);
    *step = (struct snapshot_step){0};
}
