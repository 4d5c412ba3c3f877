/* watches.c - see watches.h. */
#include "serve/mcp/watches.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "serve/mcp/interest.h"
#include "serve/mcp/server.h"

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

enum watch_outcome watches_add(struct mcp *mcp, struct watch_list *list, const char *uri) {
    LOCK_SCOPE(&mcp->watches->lock);
    const struct watched *there = find(mcp->watches, uri);
    if (list->ended || (there != NULL && place(list, there) < list->count)) {
        return WATCH_DONE;
    }
    if (list->count >= WATCH_URIS_MAX) {
        return WATCH_TOO_MANY;
    }
    struct watched *watched = has_room(list) ? find_or_make(mcp->watches, uri) : NULL;
    if (watched == NULL) {
        return WATCH_NO_MEMORY;
    }
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

void watches_end(struct mcp *mcp, struct watch_list *list) {
    lock_take(&mcp->watches->lock);
    struct watched **items = STEAL(list->items);
    size_t count = list->count;
    size_t left = 0;
    list->count = list->room = 0;
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
