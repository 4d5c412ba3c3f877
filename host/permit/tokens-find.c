/* Invariants:
 *
 *  (1) `table` is what the store had when it was last read, or NULL: it must be read. Who reads
 *      holds `read_lock`, so that no older state takes the place of a newer one.
 *  (2) A grant is in at most one table; one that is not in the next table is revoked.
 *  (3) Each look-up compares the hash with those of all tokens, whole: what it does is the same
 *      whatever part of a hash is equal. */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/lock.h"
#include "permit/token-grant.h"
#include "permit/tokens-parts.h"

/* A hash as numbers, which are compared at once. */
#define DIGEST_WORDS (STORE_SHA256_SIZE / sizeof(uint64_t))
struct digest {
    uint64_t words[DIGEST_WORDS];
};

/* The tokens at one moment. */
struct table {
    atomic_uint refs;
    size_t count;
    struct entry {
        struct digest digest;
        struct toolrack_token_grant *grant; /* a reference */
    } entries[];
};

static void table_unref(struct table *table) {
    if (table == NULL || atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        toolrack_token_grant_unref(table->entries[i].grant);
    }
    free(table);
}
CLEANUP_DEFINE(struct table, table_unref)

struct tokens *tokens_create(const struct tokens_options *options) {
    struct tokens *tokens = calloc(1, sizeof *tokens);
    if (tokens != NULL) {
        tokens->options = *options;
        lock_init(&tokens->read_lock);
        lock_init(&tokens->lock);
    }
    return tokens;
}

void tokens_destroy(struct tokens *tokens) {
    if (tokens != NULL) {
        table_unref(tokens->table);
        toolrack_token_grant_unref(tokens->of_file);
        lock_finish(&tokens->read_lock);
        lock_finish(&tokens->lock);
        free(tokens);
    }
}

/* -------------------------------------------------------------------- read */

struct reading {
    struct table *table;
    size_t room;
    bool failed;
};

static void take_token(void *user, const struct store_token *token) {
    struct reading *reading = user;
    struct table *table = reading->table;
    struct toolrack_token_grant *grant =
            table->count < reading->room ? token_grant_create(token) : NULL;
    reading->failed = reading->failed || grant == NULL;
    if (grant != NULL) {
        struct entry *entry = &table->entries[table->count++];
        memcpy(&entry->digest, token->sha256, sizeof entry->digest);
        entry->grant = grant;
    }
}

/* NULL: the tokens must be read. */
static struct table *take_table(struct tokens *tokens) {
    LOCK_SCOPE(&tokens->lock);
    struct table *table = tokens->table;
    if (table != NULL) {
        (void)atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
    }
    return table;
}

static void revoke_missing(const struct table *old, const struct table *new) {
    for (size_t i = 0; i < old->count; i++) {
        bool stays = false;
        for (size_t j = 0; new != NULL &&j < new->count && !stays; j++) {
            stays = strcmp(old->entries[i].grant->token.id, new->entries[j].grant->token.id) == 0;
        }
        if (!stays) {
            atomic_store(&old->entries[i].grant->revoked, true);
        }
    }
}

/* A grant that is given out must learn of its end: so a token that stays keeps its grant. */
static void keep_grants(const struct table *old, struct table *new) {
    for (size_t i = 0; i < new->count; i++) {
        struct toolrack_token_grant *read = new->entries[i].grant;
        for (size_t j = 0; j < old->count; j++) {
            struct toolrack_token_grant *known = old->entries[j].grant;
            if (strcmp(read->token.id, known->token.id) == 0) {
                new->entries[i].grant = toolrack_token_grant_ref(known);
                toolrack_token_grant_unref(read);
                break;
            }
        }
    }
}

/* Put a table in the place of the last one; the grants that both have are the same. */
static void exchange(struct tokens *tokens, struct table *new) {
    lock_take(&tokens->lock);
    struct table *old = tokens->table;
    tokens->table = new;
    lock_release(&tokens->lock);
    if (old != NULL) {
        revoke_missing(old, new);
    }
    table_unref(old);
}

