/* keys.h - the key with which a provider is asked.
 *
 * It comes from the environment and goes into one header, nowhere else: what is
 * printed or kept passes key_redact() first, for a provider may repeat it in what
 * it says. */
#pragma once

#include <stddef.h>

#include "toolrack/format.h"

/* Longest key, and the shortest one that is a secret. */
#define KEY_LENGTH_MAX 4096u
#define KEY_SECRET_MIN 8u

struct key {
    char *value;          /**< owned; NULL: none is set, and none is sent */
    char *header;         /**< owned: the whole header line; NULL as above */
    const char *variable; /**< where it comes from, or would; NULL where none is needed */
};

/** Read it; release with key_finish().
 * @return 0, also without one; TOOLRACK_E_INVALID for one that no header can hold;
 *         TOOLRACK_E_NO_MEMORY. On failure there is nothing to release. [any-thread] */
int key_read(enum toolrack_format format, struct key *ret, struct toolrack_error *err);

/** Overwrite it and release it. */
void key_finish(struct key *key);

/** Overwrite, in place, each occurrence of the key in `length` bytes with asterisks. What is
 * shorter than KEY_SECRET_MIN is no key: servers of one's own are given "x" or "none", which stand
 * in many words, and in the JSON around them. */
void key_redact(const struct key *key, char *text, size_t length);
