#include "package/key.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "package/lines.h"

static_assert(KEY_PUBLIC_SIZE == crypto_sign_PUBLICKEYBYTES, "what libsodium makes");
static_assert(KEY_SECRET_SIZE == crypto_sign_SECRETKEYBYTES, "what libsodium makes");

#define CHECKSUM_SIZE 32u

/* Of a secret key as text. */
#define SECRET_TEXT_MAX 512u

/* The bytes that the base64 of each text stands for. */
struct public_bytes {
    uint8_t algorithm[2];
    struct public_key key;
};
static_assert(sizeof(struct public_bytes) == 42, "without padding");

/* What scrypt's stream is laid over. */
struct inner_bytes {
    uint8_t number[KEY_NUMBER_SIZE];
    uint8_t secret[KEY_SECRET_SIZE];
    uint8_t checksum[CHECKSUM_SIZE];
};

struct secret_bytes {
    uint8_t algorithm[2];
    uint8_t derivation[2];
    uint8_t checksum_algorithm[2];
    uint8_t salt[crypto_pwhash_scryptsalsa208sha256_SALTBYTES];
    uint8_t operations[8];
    uint8_t memory[8];
    struct inner_bytes inner;
};
static_assert(sizeof(struct secret_bytes) == 158, "without padding");

static const uint8_t algorithm_ed25519[2] = {'E', 'd'};
static const uint8_t derivation_scrypt[2] = {'S', 'c'};
static const uint8_t derivation_none[2] = {0, 0};
static const uint8_t checksum_blake2b[2] = {'B', '2'};

static void wipe_secret(struct secret_bytes *bytes) {
    sodium_memzero(bytes, sizeof *bytes);
}

static void wipe_inner(struct inner_bytes *bytes) {
    sodium_memzero(bytes, sizeof *bytes);
}

static uint64_t load_number(const uint8_t bytes[8]) {
    uint64_t number = 0;
    for (size_t i = 8; i > 0; i--) {
        number = number << 8 | bytes[i - 1];
    }
    return number;
}

static void store_number(uint64_t number, uint8_t ret[8]) {
    for (size_t i = 0; i < 8; i++) {
        ret[i] = (uint8_t)(number >> 8 * i);
    }
}

/* ---------------------------------------------------------------------- id */

const char *key_id(const uint8_t number[KEY_NUMBER_SIZE], char ret[KEY_ID_ROOM]) {
    (void)snprintf(ret, KEY_ID_ROOM, "%016llX", (unsigned long long)load_number(number));
    return ret;
}

bool key_id_parse(const char *text, uint8_t ret_number[KEY_NUMBER_SIZE]) {
    static const char digits[] = "0123456789abcdefABCDEF";
    if (strspn(text, digits) != KEY_ID_ROOM - 1 || text[KEY_ID_ROOM - 1] != '\0') {
        return false;
    }
    store_number(strtoull(text, NULL, 16), ret_number);
    return true;
}

/* -------------------------------------------------------------------- pair */

int key_create(struct public_key *ret_public, struct secret_key *ret_secret,
               struct toolrack_error *err) {
    if (sodium_init() < 0) {
        return error_set(err, TOOLRACK_E_IO,
                         "libsodium cannot start: there is no source of random numbers");
    }
    randombytes_buf(ret_secret->number, sizeof ret_secret->number);
    memcpy(ret_public->number, ret_secret->number, sizeof ret_public->number);
    (void)crypto_sign_keypair(ret_public->bytes, ret_secret->bytes);
    return 0;
}

void key_public_of(const struct secret_key *secret, struct public_key *ret) {
    memcpy(ret->number, secret->number, sizeof ret->number);
    (void)crypto_sign_ed25519_sk_to_pk(ret->bytes, secret->bytes);
}

void secret_key_finish(struct secret_key *secret) {
    sodium_memzero(secret, sizeof *secret);
}

/* ------------------------------------------------------------------ public */