/* Read them. Caller holds read_lock. */
static int read_tokens(struct tokens *tokens, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&tokens->read_lock);
    struct reading reading = {.room = STORE_TOKENS_MAX};
    reading.table = calloc(1, sizeof *reading.table + reading.room * sizeof(struct entry));
    if (reading.table == NULL) {
        return error_oom(err);
    }
    reading.table->refs = 1;
    int code = store_tokens_read(tokens->options.store, take_token, &reading, err);
    if (code == 0 && reading.failed) {
        code = error_oom(err);
    }
    CLEANUP(table_unrefp) struct table *old = take_table(tokens);
    if (code < 0) {
        table_unref(reading.table);
        return code;
    }
    if (old != NULL) {
        keep_grants(old, reading.table);
    }
    exchange(tokens, reading.table);
    return 0;
}

bool tokens_follow(struct tokens *tokens) {
    struct toolrack_error err;
    LOCK_SCOPE(&tokens->read_lock);
    CLEANUP(table_unrefp) struct table *old = take_table(tokens);
    if (old == NULL) {
        return true; /* nobody has asked yet, or the next who asks reads them */
    }
    if (read_tokens(tokens, &err) < 0) {
        log_line(tokens->options.log, LOG_ERROR, "permission",
                 "nobody who has a token is let in, since the tokens cannot be read: %s",
                 err.message);
        exchange(tokens, NULL);
        return false;
    }
    return true;
}

/* -------------------------------------------------------------------- find */

static int fresh_table(struct tokens *tokens, struct table **ret, struct toolrack_error *err) {
    bool learns = tokens->options.learns(tokens->options.user);
    *ret = learns ? take_table(tokens) : NULL;
    if (*ret != NULL) {
        return 0;
    }
    LOCK_SCOPE(&tokens->read_lock);
    *ret = learns ? take_table(tokens) : NULL; /* another thread may have read them */
    if (*ret != NULL) {
        return 0;
    }
    int code = read_tokens(tokens, err);
    *ret = code == 0 ? take_table(tokens) : NULL;
    assert(code < 0 || *ret != NULL); /* who puts NULL there holds read_lock */
    return code;
}

void tokens_hash(const char *secret, unsigned char ret[STORE_SHA256_SIZE]) {
    (void)crypto_hash_sha256(ret, (const unsigned char *)secret, strlen(secret));
}

static bool is_equal(const struct digest *a, const struct digest *b) {
    uint64_t difference = 0;
    for (size_t i = 0; i < DIGEST_WORDS; i++) {
        difference |= a->words[i] ^ b->words[i];
    }
    return difference == 0;
}

/* Whoever has it is let in also while the store cannot be read. NULL: it is not that one. */
static struct toolrack_token_grant *find_of_file(struct tokens *tokens,
                                                 const struct digest *digest) {
    struct digest own;
    struct toolrack_token_grant *grant = tokens_of_file(tokens);
    if (grant != NULL) {
        memcpy(&own, grant->token.sha256, sizeof own);
        if (!is_equal(&own, digest)) {
            toolrack_token_grant_unref(grant);
            grant = NULL;
        }
    }
    return grant;
}

int tokens_find(struct tokens *tokens, const char *secret, struct toolrack_token_grant **ret,
                struct toolrack_error *err) {
    unsigned char sha256[STORE_SHA256_SIZE];
    struct digest digest;
    CLEANUP(table_unrefp) struct table *table = NULL;
    struct toolrack_token_grant *found = NULL;
    tokens_hash(secret, sha256);
    memcpy(&digest, sha256, sizeof digest);
    struct toolrack_token_grant *of_file = find_of_file(tokens, &digest);
    if (of_file != NULL) {
        *ret = of_file;
        return 0;
    }
    int code = fresh_table(tokens, &table, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        found = is_equal(&table->entries[i].digest, &digest) ? table->entries[i].grant : found;
    }
    if (found == NULL || !toolrack_token_grant_holds(found)) {
        return error_set(
                err, TOOLRACK_E_NOT_FOUND,
                "the token is unknown, expired or revoked; an administrator can add one: %s",
                COMMAND("token add", "NAME"));
    }
    *ret = toolrack_token_grant_ref(found);
    return 0;
}
