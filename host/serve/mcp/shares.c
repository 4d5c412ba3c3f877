/* shares.c - see shares.h. */
#include "serve/mcp/shares.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "serve/principal.h"

#define BUCKETS 1024u /* a power of two */

/* What a party has taken; there while it has taken something. */
struct share {
    struct share *next; /* in its bucket */
    size_t taken[SHARE_KINDS];
    char party[];
};

struct shares {
    struct lock lock;
    size_t taken[SHARE_KINDS]; /* of all together */
    struct share *buckets[BUCKETS];
};

struct shares *shares_create(void) {
    struct shares *shares = calloc(1, sizeof *shares);
    if (shares != NULL) {
        lock_init(&shares->lock);
    }
    return shares;
}

void shares_destroy(struct shares *shares) {
    if (shares != NULL) {
        for (size_t i = 0; i < BUCKETS; i++) {
            free(shares->buckets[i]); /* all was given back, but for what had no memory */
        }
        lock_finish(&shares->lock);
        free(shares);
    }
}

/* The place of a share, or where it would be. Caller holds the lock. */
static struct share **find(struct shares *shares, const char *party) {
    uint32_t hash = 2166136261u;
    for (const char *at = party; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    }
    struct share **at = &shares->buckets[hash % BUCKETS];
    while (*at != NULL && strcmp((*at)->party, party) != 0) {
        at = &(*at)->next;
    }
    return at;
}

bool shares_take(struct shares *shares, const char *party, enum share_kind kind, size_t amount,
                 size_t max) {
    bool is_alone = strncmp(party, PIPE_PREFIX, strlen(PIPE_PREFIX)) == 0;
    LOCK_SCOPE(&shares->lock);
    struct share **place = find(shares, party);
    size_t own = *place != NULL && !is_alone ? (*place)->taken[kind] : 0;
    size_t left = max > shares->taken[kind] ? max - shares->taken[kind] : 0;
    if (amount > left || own > left - amount) {
        return false;
    }
    if (*place == NULL) {
        size_t size = strlen(party) + 1;
        struct share *share = calloc(1, sizeof *share + size);
        if (share == NULL) {
            return false;
        }
        memcpy(share->party, party, size);
        *place = share;
    }
    (*place)->taken[kind] += amount;
    shares->taken[kind] += amount;
    return true;
}

void shares_give(struct shares *shares, const char *party, enum share_kind kind, size_t amount) {
    if (amount == 0) {
        return;
    }
    LOCK_SCOPE(&shares->lock);
    struct share **place = find(shares, party);
    struct share *share = *place;
    if (share == NULL) {
        return;
    }
    share->taken[kind] -= amount;
    shares->taken[kind] -= amount;
    for (size_t i = 0; i < SHARE_KINDS; i++) {
        if (share->taken[i] > 0) {
            return;
        }
    }
    *place = share->next;
    free(share);
}

size_t shares_taken(struct shares *shares, const char *party, enum share_kind kind) {
    LOCK_SCOPE(&shares->lock);
    const struct share *share = *find(shares, party);
    return share != NULL ? share->taken[kind] : 0;
}
