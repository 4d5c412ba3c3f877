/* sign.h - files of keys, signatures and packages on the disk. */
#pragma once

#include <limits.h>

#include "package/signature.h"

/** Read a whole file of at most `max` bytes into an empty buffer; `secret`: only one that nobody
 * else can read.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_REFUSED: others could read
 *         the secret; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int sign_read_text(const char *path, size_t max, bool secret, struct buf *out,
                   struct toolrack_error *err);

/** Read a public key: of a file, or the key itself as one word of base64.
 * @return 0; as sign_read_text(); TOOLRACK_E_INVALID. [any-thread] */
int sign_read_public(const char *path_or_key, struct public_key *ret, struct toolrack_error *err);

/** Read the signature of a file, FILE.minisig beside it.
 * @return 0; as sign_read_text(); TOOLRACK_E_INVALID. [any-thread] */
int sign_read_signature(const char *path, struct signature_text *ret, struct toolrack_error *err);

/* What a file was signed as. */
struct signed_file {
    char path[PATH_MAX]; /* of the signature */
    const char *kind;    /* "package", "key" or "file" */
    char comment[SIGNATURE_COMMENT_ROOM];
};

/** Sign a file: one that is called *.trp as a package, which must be one; a public key as one that
 * the signing key signs over to; any other as a file.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int sign_file(const char *path, const struct secret_key *secret, struct signed_file *ret,
              struct toolrack_error *err);

/** Whether a signature is one by which a key signs over to another key, whose file's text is given.
 * @return 0; TOOLRACK_E_REFUSED. [any-thread] */
int sign_verify_succession(const struct signature_text *signature, const struct public_key *old_key,
                           const struct public_key *new_key, const char *text, size_t length,
                           struct toolrack_error *err);