int public_key_parse(const char *text, size_t length, struct public_key *ret,
                     struct toolrack_error *err) {
    struct public_bytes bytes;
    struct lines lines = lines_of(text, length);
    struct line line = lines_next(&lines);
    if (line_begins(line, LINES_UNTRUSTED)) {
        line = lines_next(&lines);
    }
    if (!line_decode(line, &bytes, sizeof bytes) || lines_next(&lines).text != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this is no public key: give a file as `toolrack keys new` and minisign "
                         "write it, or its line that begins with RW");
    }
    if (memcmp(bytes.algorithm, algorithm_ed25519, sizeof bytes.algorithm) != 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this public key is for another kind of signature than Ed25519");
    }
    *ret = bytes.key;
    return 0;
}

void public_key_write(const struct public_key *key, struct buf *out) {
    char id[KEY_ID_ROOM];
    struct public_bytes bytes = {.key = *key};
    memcpy(bytes.algorithm, algorithm_ed25519, sizeof bytes.algorithm);
    buf_printf(out, LINES_UNTRUSTED "minisign public key %s\n", key_id(key->number, id));
    line_encode(&bytes, sizeof bytes, out);
}

/* ------------------------------------------------------------------ secret */

/* Of the algorithm, the number and the key. */
static void make_checksum(const struct inner_bytes *inner, uint8_t ret[CHECKSUM_SIZE]) {
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, NULL, 0, CHECKSUM_SIZE);
    (void)crypto_generichash_update(&state, algorithm_ed25519, sizeof algorithm_ed25519);
    (void)crypto_generichash_update(&state, inner->number, sizeof inner->number);
    (void)crypto_generichash_update(&state, inner->secret, sizeof inner->secret);
    (void)crypto_generichash_final(&state, ret, CHECKSUM_SIZE);
}

/* Lay the stream of a password over the inner bytes, or take it away. */
static bool lay_stream(struct secret_bytes *bytes, const char *password) {
    CLEANUP(wipe_inner) struct inner_bytes stream;
    if (crypto_pwhash_scryptsalsa208sha256(
                (unsigned char *)&stream, sizeof stream, password, strlen(password), bytes->salt,
                load_number(bytes->operations), load_number(bytes->memory)) != 0) {
        return false;
    }
    unsigned char *to = (unsigned char *)&bytes->inner;
    for (size_t i = 0; i < sizeof stream; i++) {
        to[i] ^= ((const unsigned char *)&stream)[i];
    }
    return true;
}

static int decode_secret(const char *text, size_t length, struct secret_bytes *ret,
                         struct toolrack_error *err) {
    struct lines lines = lines_of(text, length);
    struct line line = lines_next(&lines);
    if (line_begins(line, LINES_UNTRUSTED)) {
        line = lines_next(&lines);
    }
    if (!line_decode(line, ret, sizeof *ret) || lines_next(&lines).text != NULL ||
        memcmp(ret->algorithm, algorithm_ed25519, sizeof ret->algorithm) != 0 ||
        memcmp(ret->checksum_algorithm, checksum_blake2b, sizeof ret->checksum_algorithm) != 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this is no secret key: give a file as `toolrack keys new` and minisign "
                         "write it");
    }
    if (memcmp(ret->derivation, derivation_scrypt, sizeof ret->derivation) != 0 &&
        memcmp(ret->derivation, derivation_none, sizeof ret->derivation) != 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this secret key is encrypted in another way than minisign does it");
    }
    return 0;
}

static bool is_encrypted(const struct secret_bytes *bytes) {
    return memcmp(bytes->derivation, derivation_scrypt, sizeof bytes->derivation) == 0;
}

int secret_key_is_encrypted(const char *text, size_t length, bool *ret,
                            struct toolrack_error *err) {
    CLEANUP(wipe_secret) struct secret_bytes bytes;
    int code = decode_secret(text, length, &bytes, err);
    if (code == 0) {
        *ret = is_encrypted(&bytes);
    }
    return code;
}

