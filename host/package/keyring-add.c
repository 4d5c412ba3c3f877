/* A key is added to the keyring. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "package/keyring.h"
#include "package/sign.h"

/* What is being added. */
struct adding {
    const char *path;
    struct keyring before;
    struct public_key key;
    char id[KEY_ID_ROOM];
    const struct keyring_key *old; /* the key that it follows, of `before`; NULL: none */
};

static void finish(struct adding *adding) {
    keyring_finish(&adding->before);
}

/* Find the key that signed over to it. A signature of a key that is not in the keyring says
 * nothing; one that does not hold is an error. */
static int find_old(struct adding *adding, struct toolrack_error *err) {
    struct signature_text signature;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error why;
    int code = sign_read_signature(adding->path, &signature, &why);
    if (code == TOOLRACK_E_NOT_FOUND) {
        return 0;
    }
    code = code == 0 ? sign_read_text(adding->path, KEY_TEXT_MAX, false, &text, &why) : code;
    const struct keyring_key *old =
            code == 0 ? keyring_find(&adding->before, signature.number) : NULL;
    if (code == 0 && old != NULL) {
        code = sign_verify_succession(&signature, &old->key, &adding->key, text.data, text.length,
                                      &why);
    }
    if (code < 0) {
        toolrack_error_copy(err, &why);
        return code;
    }
    adding->old = old != NULL && strcmp(old->id, adding->id) != 0 ? old : NULL;
    return 0;
}

static int check_ids(const char *const *ids, struct toolrack_error *err) {
    size_t count = 0;
    size_t length = 0;
    for (; ids != NULL && ids[count] != NULL; count++) {
        if (!keyring_pattern_valid(ids[count])) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "\"%.100s\" is no pattern of ids: write an id such as "
                             "org.example.hello, a begin of ids such as \"org.example.*\", or "
                             "\"*\"",
                             ids[count]);
        }
        length += strlen(ids[count]) + 1;
    }
    if (count == 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a key needs ids that it may sign: give --ids PATTERN, such as an id, "
                         "\"org.example.*\" or \"*\"");
    }
    return count <= KEYRING_PATTERNS_MAX && length <= KEYRING_IDS_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "a key has at most %u patterns of %u bytes together",
                               KEYRING_PATTERNS_MAX, KEYRING_IDS_MAX);
}

/* What the key may sign, as the store has it. */
static int join_ids(const struct adding *adding, const char *const *ids, struct buf *out,
                    struct toolrack_error *err) {
    int code = ids != NULL ? check_ids(ids, err) : 0;
    if (code < 0) {
        return code;
    }
    if (ids == NULL) {
        buf_add_text(out, adding->old->ids);
    }
    for (size_t i = 0; ids != NULL && ids[i] != NULL; i++) {
        buf_printf(out, "%s%s", i > 0 ? "\n" : "", ids[i]);
    }
    return out->failed ? error_oom(err) : 0;
}

/* The ids of the keys before it; those of a key that is there already stay. */
static int join_follows(const struct adding *adding, struct buf *out, struct toolrack_error *err) {
    const struct keyring_key *present = keyring_find(&adding->before, adding->key.number);
    buf_add_text(out, "");
    if (adding->old != NULL) {
        buf_printf(out, "%s%s%s", adding->old->id, adding->old->follows[0] != '\0' ? "\n" : "",
                   adding->old->follows);
    } else if (present != NULL) {
        buf_add_text(out, present->follows);
    }
    return out->failed ? error_oom(err) : 0;
}

static int check_trust(const struct adding *adding, int trust, const char *const *ids,
                       struct toolrack_error *err) {
    if (trust >= 0) {
        return ids != NULL ? 0 : check_ids(NULL, err);
    }
    if (ids != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a key with ids needs its trust: give --trust community, or --trust "
                         "official");
    }
    return adding->old != NULL
                   ? 0
                   : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                               "no key that is trusted here signs over to key %s; say how it is "
                               "trusted, and which ids it may sign: %s",
                               adding->id,
                               COMMAND("keys add --trust community --ids ID", adding->path));
}

/* The key alone, as it is now. */
static int read_back(struct store *store, const struct adding *adding, struct keyring *ret,
                     struct toolrack_error *err) {
    int code = keyring_read(store, ret, err);
    const struct keyring_key *key = code == 0 ? keyring_find(ret, adding->key.number) : NULL;
    if (key != NULL) {
        ret->keys[0] = *key;
        ret->count = 1;
    }
    return code;
}

int keyring_add(struct store *store, const char *path, int trust, const char *const *ids,
                const char *name, const char *who, struct keyring *ret,
                struct toolrack_error *err) {
    CLEANUP(finish) struct adding adding = {.path = path};
    CLEANUP(buf_finish) struct buf patterns = BUF_INIT;
    CLEANUP(buf_finish) struct buf follows = BUF_INIT;
    keyring_init(ret);
    int code = keyring_read(store, &adding.before, err);
    code = code == 0 ? sign_read_public(path, &adding.key, err) : code;
    if (code < 0) {
        return code;
    }
    (void)key_id(adding.key.number, adding.id);
    code = find_old(&adding, err);
    code = code == 0 ? check_trust(&adding, trust, ids, err) : code;
    code = code == 0 ? join_ids(&adding, ids, &patterns, err) : code;
    code = code == 0 ? join_follows(&adding, &follows, err) : code;
    if (code < 0) {
        return code;
    }
    struct store_key key = {.id = adding.id,
                            .trust = trust >= 0 ? trust : (int)adding.old->trust,
                            .ids = patterns.data,
                            .follows = follows.data,
                            .comment = name != NULL ? name : "",
                            .since_s = clock_wall_s(),
                            .who = who};
    memcpy(key.public, adding.key.bytes, sizeof key.public);
    code = store_key_add(store, &key, err);
    return code == 0 ? read_back(store, &adding, ret, err) : code;
}
