#include "package/keyring.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/semver.h"
#include "package/archive.h"

/* -------------------------------------------------------------------- read */

struct reading {
    struct keyring *to;
    size_t room;
    bool failed;
};

static const char *copy(struct reading *reading, const char *text) {
    const char *copied = arena_copy(&reading->to->arena, text, strlen(text));
    reading->failed |= copied == NULL;
    return copied;
}

static void visit_key(void *user, const struct store_key *stored) {
    struct reading *reading = user;
    struct keyring *ring = reading->to;
    if (reading->failed || ring->count == reading->room) {
        return;
    }
    struct keyring_key *key = &ring->keys[ring->count];
    if (!key_id_parse(stored->id, key->key.number)) {
        return; /* not written by this program */
    }
    memcpy(key->key.bytes, stored->public, sizeof key->key.bytes);
    (void)key_id(key->key.number, key->id);
    key->trust = stored->trust == TRUST_OFFICIAL ? TRUST_OFFICIAL : TRUST_COMMUNITY;
    key->ids = copy(reading, stored->ids);
    key->follows = copy(reading, stored->follows);
    key->comment = copy(reading, stored->comment);
    key->since_s = stored->since_s;
    key->who = copy(reading, stored->who);
    ring->count++;
}

void keyring_init(struct keyring *ring) {
    *ring = (struct keyring){.count = 0};
    arena_init(&ring->arena, NULL, 0);
}

int keyring_read(struct store *store, struct keyring *ret, struct toolrack_error *err) {
    keyring_init(ret);
    struct reading reading = {.to = ret, .room = STORE_KEYS_MAX};
    ret->keys = arena_zalloc(&ret->arena, reading.room * sizeof *ret->keys);
    if (ret->keys == NULL) {
        return error_oom(err);
    }
    int code = store_keys_read(store, visit_key, &reading, err);
    return code == 0 && reading.failed ? error_oom(err) : code;
}

void keyring_finish(struct keyring *ring) {
    arena_finish(&ring->arena);
}

const struct keyring_key *keyring_find(const struct keyring *ring,
                                       const uint8_t number[KEY_NUMBER_SIZE]) {
    for (size_t i = 0; i < ring->count; i++) {
        if (memcmp(ring->keys[i].key.number, number, KEY_NUMBER_SIZE) == 0) {
            return &ring->keys[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ patterns */

bool keyring_pattern_valid(const char *pattern) {
    char begin[MANIFEST_ID_MAX + 1];
    size_t length = strlen(pattern);
    if (strcmp(pattern, "*") == 0) {
        return true;
    }
    if (length > 2 && length - 2 <= MANIFEST_ID_MAX && strcmp(pattern + length - 2, ".*") == 0) {
        memcpy(begin, pattern, length - 2);
        begin[length - 2] = '\0';
        return manifest_id_valid(begin);
    }
    return manifest_id_valid(pattern);
}

static bool pattern_has(const char *pattern, size_t length, const char *id) {
    if (length == 1 && pattern[0] == '*') {
        return true;
    }
    if (length > 2 && pattern[length - 1] == '*') {
        return strncmp(pattern, id, length - 1) == 0 && id[length - 1] != '\0';
    }
    return strlen(id) == length && memcmp(pattern, id, length) == 0;
}

bool keyring_key_signs(const struct keyring_key *key, const char *id) {
    for (const char *at = key->ids; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        if (length > 0 && pattern_has(at, length, id)) {
            return true;
        }
        at += length + (at[length] != '\0');
    }
    return false;
}

bool keyring_key_follows(const struct keyring_key *key, const char *id) {
    if (strcmp(key->id, id) == 0) {
        return true;
    }
    for (const char *at = key->follows; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        if (strlen(id) == length && memcmp(at, id, length) == 0) {
            return true;
        }
        at += length + (at[length] != '\0');
    }
    return false;
}

/* -------------------------------------------------------------------- verify */

static int refuse_key(const struct signature_text *signature, struct toolrack_error *err) {
    char id[KEY_ID_ROOM];
    return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                     "the signature is of key %s, which is not trusted here; if you trust whoever "
                     "has it, add its public key: %s",
                     key_id(signature->number, id),
                     COMMAND("keys add KEY.pub --trust community --ids",
                             manifest_id_valid(signature->id) ? signature->id : "ID"));
}

int keyring_verify(const struct keyring *ring, int fd, const struct signature_text *signature,
                   const struct keyring_key **ret_key, struct toolrack_error *err) {
    uint8_t hash[SIGNATURE_HASH_SIZE];
    const struct keyring_key *key = keyring_find(ring, signature->number);
    if (key == NULL) {
        return refuse_key(signature, err);
    }
    int code = signature_hash(fd, ARCHIVE_SIZE_MAX, hash, NULL, err);
    code = code == 0 ? signature_verify(signature, hash, &key->key, err) : code;
    if (code < 0) {
        return code;
    }
    if (!manifest_id_valid(signature->id) || !semver_valid(signature->version)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the signature is not that of a package: its trusted comment has no id "
                         "and version; sign with `toolrack sign`, or with minisign -S -t "
                         "\"file:FILE id:ID version:VERSION\"");
    }
    if (!keyring_key_signs(key, signature->id)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "key %s must not sign the plugin '%s': its ids do not include that; show "
                         "them: %s",
                         key->id, signature->id, COMMAND("keys list"));
    }
    *ret_key = key;
    return 0;
}
