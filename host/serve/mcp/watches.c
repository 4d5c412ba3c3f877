/* watches.c - see watches.h. */
#include "serve/mcp/watches.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/lock.h"
#include "serve/mcp/interest.h"
#include "serve/mcp/server.h"
#include "serve/mcp/shares.h"

#define BUCKETS 1024u /* a power of two */

/* A resource that is in a list. */
struct watched {
    struct watched *next; /* in its bucket */
    uint32_t hash;
    size_t lists; /* how many lists it is in */
    char uri[];
};

struct watches {
    struct lock lock;
    struct watched *buckets[BUCKETS];
};

struct watches *watches_create(void) {
    struct watches *watches = calloc(1, sizeof *watches);
    if (watches != NULL) {
        lock_init(&watches->lock);
    }
    return watches;
}

void watches_destroy(struct watches *watches) {
    if (watches != NULL) {
        lock_finish(&watches->lock);
        free(watches);
    }
}

/* ------------------------------------------------- caller holds the lock here */

static uint32_t hash_of(const char *uri) {
    uint32_t hash = 2166136261u;
    for (; *uri != '\0'; uri++) {
        hash = (hash ^ (unsigned char)*uri) * 16777619u;
    }
    return hash;
}

static struct watched *find(const struct watches *watches, const char *uri) {
    uint32_t hash = hash_of(uri);
    struct watched *at = watches->buckets[hash % BUCKETS];
    while (at != NULL && (at->hash != hash || strcmp(at->uri, uri) != 0)) {
        at = at->next;
    }
    return at;
}

static struct watched *find_or_make(struct watches *watches, const char *uri) {
    struct watched *watched = find(watches, uri);
    size_t size = strlen(uri) + 1;
    if (watched == NULL && (watched = malloc(sizeof *watched + size)) != NULL) {
        *watched = (struct watched){.hash = hash_of(uri)};
        memcpy(watched->uri, uri, size);
        struct watched **bucket = &watches->buckets[watched->hash % BUCKETS];
        watched->next = *bucket;
        *bucket = watched;
    }
    return watched;
}

/* It is in a list less. @return whether it was the last: then it is the caller's */
static bool leave(struct watches *watches, struct watched *watched) {
    if (--watched->lists > 0) {
        return false;
    }
    struct watched **at = &watches->buckets[watched->hash % BUCKETS];
    while (*at != watched) {
        at = &(*at)->next;
    }
    *at = watched->next;
    return true;
}

/* Its place in a list; `count` if it is not there. */
static size_t place(const struct watch_list *list, const struct watched *watched) {
    size_t at = 0;
    while (at < list->count && list->items[at] != watched) {
        at++;
    }
    return at;
}

static bool has_room(struct watch_list *list) {
    if (list->count == list->room) {
        size_t room = 2 * list->room + 4;
        struct watched **grown = realloc(list->items, room * sizeof(struct watched *));
        if (grown == NULL) {
            return false;
        }
        list->items = grown;
        list->room = room;
    }
    return true;
}

/* ----------------------------------------------------------------------- lists */

/* Caller holds the lock. */
static bool take(struct mcp *mcp, struct watch_list *list, const char *party, size_t bytes) {
    if (!shares_take(mcp->shares, party, SHARE_WATCHED, bytes, WATCH_ALL_MAX)) {
        return false;
    }
    list->owner = party;
    list->taken += bytes;
    return true;
}

/* Caller holds the lock. */
static void give(struct mcp *mcp, struct watch_list *list, size_t bytes) {
    if (list->owner != NULL) {
        shares_give(mcp->shares, list->owner, SHARE_WATCHED, bytes);
        list->taken -= bytes;
    }
}

bool watches_hold(struct mcp *mcp, struct watch_list *list, const char *party, size_t bytes) {
    LOCK_SCOPE(&mcp->watches->lock);
    return list->ended || take(mcp, list, party, bytes);
}

