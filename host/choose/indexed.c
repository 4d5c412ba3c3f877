#include "choose/indexed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "choose/profiles.h"

#define FIRST_ROOM 64u

/* A tool that the index has. */
struct entry {
    uint64_t uid;
    char *name;                 /* owned */
    struct toolrack_tool *tool; /* of one that the index does not have yet; else NULL */
};

struct entries {
    struct entry *items; /* by uid */
    size_t count;
    size_t room;
};

/* Invariants, while nobody writes:
 *
 *  (1) `index` has the tools of `entries`, and no others.
 *  (2) `entries` is sorted by uid, and no entry of it has a tool.
 *  (3) `number` is that of the snapshot whose tools these are.
 *
 * Who searches holds `lock` for reading, who brings them up to date for writing: a search accepts
 * tools by `entries`, and the index has a lock of its own, which is taken after this one. */
struct indexed {
    uint32_t magic; /* INDEXED_MAGIC */
    struct registry *registry;
    struct profiles *profiles;
    struct index *index;
    pthread_rwlock_t lock; /* guards what follows */
    struct entries entries;
    uint64_t number;
};
#define INDEXED_MAGIC 0x65646e69u

static void entry_finish(struct entry *entry) {
    free(entry->name);
    toolrack_tool_unref(entry->tool);
}

