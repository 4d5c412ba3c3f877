#include "package/signature.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "package/lines.h"

static_assert(SIGNATURE_SIZE == crypto_sign_BYTES, "what libsodium makes");
static_assert(SIGNATURE_HASH_SIZE == crypto_generichash_BYTES_MAX, "what libsodium makes");

#define READ_SIZE (64u * 1024)

/* The bytes that the first base64 stands for. */
struct signature_bytes {
    uint8_t algorithm[2];
    uint8_t number[KEY_NUMBER_SIZE];
    uint8_t signature[SIGNATURE_SIZE];
};
static_assert(sizeof(struct signature_bytes) == 74, "without padding");

static const uint8_t algorithm_prehashed[2] = {'E', 'D'};
static const uint8_t algorithm_legacy[2] = {'E', 'd'};

/* What the second signature is of. */
struct signed_comment {
    uint8_t signature[SIGNATURE_SIZE];
    char comment[SIGNATURE_COMMENT_ROOM];
};

/* -------------------------------------------------------------------- hash */

int signature_hash(int fd, uint64_t size_max, uint8_t ret[SIGNATURE_HASH_SIZE], uint64_t *ret_size,
                   struct toolrack_error *err) {
    unsigned char bytes[READ_SIZE];
    uint64_t at = 0;
    crypto_generichash_state state;
    if (sodium_init() < 0) { /* it finds the fastest way on this processor */
        return error_set(err, TOOLRACK_E_IO,
                         "libsodium cannot start: there is no source of random numbers");
    }
    (void)crypto_generichash_init(&state, NULL, 0, SIGNATURE_HASH_SIZE);
    for (;;) {
        ssize_t length = pread(fd, bytes, sizeof bytes, (off_t)at);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length < 0) {
            return error_set(err, TOOLRACK_E_IO, "the file cannot be read: %s", strerror(errno));
        }
        if (length == 0) {
            break;
        }
        at += (uint64_t)length;
        if (at > size_max) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "the file is larger than %llu bytes, which is the most",
                             (unsigned long long)size_max);
        }
        (void)crypto_generichash_update(&state, bytes, (size_t)length);
    }
    (void)crypto_generichash_final(&state, ret, SIGNATURE_HASH_SIZE);
    if (ret_size != NULL) {
        *ret_size = at;
    }
    return 0;
}

/* -------------------------------------------------------------------- text */

/* Copy the word "NAME:..." of a comment. False: it has two of them, or a longer one than there is
 * room. */
static bool copy_word(const char *comment, const char *name, char *ret, size_t room) {
    size_t name_length = strlen(name);
    bool found = false;
    ret[0] = '\0';
    for (const char *at = comment; *at != '\0';) {
        size_t length = strcspn(at, "\t ");
        if (length > name_length && memcmp(at, name, name_length) == 0 && at[name_length] == ':') {
            size_t size = length - name_length - 1;
            if (found || size >= room) {
                return false;
            }
            memcpy(ret, at + name_length + 1, size);
            ret[size] = '\0';
            found = true;
        }
        at += length + (at[length] != '\0');
    }
    return true;
}

static bool read_words(struct signature_text *ret) {
    const char *comment = ret->comment;
    return copy_word(comment, "file", ret->file, sizeof ret->file) &&
           copy_word(comment, "id", ret->id, sizeof ret->id) &&
           copy_word(comment, "version", ret->version, sizeof ret->version) &&
           copy_word(comment, "succeeds", ret->succeeds, sizeof ret->succeeds) &&
           copy_word(comment, "key", ret->key, sizeof ret->key);
}

static bool take_comment(struct line line, char ret[SIGNATURE_COMMENT_ROOM]) {
    size_t before = sizeof LINES_TRUSTED - 1;
    if (!line_begins(line, LINES_TRUSTED) || line.length - before >= SIGNATURE_COMMENT_ROOM ||
        memchr(line.text, '\0', line.length) != NULL || !utf8_valid(line.text, line.length)) {
        return false;
    }
    memcpy(ret, line.text + before, line.length - before);
    ret[line.length - before] = '\0';
    return true;
}