enum watch_outcome watches_add(struct mcp *mcp, struct watch_list *list, const char *party,
                               const char *uri) {
    size_t size = strlen(uri) + 1;
    LOCK_SCOPE(&mcp->watches->lock);
    const struct watched *there = find(mcp->watches, uri);
    if (list->ended || (there != NULL && place(list, there) < list->count)) {
        return WATCH_DONE;
    }
    if (list->count >= WATCH_URIS_MAX) {
        return WATCH_TOO_MANY;
    }
    if (list->bytes + size > WATCH_BYTES_MAX) {
        return WATCH_TOO_LONG;
    }
    if (!take(mcp, list, party, size + WATCH_ENTRY)) {
        return WATCH_NO_SHARE;
    }
    struct watched *watched = has_room(list) ? find_or_make(mcp->watches, uri) : NULL;
    if (watched == NULL) {
        give(mcp, list, size + WATCH_ENTRY);
        return WATCH_NO_MEMORY;
    }
    list->bytes += size;
    watched->lists++;
    list->items[list->count++] = watched;
    return WATCH_DONE;
}

bool watches_remove(struct mcp *mcp, struct watch_list *list, const char *uri) {
    LOCK_SCOPE(&mcp->watches->lock);
    struct watched *watched = find(mcp->watches, uri);
    size_t at = watched != NULL ? place(list, watched) : list->count;
    if (at == list->count) {
        return false;
    }
    list->items[at] = list->items[--list->count];
    list->bytes -= strlen(uri) + 1;
    give(mcp, list, strlen(uri) + 1 + WATCH_ENTRY);
    bool is_last = leave(mcp->watches, watched);
    if (is_last) {
        free(watched);
    }
    return is_last;
}

bool watches_has(struct mcp *mcp, const struct watch_list *list, const char *uri) {
    LOCK_SCOPE(&mcp->watches->lock);
    const struct watched *watched = find(mcp->watches, uri);
    return watched != NULL && place(list, watched) < list->count;
}

size_t watches_write(struct mcp *mcp, struct watch_list *list, struct buf *out) {
    LOCK_SCOPE(&mcp->watches->lock);
    for (size_t i = 0; i < list->count; i++) {
        buf_add(out, ",", i > 0);
        buf_add_json_string(out, list->items[i]->uri, strlen(list->items[i]->uri));
    }
    return list->count;
}

const char **watches_copy(struct mcp *mcp, struct watch_list *list, size_t *ret_count) {
    LOCK_SCOPE(&mcp->watches->lock);
    const char **uris = malloc((list->count + 1) * sizeof *uris + list->bytes);
    char *end = (char *)(uris + list->count + 1);
    for (size_t i = 0; uris != NULL && i < list->count; i++) {
        uris[i] = end;
        end = stpcpy(end, list->items[i]->uri) + 1;
    }
    *ret_count = list->count;
    return uris;
}

void watches_end(struct mcp *mcp, struct watch_list *list) {
    lock_take(&mcp->watches->lock);
    struct watched **items = STEAL(list->items);
    size_t count = list->count;
    size_t left = 0;
    list->count = list->room = list->bytes = 0;
    give(mcp, list, list->taken);
    list->ended = true;
    for (size_t i = 0; i < count; i++) {
        if (leave(mcp->watches, items[i])) {
            items[left++] = items[i];
        }
    }
    lock_release(&mcp->watches->lock);
    CLEANUP(freep) const char **uris = malloc((left + 1) * sizeof *uris);
    for (size_t i = 0; uris != NULL && i < left; i++) {
        uris[i] = items[i]->uri;
    }
    if (uris != NULL) {
        interest_tell(mcp, TOOLRACK_OFFER_UNSUBSCRIBE, uris, left, NULL);
    }
    for (size_t i = 0; i < left; i++) {
        free(items[i]);
    }
    free(items);
}
