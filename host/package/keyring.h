/* keyring.h - the keys that the administrator trusts, and for which ids each.
 *
 * They are in the store (store/keys.h). A key that another one signed over to (signature.h) has the
 * trust and ids of that one, and follows it: it may update what that one installed. What a key
 * follows is kept with it, so it holds when the earlier key is removed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "package/signature.h"
#include "plugin/trust.h"
#include "store/keys.h"

/* Longest list of patterns of ids of one key, and most patterns of it. */
#define KEYRING_IDS_MAX      4096u
#define KEYRING_PATTERNS_MAX 64u

struct keyring_key {
    struct public_key key;
    char id[KEY_ID_ROOM];
    enum trust trust;    /* TRUST_COMMUNITY or TRUST_OFFICIAL */
    const char *ids;     /* patterns, separated by line feeds */
    const char *follows; /* ids of the keys before it, the latest first, separated by line feeds; ""
                          */
    const char *comment; /* a name for people; "" */
    int64_t since_s;
    const char *who;
};

/** All keys, as they are at one moment. */
struct keyring {
    struct arena arena;
    struct keyring_key *keys; /* those that were added first first */
    size_t count;
};

/** An empty keyring. */
void keyring_init(struct keyring *ring);
/** Read the keys.
 * @param ret  initialized here; to be released by keyring_finish() in any case
 * @return 0; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int keyring_read(struct store *store, struct keyring *ret, struct toolrack_error *err);
void keyring_finish(struct keyring *ring);

/** The key of a number, or NULL. Two keys with one number are not in a keyring. */
const struct keyring_key *keyring_find(const struct keyring *ring,
                                       const uint8_t number[KEY_NUMBER_SIZE]);

/** Whether a pattern is one: an id; a begin of ids with ".*" behind; or "*". */
bool keyring_pattern_valid(const char *pattern);
/** Whether a key may sign what has this id. */
bool keyring_key_signs(const struct keyring_key *key, const char *id);
/** Whether a key is the one with this id, or follows it: an update needs that of what is
 * installed. */
bool keyring_key_follows(const struct keyring_key *key, const char *id);

/** Whether a file has a signature of a key of the keyring that may sign the id that the signature
 * states; before anything of the file is read but its bytes.
 *
 * @param fd        the file that will be read afterwards: see archive_hold()
 * @param ret_key   the key, borrowed from the ring
 * @return 0; TOOLRACK_E_PERMISSION_DENIED: the key is not known, or does not sign this id;
 *         TOOLRACK_E_REFUSED: the signature is not that of the file; TOOLRACK_E_INVALID: it is no
 *         signature, or that of no package; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED. [any-thread]
 */
int keyring_verify(const struct keyring *ring, int fd, const struct signature_text *signature,
                   const struct keyring_key **ret_key, struct toolrack_error *err);

/** Add a key, or change what one may sign; durable on return.
 *
 * @param path  the public key's file, or its line. A signature beside the file, by which a key of
 *              the keyring signs over to it, makes it follow that one
 * @param trust  TRUST_COMMUNITY or TRUST_OFFICIAL; -1: that of the key that it follows
 * @param ids    patterns, NULL-terminated; NULL with a `trust` of -1: those of that key
 * @param ret    has the key alone; to be released by keyring_finish() in any case
 * @return 0; see toolrack_key_add(). [any-thread] */
int keyring_add(struct store *store, const char *path, int trust, const char *const *ids,
                const char *name, const char *who, struct keyring *ret, struct toolrack_error *err);
