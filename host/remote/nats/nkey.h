/* nkey.h - the keys by which the users of a NATS server log in: a file of a seed.
 *
 * libnats signs with the seed, and wants to be told the public key. As text, both are base32 of a
 * kind, an Ed25519 seed or public key, and a checksum. */
#pragma once

#include "base/error.h"

/* A public key as text, "U..." with its zero. */
#define NKEY_ROOM 57u

/** Whether a file may hold a secret: a file of this user that no other may read.
 * @return 0; TOOLRACK_E_REFUSED; TOOLRACK_E_IO. [any-thread] */
int nkey_check_file(const char *path, struct toolrack_error *err);

/** The public key of the seed in a file.
 * @return as nkey_check_file(); TOOLRACK_E_INVALID: it holds no seed of a user. [any-thread] */
int nkey_read(const char *path, char ret[static NKEY_ROOM], struct toolrack_error *err);
