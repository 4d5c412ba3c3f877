#include "serve/http/keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "serve/http/fetch.h"
#include "serve/http/rhonabwy.h"
#include "serve/http/whole.h"

/* Keys that one token without a key id is tried with. */
#define TRIES_MAX    8u
#define RSA_BITS_MIN 2048u

/* What of a key is kept. Nothing that leads elsewhere (x5u), and nothing secret. */
static const char *const members[] = {"kty", "kid", "alg", "n", "e", "crv", "x", "y"};

struct keys {
    struct keys_source source;
    struct lock lock;       /* of all below */
    pthread_cond_t changed; /* `wanted` or `end` was set */
    yyjson_doc *set;        /* an array of keys; NULL: none were read yet */
    const char *member;     /* of the configuration that names the file or URL */
    uint64_t read_ns;       /* when */
    uint64_t asked_ns;      /* when fetching was last begun; 0: never */
    uint64_t number;        /* of attempts that have ended */
    bool wanted;
    bool end;
    bool running; /* there is a thread */
    pthread_t thread;
};

/* ---------------------------------------------------------------- sets */

static bool is_usable(yyjson_val *key) {
    const char *use = yyjson_get_str(yyjson_obj_get(key, "use"));
    const char *type = yyjson_get_str(yyjson_obj_get(key, "kty"));
    return type != NULL && (use == NULL || strcmp(use, "sig") == 0) &&
           (strcmp(type, "RSA") == 0 || strcmp(type, "EC") == 0 || strcmp(type, "OKP") == 0);
}

static inline void mut_docp(yyjson_mut_doc **doc) {
    yyjson_mut_doc_free(*doc);
}
static inline void docp(yyjson_doc **doc) {
    yyjson_doc_free(*doc);
}

/* The keys of a set that can be used, as an array. NULL: it is no set, or no memory. */
static yyjson_doc *read_set(const char *text, size_t length) {
    CLEANUP(docp) yyjson_doc *given = yyjson_read(text, length, 0);
    CLEANUP(mut_docp) yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_val *keys = yyjson_obj_get(yyjson_doc_get_root(given), "keys");
    if (!yyjson_is_arr(keys) || made == NULL) {
        return NULL;
    }
    yyjson_mut_val *array = yyjson_mut_arr(made);
    yyjson_mut_doc_set_root(made, array);
    yyjson_val *key;
    size_t index;
    size_t max;
    yyjson_arr_foreach (keys, index, max, key) {
        yyjson_mut_val *kept = yyjson_mut_obj(made);
        for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
            yyjson_val *value = yyjson_obj_get(key, members[i]);
            if (yyjson_is_str(value)) {
                (void)yyjson_mut_obj_add_val(made, kept, members[i],
                                             yyjson_val_mut_copy(made, value));
            }
        }
        if (is_usable(key) && yyjson_mut_arr_size(array) < KEYS_MAX) {
            (void)yyjson_mut_arr_append(array, kept);
        }
    }
    return yyjson_mut_doc_imut_copy(made, NULL);
}

static int take_set(struct keys *keys, const struct buf *text, const char *from,
                    struct toolrack_error *err) {
    yyjson_doc *set = text->failed ? NULL : read_set(text->data, text->length);
    if (set == NULL) {
        return error_set_field(err, TOOLRACK_E_INVALID, keys->member,
                               "%s has no JSON Web Key Set, an object with the member \"keys\"; "
                               "%s",
                               from,
                               keys->source.file != NULL
                                       ? "write the keys of the issuer there, or name another file"
                                       : "name the address where the issuer has its keys");
    }
    LOCK_SCOPE(&keys->lock);
    yyjson_doc_free(keys->set);
    keys->set = set;
    keys->read_ns = clock_now_ns();
    return 0;
}

static int read_file(struct keys *keys, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = whole_read(keys->member, keys->source.file, KEYS_BYTES_MAX, &text, err);
    return code < 0 ? code : take_set(keys, &text, keys->source.file, err);
}

/* ---------------------------------------------------------------- fetching */

static void fetch_once(struct keys *keys) {
    struct toolrack_error err = {0};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = fetch(keys->source.url, KEYS_BYTES_MAX, KEYS_FETCH_S, &text, &err);
    code = code < 0 ? code : take_set(keys, &text, keys->source.url, &err);
    lock_take(&keys->lock);
    keys->wanted = false;
    keys->number++;
    lock_release(&keys->lock);
    if (keys->source.fetched != NULL) {
        if (code < 0 && err.field[0] == '\0') {
            utf8_copy(err.field, sizeof err.field, keys->member);
        }
        keys->source.fetched(keys->source.user, code < 0 ? &err : NULL);
    }
}

static void *run(void *user) {
    struct keys *keys = user;
    for (;;) {
        lock_take(&keys->lock);
        while (!keys->wanted && !keys->end) {
            lock_wait(&keys->lock, &keys->changed);
        }
        bool end = keys->end;
        lock_release(&keys->lock);
        if (end) {
            return NULL;
        }
        fetch_once(keys);
    }
}

/* Begin to fetch, if that was not done lately. Whether an attempt is under way. */
static bool ask(struct keys *keys) {
    LOCK_ASSERT_HELD(&keys->lock);
    uint64_t now_ns = clock_now_ns();
    if (!keys->wanted && keys->running &&
        (keys->asked_ns == 0 ||
         now_ns - keys->asked_ns >= (uint64_t)KEYS_AGAIN_S * CLOCK_NS_PER_S)) {
        keys->wanted = true;
        keys->asked_ns = now_ns;
        (void)pthread_cond_signal(&keys->changed);
    }
    return keys->wanted;
}

