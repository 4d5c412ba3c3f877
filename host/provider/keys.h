/* keys.h - the API key for a provider.
 *
 * The key is read from the environment and written to one header, nowhere else. Everything that is
 * printed or stored passes key_redact() first, since a provider may repeat the key in its
 * answers. */
#pragma once

#include <stddef.h>

#include "toolrack/format.h"

/* Longest key, and the shortest key that is treated as a secret. */
#define KEY_LENGTH_MAX 4096u
#define KEY_SECRET_MIN 8u

struct key {
    char *value;          /**< owned; NULL: no key is set, and none is sent */
    char *header;         /**< owned: the whole header line; NULL without a key */
    const char *variable; /**< the variable that holds the key, or could; NULL: no key needed */
};

/** Read the key; release with key_finish().
 * @return 0, also when no key is set; TOOLRACK_E_INVALID for a key that cannot be in a header;
 *         TOOLRACK_E_NO_MEMORY. On failure there is nothing to release. [any-thread] */
int key_read(enum toolrack_format format, struct key *ret, struct toolrack_error *err);

/** Overwrite and release the key. */
void key_finish(struct key *key);

/** Overwrite, in place, each occurrence of the key in `length` bytes with asterisks. A key shorter
 * than KEY_SECRET_MIN is not overwritten: for local servers people set "x" or "none", which occur
 * in ordinary words and in the JSON around them. */
void key_redact(const struct key *key, char *text, size_t length);
