#include "choose/indexed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/object.h"
#include "choose/profiles.h"

#define FIRST_ROOM 64u

/* A tool that the index has. */
struct entry {
    uint64_t uid;
    uint32_t hash;              /* of its name */
    char *name;                 /* owned by the entry in use */
    struct toolrack_tool *tool; /* of one that the index does not have yet; else NULL */
    bool enabled;
    bool added; /* the entries before do not have it */
};

struct entries {
    struct entry *items; /* by uid */
    size_t count;
    size_t room;
    size_t disabled; /* how many of them are */
};

/* Invariants, while nobody brings it up to date:
 *
 *  (1) `index` has the tools of `entries`, and no others.
 *  (2) `entries` is sorted by uid, and no entry of it has a tool.
 *  (3) `number` is that of the snapshot whose tools these are.
 *
 * Who brings it up to date holds `updating`. Meanwhile the index may have tools more, which are in
 * no entry and so are not found, and `entries` is changed at once: `lock` is held for writing for
 * that alone. The index has a lock of its own, which is taken after it. */
struct indexed {
    uint32_t magic; /* INDEXED_MAGIC */
    struct registry *registry;
    struct profiles *profiles;
    struct index *index;
    atomic_bool wanted; /* somebody has searched */
    atomic_bool ready;  /* the index was made, and the last change of it did not fail */
    struct lock updating;
    pthread_rwlock_t lock; /* guards what follows; who holds `updating` may read it without */
    struct entries entries;
    uint64_t number;
};
#define INDEXED_MAGIC 0x65646e69u

static void entries_finish(struct entries *entries) {
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->items[i].name);
    }
    free(entries->items);
    *entries = (struct entries){0};
}

static int compare_uids(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    return a->uid < b->uid ? -1 : a->uid > b->uid;
}

static struct entry *entries_find(const struct entries *entries, uint64_t uid) {
    const struct entry wanted = {.uid = uid};
    return entries->count == 0 ? NULL
                               : bsearch(&wanted, entries->items, entries->count,
                                         sizeof entries->items[0], compare_uids);
}

struct indexed *indexed_create(struct registry *registry, struct profiles *profiles) {
    struct indexed *indexed = calloc(1, sizeof *indexed);
    struct index *index = index_create();
    if (indexed == NULL || index == NULL || pthread_rwlock_init(&indexed->lock, NULL) != 0) {
        index_destroy(index);
        free(indexed);
        return NULL;
    }
    indexed->magic = INDEXED_MAGIC;
    indexed->registry = registry;
    indexed->profiles = profiles;
    indexed->index = index;
    lock_init(&indexed->updating);
    return indexed;
}

void indexed_destroy(struct indexed *indexed) {
    if (indexed != NULL) {
        OBJECT_WIPE(indexed, INDEXED_MAGIC);
        entries_finish(&indexed->entries);
        index_destroy(indexed->index);
        (void)pthread_rwlock_destroy(&indexed->lock);
        lock_finish(&indexed->updating);
        free(indexed);
    }
}

/* --------------------------------------------------------------- bringing up to date */

/* The tools of a snapshot that belong into the index, as far as their names are in leaves that an
 * earlier snapshot did not have. */
struct gathering {
    const struct entries *old;
    uint64_t old_number;
    struct entries found;
    struct entries gone; /* old ones, of tools that the snapshot does not have */
    bool *changed;       /* by leaf: whether its names were looked at */
    unsigned name_bits;  /* of the snapshot */
    uint64_t number;
    bool no_memory;
};

static bool entries_reserve(struct entries *entries, size_t more) {
    size_t room = entries->room;
    while (room < entries->count + more) {
        room = room == 0 ? FIRST_ROOM : 2 * room;
    }
    struct entry *grown =
            room > entries->room ? realloc(entries->items, room * sizeof *grown) : entries->items;
    if (grown == NULL) {
        return more == 0;
    }
    entries->items = grown;
    entries->room = room;
    return true;
}

