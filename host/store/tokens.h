/* tokens.h - tokens of the clients of servers. The secret of a token is not stored. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* Most tokens that have not expired. */
#define STORE_TOKENS_MAX 1024

/** A token. */
struct store_token {
    const char *name;
    const char *id;
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of the secret */
    bool admin;
    bool approves;
    const char *profile; /**< or NULL */
    const char *tools;   /**< separated by line feeds; NULL: all */
    uint32_t rate_per_minute;
    int64_t created_s;
    int64_t expires_s; /**< 0: never */
    const char *who;   /**< who added it */
};

/** Store a token; one of the same name that has expired is replaced.
 * @return see store.h; TOOLRACK_E_EXISTS; TOOLRACK_E_LIMIT_EXCEEDED also when there are too many.
 *         [any-thread] */
int store_token_add(struct store *store, const struct store_token *token,
                    struct toolrack_error *err);

/** Remove a token.
 * @return see store.h; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_token_remove(struct store *store, const char *name, const char *who,
                       struct toolrack_error *err);

/** Visit all, by name. [any-thread] */
int store_tokens_read(struct store *store,
                      void (*visit)(void *user, const struct store_token *token), void *user,
                      struct toolrack_error *err);
