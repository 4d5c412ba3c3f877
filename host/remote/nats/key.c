#include "remote/nats/key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/new-file.h"
#include "base/own-folder.h"

/* In the state folder: the seed of the key in base64. */
#define KEY_FILE "host.key"

struct key {
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    char text[KEY_TEXT_ROOM];
};

/* --------------------------------------------------------------------- key */

/* Base64 of bytes that fit. */
static void to_text(const unsigned char *bytes, size_t size, char *ret, size_t room) {
    (void)sodium_bin2base64(ret, room, bytes, size, sodium_base64_VARIANT_ORIGINAL);
}

static bool from_text(const char *text, unsigned char *ret, size_t size) {
    size_t length = strlen(text);
    size_t found = 0;
    unsigned char bytes[128];
    if (base64_decoded_size_max(length) > sizeof bytes ||
        base64_decode(text, length, bytes, &found) != NULL || found != size) {
        return false;
    }
    memcpy(ret, bytes, size);
    sodium_memzero(bytes, sizeof bytes);
    return true;
}

static void key_fill(struct key *key, const unsigned char seed[crypto_sign_SEEDBYTES]) {
    unsigned char public[crypto_sign_PUBLICKEYBYTES];
    (void)crypto_sign_seed_keypair(public, key->secret, seed);
    to_text(public, sizeof public, key->text, sizeof key->text);
}

static int read_seed(const char *path, unsigned char seed[crypto_sign_SEEDBYTES],
                     struct toolrack_error *err) {
    char text[128] = "";
    struct stat status;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length = fd >= 0 && fstat(fd, &status) == 0 ? read(fd, text, sizeof text - 1) : -1;
    if (length < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "the key of this host cannot be read from %s: %s", path, strerror(errno));
    }
    if ((status.st_mode & 077u) != 0 || status.st_uid != geteuid()) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s holds the key of this host and is not of this user alone; "
                         "chmod 600 it, or remove it to get a new key",
                         path);
    }
    text[strcspn(text, "\n")] = '\0';
    bool is_seed = from_text(text, seed, crypto_sign_SEEDBYTES);
    sodium_memzero(text, sizeof text);
    return is_seed ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "%s holds no key of a host; remove it to get a new one", path);
}

/* Another process may make the key at the same time: then that one is read. */
static int make_seed(const char *path, unsigned char seed[crypto_sign_SEEDBYTES],
                     struct toolrack_error *err) {
    char text[KEY_TEXT_ROOM + 1];
    randombytes_buf(seed, crypto_sign_SEEDBYTES);
    to_text(seed, crypto_sign_SEEDBYTES, text, KEY_TEXT_ROOM);
    size_t length = strlen(text);
    text[length] = '\n';
    int code = new_file_write(path, text, length + 1, 0600, false, err);
    sodium_memzero(text, sizeof text);
    return code == TOOLRACK_E_EXISTS ? read_seed(path, seed, err) : code;
}

int key_open(const char *folder, struct key **ret, struct toolrack_error *err) {
    unsigned char seed[crypto_sign_SEEDBYTES];
    int code = 0;
    if (sodium_init() < 0) {
        return error_set(err, TOOLRACK_E_IO, "libsodium cannot be set up");
    }
    CLEANUP(key_destroyp) struct key *key = calloc(1, sizeof *key);
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    buf_printf(&path, "%s/" KEY_FILE, folder != NULL ? folder : "");
    if (key == NULL || path.failed) {
        return error_oom(err);
    }
    if (folder == NULL) {
        randombytes_buf(seed, sizeof seed);
    } else {
        code = read_seed(path.data, seed, err);
        if (code == TOOLRACK_E_NOT_FOUND) {
            int failed = own_folder_check(folder, true);
            code = failed < 0 ? error_set(err, TOOLRACK_E_IO,
                                          "the key of this host cannot be kept in %s: %s", folder,
                                          own_folder_words(failed))
                              : make_seed(path.data, seed, err);
        }
    }
    if (code == 0) {
        key_fill(key, seed);
        *ret = STEAL(key);
    }
    sodium_memzero(seed, sizeof seed);
    return code;
}

void key_destroy(struct key *key) {
    if (key != NULL) {
        sodium_memzero(key, sizeof *key);
        free(key);
    }
}

const char *key_public(const struct key *key) {
    return key->text;
}

bool key_is_public(const char *text) {
    unsigned char public[crypto_sign_PUBLICKEYBYTES];
    return from_text(text, public, sizeof public);
}

