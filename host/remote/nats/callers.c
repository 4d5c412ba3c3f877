#include "remote/nats/callers.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What the subjects of hosts begin with. */
#define BEGIN  "_INBOX.toolrack."
/* Of a table, at most half of which is full; a power of two. */
#define PLACES (2u * CALLERS_MIN)

/* Two tables of hashes: when the new one is full, what is in the old one is forgotten. A place with
 * 0 is free, and a hash is searched from its place on. */
struct callers {
    unsigned char key[crypto_shorthash_KEYBYTES]; /* nobody else can make two that are alike */
    uint64_t *new;                                /* NULL: nobody has called yet */
    uint64_t *old;                                /* likewise */
    size_t count;                                 /* in the new one */
};

/* 0: it is none of a host. */
static uint64_t hash_of(const struct callers *callers, const char *reply) {
    uint64_t hash = 0;
    if (strncmp(reply, BEGIN, strlen(BEGIN)) != 0) {
        return 0;
    }
    (void)crypto_shorthash((unsigned char *)&hash, (const unsigned char *)reply, strlen(reply),
                           callers->key);
    return hash != 0 ? hash : 1;
}

static uint64_t *place_of(uint64_t *table, uint64_t hash) {
    size_t at = hash % PLACES;
    while (table[at] != 0 && table[at] != hash) {
        at = (at + 1) % PLACES;
    }
    return &table[at];
}

static bool has(uint64_t *table, uint64_t hash) {
    return table != NULL && *place_of(table, hash) == hash;
}

struct callers *callers_create(void) {
    struct callers *callers = calloc(1, sizeof *callers);
    if (callers != NULL) {
        crypto_shorthash_keygen(callers->key);
    }
    return callers;
}

void callers_destroy(struct callers *callers) {
    if (callers != NULL) {
        free(callers->new);
        free(callers->old);
        free(callers);
    }
}

bool callers_have(const struct callers *callers, const char *reply) {
    uint64_t hash = hash_of(callers, reply);
    return hash != 0 && (has(callers->new, hash) || has(callers->old, hash));
}

/* Room for one more. False: out of memory. */
static bool reserve(struct callers *callers) {
    if (callers->new != NULL && callers->count < CALLERS_MIN) {
        return true;
    }
    uint64_t *empty = calloc(PLACES, sizeof *empty);
    if (empty != NULL) {
        free(callers->old);
        callers->old = callers->new;
        callers->new = empty;
        callers->count = 0;
    }
    return empty != NULL;
}

bool callers_take(struct callers *callers, const char *reply) {
    uint64_t hash = hash_of(callers, reply);
    if (hash == 0) {
        return true;
    }
    if (callers_have(callers, reply)) {
        return false;
    }
    if (reserve(callers)) {
        *place_of(callers->new, hash) = hash;
        callers->count++;
    }
    return true;
}