int keys_load(const struct keys_source *source, struct toolrack_error *err) {
    int code = rhonabwy_load(err);
    return code < 0 || source->file != NULL ? code : fetch_load(err);
}

int keys_create(const struct keys_source *source, struct keys **ret, struct toolrack_error *err) {
    int code = keys_load(source, err);
    struct keys *keys = code < 0 ? NULL : calloc(1, sizeof *keys);
    if (keys == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    keys->source = *source;
    keys->member = source->file != NULL ? "/serve/oauth/jwks_file" : "/serve/oauth/jwks_url";
    lock_init(&keys->lock);
    clock_cond_init(&keys->changed);
    if (source->file != NULL) {
        code = read_file(keys, err);
    } else {
        int failed = thread_start(&keys->thread, run, keys);
        keys->running = failed == 0;
        code = failed == 0 ? 0
                           : error_set(err, TOOLRACK_E_IO, "cannot start a thread: %s",
                                       strerror(failed));
        lock_take(&keys->lock);
        (void)ask(keys);
        lock_release(&keys->lock);
    }
    if (code < 0) {
        keys_destroy(keys);
        return code;
    }
    *ret = keys;
    return 0;
}

void keys_destroy(struct keys *keys) {
    if (keys == NULL) {
        return;
    }
    if (keys->running) {
        lock_take(&keys->lock);
        keys->end = true;
        (void)pthread_cond_signal(&keys->changed);
        lock_release(&keys->lock);
        (void)pthread_join(keys->thread, NULL);
    }
    yyjson_doc_free(keys->set);
    (void)pthread_cond_destroy(&keys->changed);
    lock_finish(&keys->lock);
    free(keys);
}

int keys_reload(struct keys *keys, struct toolrack_error *err) {
    if (keys->source.file != NULL) {
        return read_file(keys, err);
    }
    LOCK_SCOPE(&keys->lock);
    keys->asked_ns = 0;
    (void)ask(keys);
    return 0;
}

uint64_t keys_number(struct keys *keys) {
    LOCK_SCOPE(&keys->lock);
    return keys->number;
}

/* ---------------------------------------------------------------- proofs */

static bool is_equal(yyjson_val *key, const char *member, const char *text) {
    const char *value = yyjson_get_str(yyjson_obj_get(key, member));
    return value != NULL && strcmp(value, text) == 0;
}

static bool fits(yyjson_val *key, const struct jwt *jwt) {
    return is_equal(key, "kty", jwt->key_type) &&
           (jwt->curve == NULL || is_equal(key, "crv", jwt->curve)) &&
           (yyjson_obj_get(key, "alg") == NULL || is_equal(key, "alg", jwt->algorithm)) &&
           (jwt->key_id == NULL || is_equal(key, "kid", jwt->key_id));
}

/* The keys that may have signed it, as texts to be freed, so that nobody waits for a proof. */
static size_t find(struct keys *keys, const struct jwt *jwt, char *found[static TRIES_MAX]) {
    LOCK_ASSERT_HELD(&keys->lock);
    size_t count = 0;
    yyjson_val *key;
    size_t index;
    size_t max;
    yyjson_arr_foreach (yyjson_doc_get_root(keys->set), index, max, key) {
        if (count < TRIES_MAX && fits(key, jwt)) {
            found[count] = yyjson_val_write(key, 0, NULL);
            count += found[count] != NULL;
        }
    }
    return count;
}

static bool is_signed(const char *token, size_t length, const char *key) {
    jwk_t *jwk = NULL;
    jwt_t *jwt = NULL;
    unsigned bits = 0;
    bool is = rhonabwy.jwk_init(&jwk) == RHN_OK && rhonabwy.jwt_init(&jwt) == RHN_OK &&
              rhonabwy.jwk_import_from_json_str(jwk, key) == RHN_OK;
    int type = is ? rhonabwy.jwk_key_type(jwk, &bits, R_FLAG_IGNORE_REMOTE) : R_KEY_TYPE_NONE;
    is = is && (type & R_KEY_TYPE_PUBLIC) != 0 &&
         ((type & R_KEY_TYPE_RSA) == 0 || bits >= RSA_BITS_MIN) &&
         rhonabwy.jwt_advanced_parsen(jwt, token, length, R_PARSE_NONE, R_FLAG_IGNORE_REMOTE) ==
                 RHN_OK &&
         rhonabwy.jwt_verify_signature(jwt, jwk, R_FLAG_IGNORE_REMOTE) == RHN_OK;
    rhonabwy.jwt_free(jwt);
    rhonabwy.jwk_free(jwk);
    return is;
}

enum keys_answer keys_prove(struct keys *keys, const char *token, size_t length,
                            const struct jwt *jwt, uint64_t *ret_number) {
    char *found[TRIES_MAX];
    lock_take(&keys->lock);
    *ret_number = keys->number;
    size_t count = find(keys, jwt, found);
    bool is_old = clock_now_ns() - keys->read_ns >= (uint64_t)KEYS_FRESH_S * CLOCK_NS_PER_S;
    bool asked = (count == 0 || is_old) && ask(keys);
    enum keys_answer answer = count > 0           ? KEYS_WRONG
                              : asked             ? KEYS_LATER
                              : keys->set == NULL ? KEYS_MISSING
                                                  : KEYS_WRONG;
    lock_release(&keys->lock);
    for (size_t i = 0; i < count; i++) {
        if (answer != KEYS_PROVEN && is_signed(token, length, found[i])) {
            answer = KEYS_PROVEN;
        }
        free(found[i]);
    }
    return answer;
}
