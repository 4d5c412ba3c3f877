/* key.h - keys that sign packages, in the text forms of minisign: what `minisign -G` makes is read
 * here, and `minisign -V` and `-S` read what is made here.
 *
 * A public key, and a secret key:
 *
 *     untrusted comment: minisign public key 1A2B3C4D5E6F7081
 *     base64("Ed", key number (8 bytes), Ed25519 public key (32))
 *
 *     untrusted comment: minisign encrypted secret key
 *     base64("Ed", "Sc", "B2", salt (32), operations (8), memory (8), stream XOR (key number (8),
 *            Ed25519 secret key (64), BLAKE2b-256 of "Ed", the number and the key (32)))
 *
 * The stream is scrypt of the password. A key without a password has two zero bytes in place of
 * "Sc". Numbers are little-endian; the id of a key that is shown is its number as a number of 16
 * hexadecimal digits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define KEY_NUMBER_SIZE  8u
#define KEY_PUBLIC_SIZE  32u
#define KEY_SECRET_SIZE  64u
/* 16 hexadecimal digits and a zero. */
#define KEY_ID_ROOM      17u
/* Largest file of a key or signature that is read. */
#define KEY_TEXT_MAX     4096u
#define KEY_PASSWORD_MAX 1024u

/* What the scrypt of a key that is read may take: as much as minisign writes. */
#define KEY_OPERATIONS_MAX 33554432u
#define KEY_MEMORY_MAX     1073741824u

struct public_key {
    uint8_t number[KEY_NUMBER_SIZE];
    uint8_t bytes[KEY_PUBLIC_SIZE];
};

/** Wiped by secret_key_finish(). */
struct secret_key {
    uint8_t number[KEY_NUMBER_SIZE];
    uint8_t bytes[KEY_SECRET_SIZE];
};

/* What scrypt takes; NULL where it is asked for: as minisign does, 1 GiB and some seconds. */
struct key_cost {
    uint64_t operations;
    uint64_t memory;
};

/** The id of a key as it is shown. Returns `ret`. [any-thread] */
const char *key_id(const uint8_t number[KEY_NUMBER_SIZE], char ret[KEY_ID_ROOM]);
/** Read an id; letters of both cases. @return whether it is one. [any-thread] */
bool key_id_parse(const char *text, uint8_t ret_number[KEY_NUMBER_SIZE]);

/** Make a pair of keys with a random number.
 * @return 0; TOOLRACK_E_IO: no random numbers. [any-thread] */
int key_create(struct public_key *ret_public, struct secret_key *ret_secret,
               struct toolrack_error *err);
/** The public half of a secret key. [any-thread] */
void key_public_of(const struct secret_key *secret, struct public_key *ret);
void secret_key_finish(struct secret_key *secret);

/** Read a public key: a file's text of two lines, or the line of base64 alone, as `minisign -P`
 * takes it.
 * @return 0; TOOLRACK_E_INVALID. [any-thread] */
int public_key_parse(const char *text, size_t length, struct public_key *ret,
                     struct toolrack_error *err);
/** Append a public key as text, two lines. [any-thread] */
void public_key_write(const struct public_key *key, struct buf *out);

/** Whether the text of a secret key needs a password.
 * @return 0; TOOLRACK_E_INVALID: it is no secret key. [any-thread] */
int secret_key_is_encrypted(const char *text, size_t length, bool *ret, struct toolrack_error *err);
/** Read a secret key.
 * @param password  borrowed; NULL for a key without one
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_PERMISSION_DENIED: the password is wrong, or is
 * missing; TOOLRACK_E_LIMIT_EXCEEDED: its scrypt takes more than KEY_OPERATIONS_MAX or
 *         KEY_MEMORY_MAX; TOOLRACK_E_NO_MEMORY. [any-thread] */
int secret_key_parse(const char *text, size_t length, const char *password, struct secret_key *ret,
                     struct toolrack_error *err);
/** Append a secret key as text, encrypted if there is a password. The caller wipes `out`.
 * @param cost  NULL: that of minisign
 * @return 0; TOOLRACK_E_NO_MEMORY, also for scrypt. [any-thread] */
int secret_key_write(const struct secret_key *secret, const char *password,
                     const struct key_cost *cost, struct buf *out, struct toolrack_error *err);
