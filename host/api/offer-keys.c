#include "api/offer-keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "format/template.h"
#include "store/identities.h"

/* One list of a plugin. */
struct key_list {
    bool known;
    uint64_t changes;  /* of the plugin, when it was asked */
    uint64_t again_ns; /* when a list that failed is asked for again; 0: it did not */
    char *text;        /* the keys, each with its NUL */
    const char **keys; /* in it, sorted */
    size_t count;
};

/* What is known of a plugin, by the number of its first registration: of a content of its file. */
struct entry {
    uint64_t number;
    char *plugin_id;
    int64_t order; /* of its origin; INT64_MAX: not recorded yet */
    struct key_list lists[OFFERED_KIND_COUNT];
};

struct offer_keys {
    struct lock lock; /* guards what follows */
    uint64_t changes; /* counts the reports of all plugins */
    struct entry *entries[OFFER_KEYS_PLUGINS_MAX];
    uint64_t changed[OFFER_KEYS_PLUGINS_MAX]; /* the report of each that was the last */
    size_t count;
};

struct offer_keys *offer_keys_create(void) {
    struct offer_keys *keys = calloc(1, sizeof *keys);
    if (keys != NULL) {
        lock_init(&keys->lock);
    }
    return keys;
}

static void empty(struct key_list *list) {
    free(list->text);
    free(list->keys);
    list->text = NULL;
    list->keys = NULL;
    list->count = 0;
}

static void remove_entry(struct offer_keys *keys, size_t at) {
    struct entry *entry = keys->entries[at];
    for (size_t i = 0; i < OFFERED_KIND_COUNT; i++) {
        empty(&entry->lists[i]);
    }
    free(entry->plugin_id);
    free(entry);
    keys->count--;
    memmove(&keys->entries[at], &keys->entries[at + 1],
            (keys->count - at) * sizeof keys->entries[0]);
    memmove(&keys->changed[at], &keys->changed[at + 1],
            (keys->count - at) * sizeof keys->changed[0]);
}

void offer_keys_destroy(struct offer_keys *keys) {
    if (keys != NULL) {
        while (keys->count > 0) {
            remove_entry(keys, keys->count - 1);
        }
        lock_finish(&keys->lock);
        free(keys);
    }
}

/* -------------------------------------------- entries; the caller holds the lock */

static size_t find(const struct offer_keys *keys, uint64_t number) {
    size_t at = 0;
    while (at < keys->count && keys->entries[at]->number != number) {
        at++;
    }
    return at;
}

/* An earlier content of the plugin is forgotten. */
static void forget_earlier(struct offer_keys *keys, const char *plugin_id, uint64_t number) {
    for (size_t i = keys->count; i-- > 0;) {
        if (keys->entries[i]->number < number &&
            strcmp(keys->entries[i]->plugin_id, plugin_id) == 0) {
            remove_entry(keys, i);
        }
    }
    if (keys->count == OFFER_KEYS_PLUGINS_MAX) {
        remove_entry(keys, 0);
    }
}

/* @return its place; `count` when out of memory */
static size_t find_or_make(struct offer_keys *keys, const struct offer_plugins *plugins,
                           size_t which) {
    const char *plugin_id = plugins->items[which]->desc->plugin->id;
    uint64_t number = plugins->numbers[which];
    size_t at = find(keys, number);
    if (at < keys->count) {
        return at;
    }
    forget_earlier(keys, plugin_id, number);
    struct entry *entry = calloc(1, sizeof *entry);
    char *copy = strdup(plugin_id);
    if (entry == NULL || copy == NULL) {
        free(entry);
        free(copy);
        return keys->count;
    }
    entry->number = number;
    entry->plugin_id = copy;
    entry->order = INT64_MAX;
    keys->entries[keys->count] = entry;
    keys->changed[keys->count] = 0;
    return keys->count++;
}

/* ----------------------------------------------------------------------- order */

struct search {
    const char *origin;
    int64_t order;
};

static void take_identity(void *user, const struct store_identity *identity) {
    struct search *search = user;
    if (strcmp(identity->origin, search->origin) == 0) {
        search->order = identity->order;
    }
}

/* If the store cannot be read, trust and arrival decide. */
static int64_t order_of(struct offer_keys *keys, struct store *store,
                        const struct offer_plugins *plugins, size_t which) {
    struct toolrack_error unheard;
    lock_take(&keys->lock);
    size_t at = find(keys, plugins->numbers[which]);
    int64_t order = at < keys->count ? keys->entries[at]->order : INT64_MAX;
    lock_release(&keys->lock);
    const struct plugin *plugin = plugins->items[which];
    if (order != INT64_MAX || plugin->path == NULL) {
        return order;
    }
    struct search search = {.origin = plugin->origin, .order = INT64_MAX};
    (void)store_identities_read(store, plugin->desc->plugin->id, take_identity, &search, &unheard);
    LOCK_SCOPE(&keys->lock);
    at = find_or_make(keys, plugins, which);
    if (at < keys->count) {
        keys->entries[at]->order = search.order;
    }
    return search.order;
}