static bool entries_add(struct entries *entries, const struct entry *entry) {
    if (!entries_reserve(entries, 1)) {
        return false;
    }
    entries->items[entries->count++] = *entry;
    entries->disabled += !entry->enabled;
    return true;
}

/* Remove entries; both are sorted. */
static void entries_remove(struct entries *entries, const struct entries *gone) {
    size_t kept = 0;
    size_t at = 0;
    for (size_t i = 0; gone->count > 0 && i < entries->count; i++) {
        if (at < gone->count && entries->items[i].uid == gone->items[at].uid) {
            at++;
        } else {
            entries->items[kept++] = entries->items[i];
        }
    }
    entries->count -= gone->count;
    entries->disabled -= gone->disabled;
}

/* Insert entries, which are sorted too and for which there is room, from the last one on: tools
 * that were registered later than all others are at the end, and nothing is moved. */
static void entries_insert(struct entries *entries, const struct entries *more) {
    size_t from = entries->count;
    size_t at = more->count;
    for (size_t to = from + at; at > 0; to--) {
        bool is_old = from > 0 && entries->items[from - 1].uid > more->items[at - 1].uid;
        entries->items[to - 1] = is_old ? entries->items[--from] : more->items[--at];
    }
    entries->count += more->count;
    entries->disabled += more->disabled;
}

static void gather_leaf(struct gathering *gathering, const struct name_leaf *leaf) {
    for (uint32_t i = 0; i < leaf->count && !gathering->no_memory; i++) {
        struct toolrack_tool *tool = leaf->groups[i].call;
        if (tool == NULL || tool_is_held(tool)) {
            continue;
        }
        struct entry entry = {
                .uid = tool->reg->uid, .hash = leaf->groups[i].hash, .enabled = tool->enabled};
        if (entries_find(gathering->old, entry.uid) == NULL) {
            entry.tool = toolrack_tool_ref(tool);
        }
        if (!entries_add(&gathering->found, &entry)) {
            toolrack_tool_unref(entry.tool);
            gathering->no_memory = true;
        }
    }
}

/* Only references are taken here: a writer of the registry waits for who looks at a snapshot. The
 * leaves that were there before are left out: a change of one tool among 65,000 took 20 ms when all
 * tools were looked at. */
static void gather(void *user, const struct snapshot *snapshot) {
    struct gathering *gathering = user;
    size_t count = (size_t)1 << snapshot->name_bits;
    gathering->number = snapshot->number;
    gathering->name_bits = snapshot->name_bits;
    gathering->changed = calloc(count, sizeof *gathering->changed);
    gathering->no_memory = gathering->changed == NULL;
    for (size_t i = 0; i < count && !gathering->no_memory; i++) {
        const struct name_leaf *leaf = snapshot->names[i];
        if (leaf->leaf.number > gathering->old_number) {
            gathering->changed[i] = true;
            gather_leaf(gathering, leaf);
        }
    }
}

/* Whether the gathering says what becomes of an entry. */
static bool is_looked_at(const struct gathering *gathering, const struct entry *entry) {
    return gathering->changed[snapshot_leaf_of(entry->hash, gathering->name_bits)];
}

struct index_document indexed_document(const struct toolrack_tool *tool) {
    return (struct index_document){.name = toolrack_tool_name(tool),
                                   .title = toolrack_tool_title(tool),
                                   .description = toolrack_tool_description(tool),
                                   .purpose = toolrack_tool_purpose(tool),
                                   .tags = toolrack_tool_tags(tool),
                                   .category = toolrack_tool_category(tool),
                                   .scenarios = toolrack_tool_scenarios(tool),
                                   .schema_json = toolrack_tool_schema(tool)};
}

static int add_to_index(struct index *index, const struct toolrack_tool *tool,
                        struct toolrack_error *err) {
    const struct index_document document = indexed_document(tool);
    return index_add(index, tool->reg->uid, &document, err);
}

