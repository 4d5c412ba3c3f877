/* keys.h - public keys that sign packages, and what each may sign (package/keyring.h). */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Most keys. */
#define STORE_KEYS_MAX 256

/** A key. */
struct store_key {
    const char *id;           /**< 16 hexadecimal digits */
    unsigned char public[32]; /**< the Ed25519 key itself */
    int trust;                /**< enum trust */
    const char *ids;          /**< patterns, separated by line feeds */
    const char *follows;      /**< ids of keys, separated by line feeds; "" */
    const char *comment;      /**< "" */
    int64_t since_s;
    const char *who; /**< who added it */
};

/** Store a key. One with the same id and the same bytes is replaced.
 * @return see store.h; TOOLRACK_E_EXISTS: another key has the id; TOOLRACK_E_LIMIT_EXCEEDED also
 *         when there are too many. [any-thread] */
int store_key_add(struct store *store, const struct store_key *key, struct toolrack_error *err);

/** Remove a key.
 * @return see store.h; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_key_remove(struct store *store, const char *id, struct toolrack_error *err);

/** Visit all, those that were added first first. [any-thread] */
int store_keys_read(struct store *store, void (*visit)(void *user, const struct store_key *key),
                    void *user, struct toolrack_error *err);
