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
 * no entry and so are not found, and `entries` is exchanged for another list at once: `lock` is
 * held for writing for that alone. The index has a lock of its own, which is taken after it. */
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

/* The tools of a snapshot that belong into the index. */
struct gathering {
    const struct entries *old;
    struct entries found;
    uint64_t number;
    bool no_memory;
};

static bool entries_add(struct entries *entries, const struct entry *entry) {
    if (entries->count == entries->room) {
        size_t room = entries->room == 0 ? FIRST_ROOM : 2 * entries->room;
        struct entry *grown = realloc(entries->items, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        entries->items = grown;
        entries->room = room;
    }
    entries->items[entries->count++] = *entry;
    entries->disabled += !entry->enabled;
    return true;
}

static void look_at_number(void *user, const struct snapshot *snapshot) {
    *(uint64_t *)user = snapshot->number;
}

/* Only references are taken here: a writer of the registry waits for who looks at a snapshot. */
static void gather(void *user, const struct snapshot *snapshot) {
    struct gathering *gathering = user;
    gathering->number = snapshot->number;
    for (size_t i = 0; i < snapshot->count && !gathering->no_memory; i++) {
        struct toolrack_tool *tool = snapshot->tools[i];
        struct entry entry = {.uid = tool->reg->uid, .enabled = tool->enabled};
        if (tool_is_held(tool) || !snapshot_is_first(snapshot, tool)) {
            continue;
        }
        if (entries_find(gathering->old, entry.uid) == NULL) {
            entry.tool = toolrack_tool_ref(tool);
        }
        if (!entries_add(&gathering->found, &entry)) {
            toolrack_tool_unref(entry.tool);
            gathering->no_memory = true;
        }
    }
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

/* Give an entry that was gathered what the one before has, or put its tool into the index. */
static int take_over(struct indexed *indexed, struct entry *entry, struct toolrack_error *err) {
    const struct entry *before = entries_find(&indexed->entries, entry->uid);
    if (before != NULL) {
        entry->name = before->name;
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
    free(found->items);
}

/* The entries that were found are those in use from now on. */
static void exchange(struct indexed *indexed, const struct gathering *gathering) {
    struct entries old = indexed->entries;
    (void)pthread_rwlock_wrlock(&indexed->lock);
    indexed->entries = gathering->found;
    indexed->number = gathering->number;
    (void)pthread_rwlock_unlock(&indexed->lock);
    for (size_t i = 0; i < old.count; i++) {
        const struct entry *entry = &old.items[i];
        if (entries_find(&indexed->entries, entry->uid) == NULL) {
            (void)index_remove(indexed->index, entry->uid);
            profiles_forget(indexed->profiles, entry->uid);
            free(entry->name);
        }
    }
    free(old.items);
}

/* Caller holds `updating`. */
static int bring_up_to_date(struct indexed *indexed, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&indexed->updating);
    struct gathering gathering = {.old = &indexed->entries};
    registry_look(indexed->registry, gather, &gathering);
    struct entries *found = &gathering.found;
    if (found->count > 1) {
        qsort(found->items, found->count, sizeof found->items[0], compare_uids);
    }
    int code = gathering.no_memory ? error_oom(err) : 0;
    for (size_t i = 0; code == 0 && i < found->count; i++) {
        code = take_over(indexed, &found->items[i], err);
    }
    if (code < 0) {
        give_up(indexed, found);
    } else {
        exchange(indexed, &gathering);
    }
    atomic_store(&indexed->ready, code == 0);
    return code;
}

void indexed_follow(struct indexed *indexed) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    uint64_t number = 0;
    if (!atomic_load(&indexed->wanted)) {
        return;
    }
    lock_take(&indexed->updating);
    registry_look(indexed->registry, look_at_number, &number);
    if (indexed->number < number) {
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
