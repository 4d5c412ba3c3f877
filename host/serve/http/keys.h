/* keys.h - the keys of an authorization server, by which its tokens are proven: a JSON Web Key Set.
 *
 * They come from a file, or from the server's address: at the start, again when they are older than
 * KEYS_FRESH_S, and when a token names a key that is not among them, but not more often than every
 * KEYS_AGAIN_S: anybody can send such tokens. One thread fetches; nobody else waits for the
 * network.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/http/jwt.h"

#define KEYS_FRESH_S   600u
#define KEYS_AGAIN_S   30u
/* Keys of one set; bytes of it; how long fetching it may take. */
#define KEYS_MAX       64u
#define KEYS_BYTES_MAX (1024u * 1024)
#define KEYS_FETCH_S   10u

struct keys;

struct keys_source {
    const char *file; /* or NULL */
    const char *url;  /* or NULL; the file comes first */
    /* After each attempt to fetch; `problem` is NULL or why it failed, with the member that names
     * the URL in its field. On the thread that fetches. */
    void (*fetched)(void *user, const struct toolrack_error *problem);
    void *user;
};

/** Load the libraries that a source needs. @return 0; TOOLRACK_E_IO */
int keys_load(const struct keys_source *source, struct toolrack_error *err);

/** @return 0; TOOLRACK_E_IO, TOOLRACK_E_INVALID for the file, with the member that names it in the
 *          error's field; TOOLRACK_E_NO_MEMORY */
int keys_create(const struct keys_source *source, struct keys **ret, struct toolrack_error *err);
void keys_destroy(struct keys *keys);

/** Read the file again, or fetch. On failure the keys stay as they are. */
int keys_reload(struct keys *keys, struct toolrack_error *err);

enum keys_answer {
    KEYS_PROVEN,
    KEYS_WRONG,  /* it is not signed by one of them */
    KEYS_LATER,  /* `fetched` will be called: ask again then */
    KEYS_MISSING /* there are none: they could not be fetched */
};
/** Whether a token is signed by one of the keys. `ret_number` says how many attempts to fetch there
 * were, for keys_number(). */
enum keys_answer keys_prove(struct keys *keys, const char *token, size_t length,
                            const struct jwt *jwt, uint64_t *ret_number);
/** How many attempts to fetch there were. */
uint64_t keys_number(struct keys *keys);