static void entries_finish(struct entries *entries) {
    for (size_t i = 0; i < entries->count; i++) {
        entry_finish(&entries->items[i]);
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
    return indexed;
}

void indexed_destroy(struct indexed *indexed) {
    if (indexed != NULL) {
        OBJECT_WIPE(indexed, INDEXED_MAGIC);
        entries_finish(&indexed->entries);
        index_destroy(indexed->index);
        (void)pthread_rwlock_destroy(&indexed->lock);
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
        struct entry entry = {.uid = tool->reg->uid};
        if (tool_is_held(tool) || !snapshot_is_default(snapshot, tool)) {
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

/* What an author wrote about a tool that helps to find it. */
static int add_to_index(struct index *index, const struct toolrack_tool *tool,
                        struct toolrack_error *err) {
    return index_add(index, tool->reg->uid,
                     &(struct index_document){.name = toolrack_tool_name(tool),
                                              .title = toolrack_tool_title(tool),
                                              .description = toolrack_tool_description(tool),
                                              .purpose = toolrack_tool_purpose(tool),
                                              .tags = toolrack_tool_tags(tool),
                                              .category = toolrack_tool_category(tool),
                                              .scenarios = toolrack_tool_scenarios(tool),
                                              .schema_json = toolrack_tool_schema(tool)},
                     err);
}

/* Give an entry that was gathered what the one before has, or put its tool into the index. */
static int take_over(struct indexed *indexed, struct entry *entry, struct toolrack_error *err) {
    struct entry *before = entries_find(&indexed->entries, entry->uid);
    if (before != NULL) {
        entry->name = STEAL(before->name);
        return 0;
    }
    entry->name = strdup(toolrack_tool_name(entry->tool));
    int code =
            entry->name != NULL ? add_to_index(indexed->index, entry->tool, err) : error_oom(err);
    toolrack_tool_unref(STEAL(entry->tool));
    return code;
}

/* A failure leaves an index without any tool: the next search begins with it. */
static void begin_again(struct indexed *indexed, struct entries *found) {
    for (size_t i = 0; i < indexed->entries.count; i++) {
        (void)index_remove(indexed->index, indexed->entries.items[i].uid);
    }
    for (size_t i = 0; i < found->count; i++) {
        (void)index_remove(indexed->index, found->items[i].uid);
    }
    entries_finish(&indexed->entries);
    indexed->number = 0;
}

static int bring_up_to_date(struct indexed *indexed, struct toolrack_error *err) {
    struct gathering gathering = {.old = &indexed->entries};
    CLEANUP(entries_finish) struct entries found = {0};
    registry_look(indexed->registry, gather, &gathering);
    found = gathering.found;
    if (gathering.no_memory) {
        return error_oom(err);
    }
    if (found.count > 1) {
        qsort(found.items, found.count, sizeof found.items[0], compare_uids);
    }
    for (size_t i = 0; i < indexed->entries.count; i++) {
        uint64_t uid = indexed->entries.items[i].uid;
        if (entries_find(&found, uid) == NULL) {
            (void)index_remove(indexed->index, uid);
            profiles_forget(indexed->profiles, uid);
        }
    }
    int code = 0;
    for (size_t i = 0; code == 0 && i < found.count; i++) {
        code = take_over(indexed, &found.items[i], err);
    }
    if (code < 0) {
        begin_again(indexed, &found);
        return code;
    }
    entries_finish(&indexed->entries);
    indexed->entries = found;
    indexed->number = gathering.number;
    found = (struct entries){0};
    return 0;
}

/* Take the lock for reading, when the index is that of the present snapshot. */
static int lock_up_to_date(struct indexed *indexed, struct toolrack_error *err) {
    uint64_t number = 0;
    registry_look(indexed->registry, look_at_number, &number);
    (void)pthread_rwlock_rdlock(&indexed->lock);
    if (indexed->number >= number) {
        return 0;
    }
    (void)pthread_rwlock_unlock(&indexed->lock);
    (void)pthread_rwlock_wrlock(&indexed->lock);
    int code = indexed->number < number ? bring_up_to_date(indexed, err) : 0;
    (void)pthread_rwlock_unlock(&indexed->lock);
    if (code == 0) {
        /* Somebody may change it in between: it is no older than asked for all the same. */
        (void)pthread_rwlock_rdlock(&indexed->lock);
    }
    return code;
}

/* ------------------------------------------------------------------------ searching */

/* Caller holds the lock. */
static struct toolrack_tool *tool_of(const struct indexed *indexed, uint64_t uid) {
    const struct entry *entry = entries_find(&indexed->entries, uid);
    struct toolrack_tool *tool =
            entry != NULL ? registry_get(indexed->registry, entry->name) : NULL;
    if (tool != NULL && tool->reg->uid != uid) {
        toolrack_tool_unref(tool);
        return NULL;
    }
    return tool;
}

struct accepting {
    const struct indexed *indexed;
    const struct indexed_query *query;
};

static bool accept(void *user, uint64_t id) {
    const struct accepting *accepting = user;
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = tool_of(accepting->indexed, id);
    return tool != NULL && accepting->query->accepts(accepting->query->user, tool);
}

int indexed_find(struct indexed *indexed, const struct indexed_query *query, struct match_hit *ret,
                 size_t room, size_t *ret_count, struct toolrack_error *err) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    struct accepting accepting = {.indexed = indexed, .query = query};
    int code = lock_up_to_date(indexed, err);
    if (code < 0) {
        return code;
    }
    code = match_find(indexed->index,
                      &(struct match_query){.text = query->text,
                                            .length = query->length,
                                            .accept = query->accepts != NULL ? accept : NULL,
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
    int code = lock_up_to_date(indexed, err);
    if (code < 0) {
        return code;
    }
    const struct entries *entries = &indexed->entries;
    if (indexed->number != *number) {
        *ret_ids = calloc(entries->count + 1, sizeof **ret_ids);
        code = *ret_ids != NULL ? 0 : error_oom(err);
    }
    for (size_t i = 0; *ret_ids != NULL && i < entries->count; i++) {
        (*ret_ids)[i] = entries->items[i].uid;
        *ret_count = i + 1;
    }
    *number = code == 0 ? indexed->number : *number;
    (void)pthread_rwlock_unlock(&indexed->lock);
    return code;
}

struct toolrack_tool *indexed_tool(struct indexed *indexed, uint64_t id) {
    OBJECT_CHECK(indexed, INDEXED_MAGIC);
    (void)pthread_rwlock_rdlock(&indexed->lock);
    struct toolrack_tool *tool = tool_of(indexed, id);
    (void)pthread_rwlock_unlock(&indexed->lock);
    return tool;
}