/* Put the tool of an entry into the index, unless that has it. */
static int take_over(struct indexed *indexed, struct entry *entry, struct toolrack_error *err) {
    if (entry->tool == NULL) {
        return 0;
    }
    entry->name = strdup(toolrack_tool_name(entry->tool));
    int code =
            entry->name != NULL ? add_to_index(indexed->index, entry->tool, err) : error_oom(err);
    entry->added = true;
    toolrack_tool_unref(STEAL(entry->tool));
    return code;
}

/* The index is as it was before. */
static void give_up(struct indexed *indexed, struct entries *found) {
    for (size_t i = 0; i < found->count; i++) {
        struct entry *entry = &found->items[i];
        if (entry->added) {
            (void)index_remove(indexed->index, entry->uid);
            free(entry->name);
        }
        toolrack_tool_unref(entry->tool);
    }
}

static bool find_gone(const struct entries *entries, struct gathering *gathering) {
    bool complete = true;
    for (size_t i = 0; complete && i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        if (is_looked_at(gathering, entry) && entries_find(&gathering->found, entry->uid) == NULL) {
            complete = entries_add(&gathering->gone, entry);
        }
    }
    return complete;
}

/* Change the entries to what was gathered, at once. Of what was found only what is new is left.
 * False: there is no memory, and nothing has changed. */
static bool exchange(struct indexed *indexed, struct gathering *gathering) {
    struct entries *entries = &indexed->entries;
    struct entries *found = &gathering->found;
    struct entries more = {.items = found->items};
    (void)pthread_rwlock_wrlock(&indexed->lock);
    bool ready = entries_reserve(entries, found->count);
    if (ready) {
        entries_remove(entries, &gathering->gone);
        for (size_t i = 0; i < found->count; i++) {
            struct entry *entry = entries_find(entries, found->items[i].uid);
            if (entry == NULL) {
                more.disabled += !found->items[i].enabled;
                more.items[more.count++] = found->items[i];
                more.items[more.count - 1].added = false;
            } else {
                entries->disabled -= !entry->enabled;
                entry->enabled = found->items[i].enabled;
                entries->disabled += !entry->enabled;
            }
        }
        entries_insert(entries, &more);
        indexed->number = gathering->number;
    }
    (void)pthread_rwlock_unlock(&indexed->lock);
    return ready;
}

/* Forget in the index what is in no entry any more. */
static void forget(struct indexed *indexed, const struct entries *gone) {
    for (size_t i = 0; i < gone->count; i++) {
        (void)index_remove(indexed->index, gone->items[i].uid);
        profiles_forget(indexed->profiles, gone->items[i].uid);
        free(gone->items[i].name);
    }
}

/* Caller holds `updating`. */
static int bring_up_to_date(struct indexed *indexed, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&indexed->updating);
    struct gathering gathering = {.old = &indexed->entries, .old_number = indexed->number};
    registry_look(indexed->registry, gather, &gathering);
    struct entries *found = &gathering.found;
    if (found->count > 1) {
        qsort(found->items, found->count, sizeof found->items[0], compare_uids);
    }
    int code =
            gathering.no_memory || !find_gone(&indexed->entries, &gathering) ? error_oom(err) : 0;
    for (size_t i = 0; code == 0 && i < found->count; i++) {
        code = take_over(indexed, &found->items[i], err);
    }
    if (code == 0 && !exchange(indexed, &gathering)) {
        code = error_oom(err);
    }
    if (code < 0) {
        give_up(indexed, found);
    } else {
        forget(indexed, &gathering.gone);
    }
    free(gathering.changed);
    free(gathering.gone.items);
    free(found->items);
    atomic_store(&indexed->ready, code == 0);
    return code;
}

void indexed_follow(struct indexed *indexed) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    if (!atomic_load(&indexed->wanted)) {
        return;
    }
    lock_take(&indexed->updating);
    if (indexed->number < registry_number(indexed->registry)) {
        (void)bring_up_to_date(indexed, NULL);
    }
    lock_release(&indexed->updating);
}