static int decrypt(struct secret_bytes *bytes, const char *password, struct toolrack_error *err) {
    if (password == NULL) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "the secret key needs its password; type it at a terminal, or give "
                         "--password-file");
    }
    if (load_number(bytes->operations) > KEY_OPERATIONS_MAX ||
        load_number(bytes->memory) > KEY_MEMORY_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the secret key asks for more work than minisign's keys: %llu operations "
                         "and %llu bytes of memory",
                         (unsigned long long)load_number(bytes->operations),
                         (unsigned long long)load_number(bytes->memory));
    }
    return lay_stream(bytes, password)
                   ? 0
                   : error_set(err, TOOLRACK_E_NO_MEMORY,
                               "there is not enough memory for the password of the secret key: it "
                               "takes %llu MiB",
                               (unsigned long long)load_number(bytes->memory) >> 20);
}

/* The checksum of a key that is not encrypted is zero where minisign wrote it. Its second half is
 * the public key, which follows from the first. */
static bool is_whole(const struct inner_bytes *inner) {
    uint8_t public[KEY_PUBLIC_SIZE];
    CLEANUP(secret_key_finish) struct secret_key made;
    (void)crypto_sign_seed_keypair(public, made.bytes, inner->secret);
    return sodium_memcmp(made.bytes, inner->secret, sizeof made.bytes) == 0;
}

int secret_key_parse(const char *text, size_t length, const char *password, struct secret_key *ret,
                     struct toolrack_error *err) {
    CLEANUP(wipe_secret) struct secret_bytes bytes;
    uint8_t checksum[CHECKSUM_SIZE];
    int code = decode_secret(text, length, &bytes, err);
    if (code == 0 && is_encrypted(&bytes)) {
        code = decrypt(&bytes, password, err);
    }
    if (code < 0) {
        return code;
    }
    if (!is_encrypted(&bytes)) {
        if (!is_whole(&bytes.inner)) {
            return error_set(err, TOOLRACK_E_INVALID, "the secret key is damaged");
        }
    } else {
        make_checksum(&bytes.inner, checksum);
        if (sodium_memcmp(checksum, bytes.inner.checksum, sizeof checksum) != 0) {
            return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                             "the password is not that of the secret key");
        }
    }
    memcpy(ret->number, bytes.inner.number, sizeof ret->number);
    memcpy(ret->bytes, bytes.inner.secret, sizeof ret->bytes);
    return 0;
}

/* As minisign: where there is not so much memory, the half of it, and so on. */
static bool encrypt(struct secret_bytes *bytes, const char *password, const struct key_cost *cost) {
    uint64_t operations =
            cost != NULL ? cost->operations : crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE;
    uint64_t memory =
            cost != NULL ? cost->memory : crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE;
    memcpy(bytes->derivation, derivation_scrypt, sizeof bytes->derivation);
    randombytes_buf(bytes->salt, sizeof bytes->salt);
    for (;;) {
        store_number(operations, bytes->operations);
        store_number(memory, bytes->memory);
        if (lay_stream(bytes, password)) {
            return true;
        }
        operations /= 2;
        memory /= 2;
        if (operations < crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_MIN ||
            memory < crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_MIN) {
            return false;
        }
    }
}

int secret_key_write(const struct secret_key *secret, const char *password,
                     const struct key_cost *cost, struct buf *out, struct toolrack_error *err) {
    CLEANUP(wipe_secret) struct secret_bytes bytes = {0};
    memcpy(bytes.algorithm, algorithm_ed25519, sizeof bytes.algorithm);
    memcpy(bytes.checksum_algorithm, checksum_blake2b, sizeof bytes.checksum_algorithm);
    memcpy(bytes.inner.number, secret->number, sizeof bytes.inner.number);
    memcpy(bytes.inner.secret, secret->bytes, sizeof bytes.inner.secret);
    make_checksum(&bytes.inner, bytes.inner.checksum);
    if (password != NULL && !encrypt(&bytes, password, cost)) {
        return error_set(err, TOOLRACK_E_NO_MEMORY,
                         "there is not enough memory to encrypt the secret key");
    }
    /* Growing would leave parts of the key in memory that is free. */
    if (!buf_reserve(out, SECRET_TEXT_MAX)) {
        return error_oom(err);
    }
    buf_add_text(out, LINES_UNTRUSTED "minisign encrypted secret key\n");
    line_encode(&bytes, sizeof bytes, out);
    return out->failed ? error_oom(err) : 0;
}