/* --------------------------------------------------------------- signature */

/* Parts of a hash, each with its length, so that no two lists of them have the same bytes. */
static void add_part(crypto_generichash_state *state, const void *data, size_t size) {
    unsigned char length[8];
    for (unsigned byte = 0; byte < sizeof length; byte++) {
        length[byte] = (unsigned char)((uint64_t)size >> (8 * byte));
    }
    (void)crypto_generichash_update(state, length, sizeof length);
    (void)crypto_generichash_update(state, data, size);
}

static void add_text(crypto_generichash_state *state, const char *text) {
    add_part(state, text, strlen(text));
}

static void add_statement(crypto_generichash_state *state, const struct key_statement *statement) {
    add_text(state, statement->purpose);
    add_text(state, statement->group);
    add_text(state, statement->instance);
    add_text(state, statement->time);
    add_text(state, statement->nonce);
    add_part(state, statement->data, statement->length);
    if (statement->reply != NULL) {
        add_text(state, statement->reply);
    }
}

static void digest(const struct key_statement *statement,
                   unsigned char ret[crypto_generichash_BYTES]) {
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES);
    add_text(&state, "toolrack host 1");
    add_statement(&state, statement);
    (void)crypto_generichash_final(&state, ret, crypto_generichash_BYTES);
}

void key_sign(const struct key *key, const struct key_statement *statement,
              char ret[static KEY_SIGNATURE_ROOM]) {
    unsigned char hash[crypto_generichash_BYTES];
    unsigned char signature[crypto_sign_BYTES];
    digest(statement, hash);
    (void)crypto_sign_detached(signature, NULL, hash, sizeof hash, key->secret);
    to_text(signature, sizeof signature, ret, KEY_SIGNATURE_ROOM);
}

bool key_verify(const char *public, const char *signature, const struct key_statement *statement) {
    unsigned char hash[crypto_generichash_BYTES];
    unsigned char key[crypto_sign_PUBLICKEYBYTES];
    unsigned char signed_bytes[crypto_sign_BYTES];
    if (!from_text(public, key, sizeof key) ||
        !from_text(signature, signed_bytes, sizeof signed_bytes)) {
        return false;
    }
    digest(statement, hash);
    return crypto_sign_verify_detached(signed_bytes, hash, sizeof hash, key) == 0;
}

/* -------------------------------------------------------------------- code */

bool key_agree(const struct key *key, const char *public, struct key_secret *ret) {
    unsigned char theirs[crypto_sign_PUBLICKEYBYTES];
    unsigned char point[crypto_scalarmult_BYTES];
    unsigned char own[crypto_scalarmult_SCALARBYTES];
    unsigned char secret[crypto_scalarmult_BYTES];
    bool is_first = strcmp(key->text, public) < 0; /* both hash the same */
    bool can = from_text(public, theirs, sizeof theirs) &&
               crypto_sign_ed25519_pk_to_curve25519(point, theirs) == 0 &&
               crypto_sign_ed25519_sk_to_curve25519(own, key->secret) == 0 &&
               crypto_scalarmult(secret, own, point) == 0;
    if (can) {
        crypto_generichash_state state;
        (void)crypto_generichash_init(&state, secret, sizeof secret, sizeof ret->bytes);
        add_text(&state, "toolrack pair 1");
        add_text(&state, is_first ? key->text : public);
        add_text(&state, is_first ? public : key->text);
        (void)crypto_generichash_final(&state, ret->bytes, sizeof ret->bytes);
        sodium_memzero(&state, sizeof state);
    }
    sodium_memzero(own, sizeof own);
    sodium_memzero(secret, sizeof secret);
    return can;
}

void key_code(const struct key_secret *secret, const char *maker,
              const struct key_statement *statement, char ret[static KEY_TEXT_ROOM]) {
    unsigned char code[crypto_generichash_BYTES];
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, secret->bytes, sizeof secret->bytes, sizeof code);
    add_text(&state, maker);
    add_statement(&state, statement);
    (void)crypto_generichash_final(&state, code, sizeof code);
    to_text(code, sizeof code, ret, KEY_TEXT_ROOM);
}

bool key_code_fits(const struct key_secret *secret, const char *maker,
                   const struct key_statement *statement, const char *code) {
    char right[KEY_TEXT_ROOM];
    key_code(secret, maker, statement, right);
    return strlen(code) == sizeof right - 1 && sodium_memcmp(code, right, sizeof right - 1) == 0;
}

