/* signature.h - a detached signature in the form of minisign, of the kind that is prehashed:
 *
 *     untrusted comment: signature by key 1A2B3C4D5E6F7081
 *     base64("ED", key number (8), Ed25519 of BLAKE2b-512 of the file (64))
 *     trusted comment: file:org.example.hello-1.2.0.trp<TAB>id:org.example.hello<TAB>version:1.2.0
 *     base64(Ed25519 of the signature (64) and the trusted comment)
 *
 * The words of a trusted comment are separated by tabs or spaces. That of a package has its id and
 * version: who may sign what is decided before anything of the package is decompressed. A package
 * can be signed by minisign, too:
 *
 *     minisign -S -s key -m FILE.trp -t "file:FILE.trp id:ID version:VERSION"
 *
 * That of a public key, by which an earlier key signs over to that key (succession), is
 *
 *     succeeds:<id of the key that signs><TAB>key:<id of the key that is signed>
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "package/key.h"

#define SIGNATURE_SIZE         64u
#define SIGNATURE_HASH_SIZE    64u /* BLAKE2b-512 */
/* Longest trusted comment, with its zero. */
#define SIGNATURE_COMMENT_ROOM 1024u
/* What a package's file has after its name. */
#define SIGNATURE_SUFFIX       ".minisig"

/** A signature as text says it, and the words of its trusted comment, "" where it has none. Nothing
 * of it is to be believed before signature_verify(). */
struct signature_text {
    uint8_t number[KEY_NUMBER_SIZE]; /* of the key that signed */
    uint8_t signature[SIGNATURE_SIZE];
    uint8_t global[SIGNATURE_SIZE];
    char comment[SIGNATURE_COMMENT_ROOM];
    char file[256];
    char id[65];
    char version[128];
    char succeeds[KEY_ID_ROOM];
    char key[KEY_ID_ROOM];
};

/** The hash of all bytes of a file, read from its begin by pread().
 * @param size_max  a larger file is refused
 * @param ret_size  or NULL
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO. [any-thread] */
int signature_hash(int fd, uint64_t size_max, uint8_t ret[SIGNATURE_HASH_SIZE], uint64_t *ret_size,
                   struct toolrack_error *err);

/** Read a signature.
 * @return 0; TOOLRACK_E_INVALID: also for one that is not prehashed. [any-thread] */
int signature_parse(const char *text, size_t length, struct signature_text *ret,
                    struct toolrack_error *err);

/** Make the signature of a hash, and append it as text.
 * @param comment  one line, shorter than SIGNATURE_COMMENT_ROOM. [any-thread] */
void signature_make(const uint8_t hash[SIGNATURE_HASH_SIZE], const char *comment,
                    const struct secret_key *secret, struct buf *out);

/** Whether a signature is that of a hash, by a key, with its trusted comment.
 * @return 0; TOOLRACK_E_REFUSED: the message says what does not hold. [any-thread] */
int signature_verify(const struct signature_text *signature,
                     const uint8_t hash[SIGNATURE_HASH_SIZE], const struct public_key *key,
                     struct toolrack_error *err);

/** Append the trusted comments of a package, of another file, and of a key that is signed over to.
 * `file` is the name without a folder. [any-thread] */
void signature_comment_package(const char *file, const char *id, const char *version,
                               struct buf *out);
void signature_comment_file(const char *file, struct buf *out);
void signature_comment_key(const uint8_t old_number[KEY_NUMBER_SIZE],
                           const uint8_t new_number[KEY_NUMBER_SIZE], struct buf *out);