/* They come sorted by trust, then by arrival. */
void offer_keys_sort(struct offer_keys *keys, struct store *store, struct offer_plugins *plugins) {
    if (plugins->count < 2) {
        return;
    }
    CLEANUP(freep) int64_t *orders = calloc(plugins->count, sizeof *orders);
    for (size_t i = 0; orders != NULL && i < plugins->count; i++) {
        struct plugin *plugin = plugins->items[i];
        uint64_t number = plugins->numbers[i];
        int64_t order = order_of(keys, store, plugins, i);
        size_t at = i;
        for (; at > 0 && plugins->items[at - 1]->trust == plugin->trust && orders[at - 1] > order;
             at--) {
            plugins->items[at] = plugins->items[at - 1];
            plugins->numbers[at] = plugins->numbers[at - 1];
            orders[at] = orders[at - 1];
        }
        plugins->items[at] = plugin;
        plugins->numbers[at] = number;
        orders[at] = order;
    }
}

/* ----------------------------------------------------------------------- lists */

void offer_keys_changed(struct offer_keys *keys, const char *plugin_id) {
    LOCK_SCOPE(&keys->lock);
    keys->changes++;
    for (size_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->entries[i]->plugin_id, plugin_id) == 0) {
            keys->changed[i] = keys->changes;
        }
    }
}

bool offer_keys_known(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                      enum offered_kind kind, uint64_t *ret_changes) {
    LOCK_SCOPE(&keys->lock);
    size_t found = find_or_make(keys, plugins, at); /* so that a report from now on is noted */
    *ret_changes = keys->changes;
    if (found == keys->count) {
        return false;
    }
    const struct key_list *list = &keys->entries[found]->lists[kind];
    return list->known && list->changes >= keys->changed[found] &&
           (list->again_ns == 0 || clock_now_ns() < list->again_ns);
}

static int compare(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Copy the keys of the items. @return false: out of memory */
static bool copy_keys(struct key_list *ret, enum offered_kind kind, yyjson_mut_val *items) {
    size_t room = 1;
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(items, at, count, item) {
        room += strlen(offered_key(kind, item)) + 1;
    }
    ret->text = malloc(room);
    ret->keys = malloc((yyjson_mut_arr_size(items) + 1) * sizeof *ret->keys);
    if (ret->text == NULL || ret->keys == NULL) {
        empty(ret);
        return false;
    }
    char *end = ret->text;
    yyjson_mut_arr_foreach(items, at, count, item) {
        ret->keys[ret->count++] = end;
        end = stpcpy(end, offered_key(kind, item)) + 1;
    }
    qsort(ret->keys, ret->count, sizeof *ret->keys, compare);
    return true;
}

void offer_keys_take(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                     enum offered_kind kind, uint64_t changes, yyjson_mut_val *items, bool failed) {
    struct key_list taken = {.known = true, .changes = changes};
    failed = failed || !copy_keys(&taken, kind, items);
    LOCK_SCOPE(&keys->lock);
    size_t found = find_or_make(keys, plugins, at);
    if (found == keys->count) {
        empty(&taken);
        return;
    }
    struct key_list *list = &keys->entries[found]->lists[kind];
    if (failed) {
        list->known = true;
        list->changes = changes;
        list->again_ns = clock_now_ns() + (uint64_t)OFFER_KEYS_AGAIN_S * CLOCK_NS_PER_S;
    } else {
        empty(list);
        *list = taken;
    }
}

static const struct key_list *list_of(const struct offer_keys *keys, uint64_t number,
                                      enum offered_kind kind) {
    static const struct key_list nothing;
    size_t found = find(keys, number);
    return found < keys->count ? &keys->entries[found]->lists[kind] : &nothing;
}

bool offer_keys_lists(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                      enum offered_kind kind, const char *text) {
    LOCK_SCOPE(&keys->lock);
    const struct key_list *list = list_of(keys, plugins->numbers[at], kind);
    return list->count > 0 &&
           bsearch(&text, list->keys, list->count, sizeof *list->keys, compare) != NULL;
}

bool offer_keys_matches(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                        const char *uri) {
    LOCK_SCOPE(&keys->lock);
    const struct key_list *list = list_of(keys, plugins->numbers[at], OFFERED_TEMPLATE);
    size_t i = 0;
    size_t count = list->count < OFFER_KEYS_TEMPLATES_MAX ? list->count : OFFER_KEYS_TEMPLATES_MAX;
    while (i < count && !template_matches(list->keys[i], uri)) {
        i++;
    }
    return i < count;
}