void key_nonce(char ret[static KEY_NONCE_ROOM]) {
    unsigned char bytes[16];
    randombytes_buf(bytes, sizeof bytes);
    (void)sodium_bin2hex(ret, KEY_NONCE_ROOM, bytes, sizeof bytes);
}

/* ------------------------------------------------------------------ nonces */

/* A nonce is remembered until its time is too old to be taken anyway: its own time and the skew.
 * The table has twice as many places as nonces are kept, and is searched from the place of a hash
 * on. */
#define PLACES (2u * KEY_NONCES_MAX)

struct seen {
    unsigned char nonce[16];
    int64_t until_ms; /* 0: the place is free */
};

struct nonces {
    pthread_mutex_t lock;
    size_t count;
    struct seen *places;
};

struct nonces *nonces_create(void) {
    struct nonces *nonces = calloc(1, sizeof *nonces);
    if (nonces != NULL) {
        (void)pthread_mutex_init(&nonces->lock, NULL);
    }
    return nonces;
}

void nonces_destroy(struct nonces *nonces) {
    if (nonces != NULL) {
        (void)pthread_mutex_destroy(&nonces->lock);
        free(nonces->places);
        free(nonces);
    }
}

static struct seen *place_of(struct seen *places, const unsigned char nonce[16]) {
    uint32_t at;
    memcpy(&at, nonce, sizeof at);
    struct seen *place = &places[at % PLACES];
    while (place->until_ms != 0 && memcmp(place->nonce, nonce, sizeof place->nonce) != 0) {
        place = place + 1 == places + PLACES ? places : place + 1;
    }
    return place;
}

/* Keep only those that are not too old. False: out of memory. Caller holds the lock. */
static bool forget_old(struct nonces *nonces, int64_t now_ms) {
    struct seen *kept = calloc(PLACES, sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    nonces->count = 0;
    for (size_t i = 0; nonces->places != NULL && i < PLACES; i++) {
        if (nonces->places[i].until_ms >= now_ms) {
            *place_of(kept, nonces->places[i].nonce) = nonces->places[i];
            nonces->count++;
        }
    }
    free(nonces->places);
    nonces->places = kept;
    return true;
}

/* Caller holds the lock. */
static int take(struct nonces *nonces, const unsigned char nonce[16], int64_t until_ms,
                int64_t now_ms, struct toolrack_error *err) {
    bool is_full = nonces->places == NULL || nonces->count >= KEY_NONCES_MAX;
    if (is_full && !forget_old(nonces, now_ms)) {
        return error_oom(err);
    }
    struct seen *place = place_of(nonces->places, nonce);
    if (place->until_ms != 0) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "a request with this signature was taken before; each is taken once");
    }
    if (nonces->count >= KEY_NONCES_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "more than %u signed requests came within %d s; try again later",
                         KEY_NONCES_MAX, 2 * KEY_SKEW_MS_MAX / 1000);
    }
    memcpy(place->nonce, nonce, sizeof place->nonce);
    place->until_ms = until_ms;
    nonces->count++;
    return 0;
}

int nonces_take(struct nonces *nonces, const char *time, const char *nonce, int64_t now_ms,
                struct toolrack_error *err) {
    unsigned char bytes[16];
    size_t size = 0;
    char *end = NULL;
    errno = 0;
    long long time_ms = strtoll(time, &end, 10);
    if (errno != 0 || end == time || *end != '\0' || strlen(nonce) != 2 * sizeof bytes ||
        sodium_hex2bin(bytes, sizeof bytes, nonce, strlen(nonce), NULL, &size, NULL) != 0 ||
        size != sizeof bytes) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "the time or the nonce of the signed request is none");
    }
    if (time_ms < now_ms - KEY_SKEW_MS_MAX || time_ms > now_ms + KEY_SKEW_MS_MAX) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "the signed request was made at another time than it came: %lld ms from "
                         "this host's clock, at most %d; set the clocks of both hosts",
                         (long long)(time_ms > now_ms ? time_ms - now_ms : now_ms - time_ms),
                         KEY_SKEW_MS_MAX);
    }
    (void)pthread_mutex_lock(&nonces->lock);
    int code = take(nonces, bytes, time_ms + KEY_SKEW_MS_MAX, now_ms, err);
    (void)pthread_mutex_unlock(&nonces->lock);
    return code;
}