/* Who changes the registry from now on waits for that. */
int indexed_prepare(struct indexed *indexed, struct toolrack_error *err) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    int code = 0;
    atomic_store(&indexed->wanted, true);
    lock_take(&indexed->updating);
    if (!atomic_load(&indexed->ready)) {
        code = bring_up_to_date(indexed, err);
    }
    lock_release(&indexed->updating);
    return code;
}

/* Take the lock for reading, when there is an index. */
static int lock_ready(struct indexed *indexed, struct toolrack_error *err) {
    int code = atomic_load(&indexed->ready) ? 0 : indexed_prepare(indexed, err);
    if (code == 0) {
        (void)pthread_rwlock_rdlock(&indexed->lock);
    }
    return code;
}

/* ------------------------------------------------------------------------ searching */

/* The tool of an entry, if its name still calls that. */
static struct toolrack_tool *tool_of(const struct indexed *indexed, const struct entry *entry) {
    struct toolrack_tool *tool =
            entry != NULL ? registry_get(indexed->registry, entry->name) : NULL;
    if (tool != NULL && tool->reg->uid != entry->uid) {
        toolrack_tool_unref(tool);
        return NULL;
    }
    return tool;
}

static bool is_named(const char *const *names, const char *name) {
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

struct accepting {
    const struct indexed *indexed;
    const struct indexed_query *query;
};

static bool accept(void *user, uint64_t id) {
    const struct accepting *accepting = user;
    const struct indexed_query *query = accepting->query;
    const struct entry *entry = entries_find(&accepting->indexed->entries, id);
    if (entry == NULL || entry->enabled == query->disabled ||
        (query->names != NULL && !is_named(query->names, entry->name))) {
        return false;
    }
    if (query->accepts == NULL) {
        return true;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = tool_of(accepting->indexed, entry);
    return tool != NULL && query->accepts(query->user, tool);
}

int indexed_find(struct indexed *indexed, const struct indexed_query *query, struct match_hit *ret,
                 size_t room, size_t *ret_count, struct toolrack_error *err) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    struct accepting accepting = {.indexed = indexed, .query = query};
    int code = lock_ready(indexed, err);
    if (code < 0) {
        return code;
    }
    size_t disabled = indexed->entries.disabled;
    bool all = query->accepts == NULL && query->names == NULL && !query->disabled && disabled == 0;
    *ret_count = 0;
    if (query->disabled && disabled == 0) {
        (void)pthread_rwlock_unlock(&indexed->lock);
        return 0;
    }
    code = match_find(indexed->index,
                      &(struct match_query){.text = query->text,
                                            .length = query->length,
                                            .values = query->values,
                                            .accept = all ? NULL : accept,
                                            .user = &accepting,
                                            .boosts = query->boosts,
                                            .boost_count = query->boost_count},
                      ret, room, ret_count, err);
    (void)pthread_rwlock_unlock(&indexed->lock);
    return code;
}

int indexed_list(struct indexed *indexed, uint64_t *number, uint64_t **ret_ids, size_t *ret_count,
                 struct toolrack_error *err) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    *ret_ids = NULL;
    *ret_count = 0;
    int code = lock_ready(indexed, err);
    if (code < 0) {
        return code;
    }
    const struct entries *entries = &indexed->entries;
    if (indexed->number != *number) {
        *ret_ids = calloc(entries->count + 1, sizeof **ret_ids);
        code = *ret_ids != NULL ? 0 : error_oom(err);
    }
    for (size_t i = 0; *ret_ids != NULL && i < entries->count; i++) {
        (*ret_ids)[*ret_count] = entries->items[i].uid;
        *ret_count += entries->items[i].enabled;
    }
    *number = code == 0 ? indexed->number : *number;
    (void)pthread_rwlock_unlock(&indexed->lock);
    return code;
}

struct toolrack_tool *indexed_tool(struct indexed *indexed, uint64_t id) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    (void)pthread_rwlock_rdlock(&indexed->lock);
    struct toolrack_tool *tool = tool_of(indexed, entries_find(&indexed->entries, id));
    (void)pthread_rwlock_unlock(&indexed->lock);
    return tool;
}
