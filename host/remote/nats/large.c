/* large.c - messages that are larger than the server takes.
 *
 * A call or a result that does not fit is put into the server's object store, and a short message
 * that names it, with its size and digest, is sent in its place: what signs that signs the whole.
 * Who gets it removes it; what nobody gets is gone after an hour. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/nats/parts.h"

CLEANUP_DEFINE(struct objects, objects_close)

/* Most bytes of a message: of the largest arguments or result, and what stands around them. */
#define LARGE_SIZE_MAX  ((size_t)TOOLRACK_RESULT_MAX + 1024u * 1024)
/* How long a message is kept that nobody gets. */
#define LARGE_AGE_S_MAX 3600u

/* A bucket has only some characters: of a group with others it has the hash. */
static void bucket_name(const struct member *member, const char *what, char *ret, size_t room) {
    const char *group = member->options.group;
    unsigned char hash[16];
    char text[2 * sizeof hash + 1] = "";
    bool fits = strspn(group, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_") ==
                strlen(group);
    if (!fits) {
        (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)group, strlen(group),
                                 NULL, 0);
        (void)sodium_bin2hex(text, sizeof text, hash, sizeof hash);
    }
    (void)snprintf(ret, room, "toolrack_%s_%s", fits ? group : text, what);
}

int member_open_bucket(const struct member *member, const char *what, uint64_t age_s_max,
                       struct objects **ret, struct toolrack_error *err) {
    char bucket[OBJECT_BUCKET_MAX + 1];
    bucket_name(member, what, bucket, sizeof bucket);
    return objects_open(member->connection,
                        &(struct objects_options){.bucket = bucket, .age_s_max = age_s_max}, ret,
                        err);
}

int large_put(const struct member *member, const char *what, const struct buf *message,
              struct buf *out, struct toolrack_error *err) {
    CLEANUP(objects_closep) struct objects *objects = NULL;
    struct object_info info;
    unsigned char number[16];
    char name[2 * sizeof number + 1];
    char prefix[160];
    randombytes_buf(number, sizeof number);
    (void)sodium_bin2hex(name, sizeof name, number, sizeof number);
    int code = message->length > LARGE_SIZE_MAX
                       ? error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                   "hosts send at most %zu bytes to each other", LARGE_SIZE_MAX)
                       : member_open_bucket(member, "messages", LARGE_AGE_S_MAX, &objects, err);
    code = code < 0 ? code : object_put(objects, name, message->data, message->length, &info, err);
    if (code < 0) {
        (void)snprintf(prefix, sizeof prefix,
                       "%s of %zu bytes is larger than the %lld that the NATS server takes in one "
                       "message, and cannot be put into its object store",
                       what, message->length, (long long)member->max_payload);
        error_prefix(err, prefix);
        if (err != NULL && code != TOOLRACK_E_NO_MEMORY) {
            err->code = TOOLRACK_E_LIMIT_EXCEEDED; /* it stays as large as it is */
        }
        return code == TOOLRACK_E_NO_MEMORY ? code : TOOLRACK_E_LIMIT_EXCEEDED;
    }
    struct message_object object = {.name = name, .size = info.size};
    memcpy(object.hash, info.hash, sizeof object.hash);
    message_write_object(out, &object);
    return out->failed ? error_oom(err) : 0;
}

int large_take(const struct member *member, const struct message_object *object, struct buf *out,
               struct toolrack_error *err) {
    CLEANUP(objects_closep) struct objects *objects = NULL;
    struct object_info info;
    struct toolrack_error unheard; /* it is gone after an hour */
    size_t begin = out->length;
    size_t size_max = object->size < LARGE_SIZE_MAX ? (size_t)object->size : LARGE_SIZE_MAX;
    int code = member_open_bucket(member, "messages", LARGE_AGE_S_MAX, &objects, err);
    code = code < 0 ? code : object_get(objects, object->name, size_max, out, &info, err);
    if (code == TOOLRACK_E_NOT_FOUND) {
        code = error_set(err, TOOLRACK_E_UNAVAILABLE,
                         "what was sent by the object store of NATS is no longer there");
    }
    if (code == 0 && memcmp(info.hash, object->hash, sizeof info.hash) != 0) {
        buf_truncate(out, begin);
        code = error_set(err, TOOLRACK_E_INVALID,
                         "the object \"%.80s\" of NATS has another digest than the host that sent "
                         "it says",
                         object->name);
    }
    if (code == 0) {
        (void)object_delete(objects, object->name, &unheard);
    }
    return code;
}
