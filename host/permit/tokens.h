/* tokens.h - who may use a server, by a secret.
 *
 * A secret has 256 random bits, so a plain hash of it tells nobody what it is; only the hash is
 * stored. All tokens are held in memory: a token is looked for at each request. They are read again
 * when this process or another one has changed them (tokens_follow()); a host that does not learn
 * of what other processes decide reads them each time. */
#pragma once

#include "base/log.h"
#include "permit/permit.h"
#include "toolrack/serving.h"

struct tokens;

/* All pointers are borrowed until tokens_destroy(). */
struct tokens_options {
    const struct log *log;
    struct store *store;
    struct permit *permit; /* for the log of decisions */
    /* Whether this host learns of what other processes decide. [any-thread] */
    bool (*learns)(void *user);
    void *user;
};

/** NULL when out of memory. Nothing is read. */
struct tokens *tokens_create(const struct tokens_options *options);
/** NULL is ignored. Grants that were given out stay valid. */
void tokens_destroy(struct tokens *tokens);

/** Tokens have changed: read them again, at once.
 * @return whether they could be read; if not, nobody is let in until they can. [any-thread] */
bool tokens_follow(struct tokens *tokens);

/* As the functions of serving.h with these names. The profile is one of the configuration.
 * [any-thread] */
int tokens_add(struct tokens *tokens, const struct toolrack_token *token,
               struct toolrack_text **ret_secret, const char *who, struct toolrack_error *err);
int tokens_list(struct tokens *tokens, struct toolrack_text **ret, struct toolrack_error *err);
int tokens_revoke(struct tokens *tokens, const char *name, const char *who,
                  struct toolrack_error *err);
int tokens_file(struct tokens *tokens, const char *path, struct toolrack_error *err);
int tokens_find(struct tokens *tokens, const char *secret, struct toolrack_token_grant **ret,
                struct toolrack_error *err);
