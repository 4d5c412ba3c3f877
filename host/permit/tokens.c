/* Invariants:
 *
 *  (1) `table` is what the store had when it was last read, or NULL: it must be read. Who reads
 *      holds `read_lock`, so that no older state takes the place of a newer one.
 *  (2) A grant is in at most one table; one that is not in the next table is revoked.
 *  (3) Each look-up compares the hash with those of all tokens, whole: what it does is the same
 *      whatever part of a hash is equal. */
#include "permit/tokens.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "permit/token-grant.h"
#include "registry/document.h"
#include "registry/selector.h"
#include "registry/text.h"

/* Random bytes of a secret, and of the part of an id behind the name. */
#define SECRET_BYTES 32u
#define ID_BYTES     8u

#define NAME_MAX_LENGTH 64u

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

struct tokens {
    struct tokens_options options;
    struct lock read_lock;
    struct lock lock;    /* guards the pointer; taken after read_lock */
    struct table *table; /* a reference */
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
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

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

static void hash_secret(const char *secret, unsigned char ret[STORE_SHA256_SIZE]) {
    (void)crypto_hash_sha256(ret, (const unsigned char *)secret, strlen(secret));
}

static bool is_equal(const struct digest *a, const struct digest *b) {
    uint64_t difference = 0;
    for (size_t i = 0; i < DIGEST_WORDS; i++) {
        difference |= a->words[i] ^ b->words[i];
    }
    return difference == 0;
}

int tokens_find(struct tokens *tokens, const char *secret, struct toolrack_token_grant **ret,
                struct toolrack_error *err) {
    unsigned char sha256[STORE_SHA256_SIZE];
    struct digest digest;
    CLEANUP(table_unrefp) struct table *table = NULL;
    struct toolrack_token_grant *found = NULL;
    int code = fresh_table(tokens, &table, err);
    if (code < 0) {
        return code;
    }
    hash_secret(secret, sha256);
    memcpy(&digest, sha256, sizeof digest);
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        found = is_equal(&table->entries[i].digest, &digest) ? table->entries[i].grant : found;
    }
    if (found == NULL || !toolrack_token_grant_holds(found)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "the token is unknown, expired or revoked; an administrator can add one: "
                         "toolrack token add NAME");
    }
    *ret = toolrack_token_grant_ref(found);
    return 0;
}

/* --------------------------------------------------------------------- add */

static bool is_name(const char *name) {
    static const char characters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_LENGTH && strspn(name, characters) == length &&
           name[0] != '-' && name[0] != '.';
}

static int check(const struct toolrack_token *token, struct toolrack_error *err) {
    if (token->name == NULL || !is_name(token->name)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the name of a token has 1 to 64 letters, digits, '_', '-' and '.', and "
                         "begins with a letter, a digit or '_'");
    }
    if (token->expires_s != 0 && token->expires_s <= clock_wall_s()) {
        return error_set(err, TOOLRACK_E_INVALID, "the token would have expired already");
    }
    for (size_t i = 0; token->tools != NULL && token->tools[i] != NULL; i++) {
        if (!selector_is_pattern(token->tools[i])) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "\"%.100s\" names no tool: write a name, which may have '*' and '?', "
                             "and perhaps '@' with a version or a range",
                             token->tools[i]);
        }
    }
    return 0;
}

/* The list of tools as the store has it. */
static void add_tools(struct buf *text, const char *const *tools) {
    buf_add_text(text, "");
    for (size_t i = 0; tools != NULL && tools[i] != NULL; i++) {
        buf_printf(text, "%s%s", i > 0 ? "\n" : "", tools[i]);
    }
}

/* The prefix and random digits. */
static int add_random(struct buf *text, const char *prefix, size_t count,
                      struct toolrack_error *err) {
    unsigned char bytes[SECRET_BYTES];
    char digits[2 * SECRET_BYTES + 1];
    if (getrandom(bytes, count, 0) != (ssize_t)count) {
        return error_set(err, TOOLRACK_E_IO, "cannot get random bytes for a token: %s",
                         strerror(errno));
    }
    (void)sodium_bin2hex(digits, sizeof digits, bytes, count);
    buf_printf(text, "%s%s", prefix, digits);
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(digits, sizeof digits);
    return text->failed ? error_oom(err) : 0;
}

/* A text that is forgotten with its memory. */
static void secret_finish(struct buf *text) {
    if (text->data != NULL) {
        sodium_memzero(text->data, text->length);
    }
    buf_finish(text);
}