int signature_parse(const char *text, size_t length, struct signature_text *ret,
                    struct toolrack_error *err) {
    struct signature_bytes bytes;
    struct lines lines = lines_of(text, length);
    if (!line_begins(lines_next(&lines), LINES_UNTRUSTED) ||
        !line_decode(lines_next(&lines), &bytes, sizeof bytes) ||
        !take_comment(lines_next(&lines), ret->comment) ||
        !line_decode(lines_next(&lines), ret->global, sizeof ret->global) ||
        lines_next(&lines).text != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this is no signature as `toolrack sign` and minisign write it: four "
                         "lines, of which the first and the third are comments");
    }
    if (memcmp(bytes.algorithm, algorithm_legacy, sizeof bytes.algorithm) == 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the signature is of minisign's old kind, of the file and not of its "
                         "hash; sign again, with `minisign -S -H` or `toolrack sign`");
    }
    if (memcmp(bytes.algorithm, algorithm_prehashed, sizeof bytes.algorithm) != 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the signature is of another kind than Ed25519 of a BLAKE2b hash");
    }
    if (!read_words(ret)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the trusted comment of the signature says one thing twice, or at too "
                         "great length; sign again with `toolrack sign`");
    }
    memcpy(ret->number, bytes.number, sizeof ret->number);
    memcpy(ret->signature, bytes.signature, sizeof ret->signature);
    return 0;
}

/* -------------------------------------------------------------------- sign */

static size_t join_comment(const uint8_t signature[SIGNATURE_SIZE], const char *comment,
                           struct signed_comment *ret) {
    size_t length = strnlen(comment, SIGNATURE_COMMENT_ROOM - 1);
    memcpy(ret->signature, signature, SIGNATURE_SIZE);
    memcpy(ret->comment, comment, length);
    return SIGNATURE_SIZE + length;
}

void signature_make(const uint8_t hash[SIGNATURE_HASH_SIZE], const char *comment,
                    const struct secret_key *secret, struct buf *out) {
    char id[KEY_ID_ROOM];
    uint8_t global[SIGNATURE_SIZE];
    struct signed_comment joined;
    struct signature_bytes bytes;
    memcpy(bytes.algorithm, algorithm_prehashed, sizeof bytes.algorithm);
    memcpy(bytes.number, secret->number, sizeof bytes.number);
    (void)crypto_sign_detached(bytes.signature, NULL, hash, SIGNATURE_HASH_SIZE, secret->bytes);
    size_t length = join_comment(bytes.signature, comment, &joined);
    (void)crypto_sign_detached(global, NULL, (const unsigned char *)&joined, length, secret->bytes);
    buf_printf(out, LINES_UNTRUSTED "signature by key %s\n", key_id(secret->number, id));
    line_encode(&bytes, sizeof bytes, out);
    buf_printf(out, LINES_TRUSTED "%.*s\n", (int)(length - SIGNATURE_SIZE), comment);
    line_encode(global, sizeof global, out);
}

int signature_verify(const struct signature_text *signature,
                     const uint8_t hash[SIGNATURE_HASH_SIZE], const struct public_key *key,
                     struct toolrack_error *err) {
    char id[KEY_ID_ROOM];
    char other[KEY_ID_ROOM];
    struct signed_comment joined;
    if (memcmp(signature->number, key->number, sizeof key->number) != 0) {
        return error_set(err, TOOLRACK_E_REFUSED, "the signature is of key %s, not of key %s",
                         key_id(signature->number, id), key_id(key->number, other));
    }
    if (crypto_sign_verify_detached(signature->signature, hash, SIGNATURE_HASH_SIZE, key->bytes) !=
        0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the signature of key %s is not that of this file: the file was changed "
                         "after it was signed, or the signature is of another file",
                         key_id(key->number, id));
    }
    size_t length = join_comment(signature->signature, signature->comment, &joined);
    if (crypto_sign_verify_detached(signature->global, (const unsigned char *)&joined, length,
                                    key->bytes) != 0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the trusted comment of the signature was changed after key %s signed it",
                         key_id(key->number, id));
    }
    return 0;
}

/* ---------------------------------------------------------------- comments */

void signature_comment_package(const char *file, const char *id, const char *version,
                               struct buf *out) {
    buf_printf(out, "file:%s\tid:%s\tversion:%s", file, id, version);
}

void signature_comment_file(const char *file, struct buf *out) {
    buf_printf(out, "file:%s", file);
}

void signature_comment_key(const uint8_t old_number[KEY_NUMBER_SIZE],
                           const uint8_t new_number[KEY_NUMBER_SIZE], struct buf *out) {
    char old_id[KEY_ID_ROOM];
    char new_id[KEY_ID_ROOM];
    buf_printf(out, "succeeds:%s\tkey:%s", key_id(old_number, old_id), key_id(new_number, new_id));
}