/* What was decided, for the log. */
static void note_added(struct tokens *tokens, const struct store_token *token) {
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    char until[CLOCK_TEXT_ROOM];
    buf_printf(&why, "token '%s', id %s", token->name, token->id);
    if (token->admin) {
        buf_add_text(&why, ", administrator");
    }
    if (token->approves) {
        buf_add_text(&why, ", its answers count as a person's");
    }
    if (token->profile != NULL) {
        buf_printf(&why, ", profile '%s'", token->profile);
    }
    if (token->tools != NULL) {
        buf_add_text(&why, ", tools");
        for (const char *at = token->tools; *at != '\0';) {
            size_t length = strcspn(at, "\n");
            buf_printf(&why, " %.*s", (int)length, at);
            at += length + (at[length] != '\0');
        }
    }
    if (token->expires_s != 0) {
        buf_printf(&why, ", until %s", clock_wall_text(token->expires_s, until));
    }
    permit_note(tokens->options.permit,
                &(struct store_decision){.decision = "added token",
                                         .who = token->who,
                                         .why = why.failed ? token->name : why.data});
}

int tokens_add(struct tokens *tokens, const struct toolrack_token *given,
               struct toolrack_text **ret_secret, const char *who, struct toolrack_error *err) {
    struct toolrack_token token = {0};
    CLEANUP(buf_finish) struct buf tools = BUF_INIT;
    CLEANUP(buf_finish) struct buf id = BUF_INIT;
    CLEANUP(secret_finish) struct buf secret = BUF_INIT;
    memcpy(&token, given, given->size < sizeof token ? given->size : sizeof token);
    int code = check(&token, err);
    if (code == 0) {
        add_tools(&tools, token.tools);
        buf_printf(&id, "%s-", token.name);
        code = add_random(&id, "", ID_BYTES, err);
    }
    if (code == 0) {
        code = add_random(&secret, TOOLRACK_TOKEN_PREFIX, SECRET_BYTES, err);
    }
    CLEANUP(toolrack_text_unrefp)
    struct toolrack_text *shown = code == 0 ? text_create(&secret) : NULL;
    if (code < 0 || shown == NULL || tools.failed) {
        return code < 0 ? code : error_oom(err);
    }
    struct store_token stored = {.name = token.name,
                                 .id = id.data,
                                 .admin = token.admin != 0,
                                 .approves = token.approves != 0,
                                 .profile = token.profile,
                                 .tools = token.tools != NULL ? tools.data : NULL,
                                 .rate_per_minute = token.rate_per_minute,
                                 .created_s = clock_wall_s(),
                                 .expires_s = token.expires_s,
                                 .who = who};
    hash_secret(secret.data, stored.sha256);
    code = store_token_add(tokens->options.store, &stored, err);
    if (code == 0) {
        (void)tokens_follow(tokens);
        note_added(tokens, &stored);
        *ret_secret = STEAL(shown);
    }
    return code;
}

int tokens_revoke(struct tokens *tokens, const char *name, const char *who,
                  struct toolrack_error *err) {
    char why[NAME_MAX_LENGTH + 16];
    int code = store_token_remove(tokens->options.store, name, err);
    if (code == 0) {
        (void)tokens_follow(tokens);
        (void)snprintf(why, sizeof why, "token '%s'", name);
        permit_note(tokens->options.permit,
                    &(struct store_decision){.decision = "revoked token", .who = who, .why = why});
    }
    return code;
}

/* -------------------------------------------------------------------- list */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    int64_t now_s;
};

static void add_list(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *tools) {
    if (tools == NULL) {
        (void)yyjson_mut_obj_add_null(doc, row, "tools");
        return;
    }
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, row, "tools");
    while (*tools != '\0') {
        size_t length = strcspn(tools, "\n");
        (void)yyjson_mut_arr_add_strncpy(doc, list, tools, length);
        tools += length + (tools[length] != '\0');
    }
}

static void add_token(void *user, const struct store_token *token) {
    const struct listing *listing = user;
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    bool expires = token->expires_s != 0;
    document_add_text(doc, row, "name", token->name);
    document_add_text(doc, row, "id", token->id);
    (void)yyjson_mut_obj_add_bool(doc, row, "admin", token->admin);
    (void)yyjson_mut_obj_add_bool(doc, row, "approves", token->approves);
    document_add_text(doc, row, "profile", token->profile);
    add_list(doc, row, token->tools);
    (void)yyjson_mut_obj_add_uint(doc, row, "rate_per_minute", token->rate_per_minute);
    (void)yyjson_mut_obj_add_sint(doc, row, "created_s", token->created_s);
    if (expires) {
        (void)yyjson_mut_obj_add_sint(doc, row, "expires_s", token->expires_s);
    } else {
        (void)yyjson_mut_obj_add_null(doc, row, "expires_s");
    }
    (void)yyjson_mut_obj_add_bool(doc, row, "expired",
                                  expires && token->expires_s <= listing->now_s);
    document_add_text(doc, row, "who", token->who);
}

int tokens_list(struct tokens *tokens, struct toolrack_text **ret, struct toolrack_error *err) {
    struct listing listing = {.now_s = clock_wall_s()};
    listing.doc = document_begin_list(&listing.list);
    int code = store_tokens_read(tokens->options.store, add_token, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
