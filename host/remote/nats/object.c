#include "remote/nats/object.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Longest subject: that of the name of an object, in base64. */
#define SUBJECT_ROOM_ (OBJECT_BUCKET_MAX + 2u * OBJECT_NAME_MAX)

struct objects {
    jsCtx *jetstream;
    char bucket[OBJECT_BUCKET_MAX + 1];
    char stream[OBJECT_BUCKET_MAX + sizeof "OBJ_"];
    size_t chunk_size;
};

static void message_destroy(natsMsg *message) {
    nats.Msg_Destroy(message);
}
CLEANUP_DEFINE(natsMsg, message_destroy)

/* ---------------------------------------------------------------- failures */

/* A request to JetStream failed. */
static int fail(const struct objects *objects, const char *what, natsStatus status, jsErrCode why,
                struct toolrack_error *err) {
    if (status == NATS_NO_RESPONDERS || why == JSNotEnabledErr ||
        why == JSNotEnabledForAccountErr) {
        return error_set(err, TOOLRACK_E_UNAVAILABLE,
                         "%s: the NATS server has no JetStream, which keeps what is too large for "
                         "one message; start it with nats-server -js, or have \"jetstream\" in its "
                         "configuration and in that of the account",
                         what);
    }
    if (status == NATS_NO_MEMORY) {
        return error_oom(err);
    }
    bool is_away = status == NATS_TIMEOUT || status == NATS_CONNECTION_CLOSED ||
                   status == NATS_CONNECTION_DISCONNECTED;
    bool is_full = why == JSStorageResourcesExceededErr || why == JSMemoryResourcesExceededErr ||
                   why == JSInsufficientResourcesErr || why == JSStreamStoreFailedErr;
    return error_set(err,
                     is_away   ? TOOLRACK_E_UNAVAILABLE
                     : is_full ? TOOLRACK_E_LIMIT_EXCEEDED
                               : TOOLRACK_E_IO,
                     "%s: the bucket \"%s\" of the object store of NATS: %s (error %d of "
                     "JetStream)%s",
                     what, objects->bucket, nats.Status_GetText(status), (int)why,
                     is_full   ? "; it has no room for that: remove objects, or give JetStream more"
                     : is_away ? "; try again when the server answers"
                               : "");
}

static int check_name(const char *name, struct toolrack_error *err) {
    size_t length = strlen(name);
    return length > 0 && length <= OBJECT_NAME_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the name of an object has %zu bytes; it has 1 to %u", length,
                               OBJECT_NAME_MAX);
}

/* ---------------------------------------------------------------- subjects */

static void chunk_subject(const struct objects *objects, const char *nuid,
                          char ret[static SUBJECT_ROOM_]) {
    (void)snprintf(ret, SUBJECT_ROOM_, "$O.%s.C.%s", objects->bucket, nuid);
}

/* The name fits: see check_name(). */
static void info_subject(const struct objects *objects, const char *name,
                         char ret[static SUBJECT_ROOM_]) {
    int length = snprintf(ret, SUBJECT_ROOM_, "$O.%s.M.", objects->bucket);
    (void)sodium_bin2base64(ret + length, SUBJECT_ROOM_ - (size_t)length,
                            (const unsigned char *)name, strlen(name),
                            sodium_base64_VARIANT_URLSAFE);
}

/* ----------------------------------------------------------- open and close */

static bool is_bucket(const char *name) {
    size_t length = strlen(name);
    return length > 0 && length <= OBJECT_BUCKET_MAX &&
           strspn(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_") ==
                   length;
}

static int open_stream(struct objects *objects, const struct objects_options *options,
                       struct toolrack_error *err) {
    char chunks[SUBJECT_ROOM_];
    char infos[SUBJECT_ROOM_];
    const char *subjects[] = {chunks, infos};
    jsStreamConfig wanted;
    jsErrCode why = 0;
    (void)snprintf(chunks, sizeof chunks, "$O.%s.C.>", objects->bucket);
    (void)snprintf(infos, sizeof infos, "$O.%s.M.>", objects->bucket);
    (void)nats.jsStreamConfig_Init(&wanted);
    wanted.Name = objects->stream;
    wanted.Description = options->description;
    wanted.Subjects = subjects;
    wanted.SubjectsLen = (int)ARRAY_LENGTH(subjects);
    wanted.MaxAge = (int64_t)options->age_s_max * 1000 * 1000 * 1000;
    wanted.MaxBytes = options->bytes_max > 0 ? (int64_t)options->bytes_max : -1;
    wanted.Discard = js_DiscardNew;
    wanted.AllowRollup = true;
    wanted.AllowDirect = true;
    natsStatus status = nats.js_AddStream(NULL, objects->jetstream, &wanted, NULL, &why);
    /* One that another client made, with other limits, is as good. */
    return status == NATS_OK || why == JSStreamNameExistErr
                   ? 0
                   : fail(objects, "the bucket cannot be opened", status, why, err);
}

int objects_open(natsConnection *connection, const struct objects_options *options,
                 struct objects **ret, struct toolrack_error *err) {
    jsOptions request;
    if (!is_bucket(options->bucket)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "\"%.80s\" is no name of a bucket: 1 to %u letters, digits, \"-\" and "
                         "\"_\"",
                         options->bucket, OBJECT_BUCKET_MAX);
    }
    struct objects *objects = calloc(1, sizeof *objects);
    if (objects == NULL) {
        return error_oom(err);
    }
    (void)snprintf(objects->bucket, sizeof objects->bucket, "%s", options->bucket);
    (void)snprintf(objects->stream, sizeof objects->stream, "OBJ_%s", options->bucket);
    int64_t payload_max = nats.Connection_GetMaxPayload(connection);
    objects->chunk_size = payload_max > 0 && payload_max < OBJECT_CHUNK_SIZE ? (size_t)payload_max
                                                                             : OBJECT_CHUNK_SIZE;
    (void)nats.jsOptions_Init(&request);
    request.Wait = OBJECT_WAIT_MS;
    natsStatus status = nats.Connection_JetStream(&objects->jetstream, connection, &request);
    int code = status != NATS_OK ? fail(objects, "JetStream cannot be used", status, 0, err)
                                 : open_stream(objects, options, err);
    if (code < 0) {
        objects_close(objects);
        return code;
    }
    *ret = objects;
    return 0;
}

void objects_close(struct objects *objects) {
    if (objects != NULL) {
        nats.jsCtx_Destroy(objects->jetstream);
        free(objects);
    }
}

/* --------------------------------------------------------------------- put */

static int purge(const struct objects *objects, const char *nuid, struct toolrack_error *err) {
    char subject[SUBJECT_ROOM_];
    jsOptions request;
    jsErrCode why = 0;
    chunk_subject(objects, nuid, subject);
    (void)nats.jsOptions_Init(&request);
    request.Stream.Purge.Subject = subject;
    natsStatus status = nats.js_PurgeStream(objects->jetstream, objects->stream, &request, &why);
    return status == NATS_OK ? 0 : fail(objects, "chunks cannot be removed", status, why, err);
}

/* What is said of an object takes the place of what was said before, which makes it visible. */
static int put_info(const struct objects *objects, const struct object_info *info,
                    struct toolrack_error *err) {
    char subject[SUBJECT_ROOM_];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(message_destroyp) natsMsg *message = NULL;
    jsErrCode why = 0;
    object_info_write(&text, info, objects->bucket, objects->chunk_size);
    if (text.failed) {
        return error_oom(err);
    }
    info_subject(objects, info->name, subject);
    natsStatus status = nats.Msg_Create(&message, subject, NULL, text.data, (int)text.length);
    status = status != NATS_OK ? status : nats.MsgHeader_Set(message, "Nats-Rollup", "sub");
    status = status != NATS_OK ? status
                               : nats.js_PublishMsg(NULL, objects->jetstream, message, NULL, &why);
    return status == NATS_OK ? 0 : fail(objects, "an object cannot be put", status, why, err);
}

static int put_chunks(const struct objects *objects, const char *data, size_t length,
                      struct object_info *info, struct toolrack_error *err) {
    char subject[SUBJECT_ROOM_];
    chunk_subject(objects, info->nuid, subject);
    for (size_t at = 0; at < length; info->chunks++) {
        jsErrCode why = 0;
        size_t size = length - at < objects->chunk_size ? length - at : objects->chunk_size;
        natsStatus status = nats.js_Publish(NULL, objects->jetstream, subject, data + at, (int)size,
                                            NULL, &why);
        if (status != NATS_OK) {
            return fail(objects, "an object cannot be put", status, why, err);
        }
        at += size;
    }
    return 0;
}

int object_put(struct objects *objects, const char *name, const void *data, size_t length,
               struct object_info *ret, struct toolrack_error *err) {
    struct object_info before = {.nuid = ""};
    struct object_info info = {.size = length};
    struct toolrack_error unheard; /* what is left of another object is only in nobody's way */
    unsigned char number[16];
    int code = check_name(name, err);
    if (code == 0 && length > OBJECT_SIZE_MAX) {
        code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "an object of %zu bytes is larger than the %u that are taken", length,
                         OBJECT_SIZE_MAX);
    }
    if (code < 0) {
        return code;
    }
    randombytes_buf(number, sizeof number);
    (void)sodium_bin2hex(info.nuid, sizeof info.nuid, number, sizeof number);
    (void)snprintf(info.name, sizeof info.name, "%s", name);
    (void)crypto_hash_sha256(info.hash, data, length);
    (void)object_find(objects, name, &before, &unheard);
    code = put_chunks(objects, data, length, &info, err);
    code = code < 0 ? code : put_info(objects, &info, err);
    if (code < 0) {
        (void)purge(objects, info.nuid, &unheard);
        return code;
    }
    if (before.nuid[0] != '\0') {
        (void)purge(objects, before.nuid, &unheard);
    }
    if (ret != NULL) {
        *ret = info;
    }
    return 0;
}

/* --------------------------------------------------------------------- get */

static int not_found(const struct objects *objects, const char *name, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_NOT_FOUND,
                     "there is no object \"%.80s\" in the bucket \"%s\" of NATS", name,
                     objects->bucket);
}

/* What is said of an object, also of a deleted one. */
static int read_info(const struct objects *objects, const char *name, struct object_info *ret,
                     struct toolrack_error *err) {
    char subject[SUBJECT_ROOM_];
    CLEANUP(message_destroyp) natsMsg *message = NULL;
    jsErrCode why = 0;
    int code = check_name(name, err);
    if (code < 0) {
        return code;
    }
    info_subject(objects, name, subject);
    natsStatus status =
            nats.js_GetLastMsg(&message, objects->jetstream, objects->stream, subject, NULL, &why);
    if (status == NATS_NOT_FOUND) {
        return not_found(objects, name, err);
    }
    if (status != NATS_OK) {
        return fail(objects, "an object cannot be looked for", status, why, err);
    }
    return object_info_read(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message),
                            name, ret, err);
}

int object_find(struct objects *objects, const char *name, struct object_info *ret,
                struct toolrack_error *err) {
    struct object_info found;
    int code = read_info(objects, name, &found, err);
    if (code == 0 && found.deleted) {
        code = not_found(objects, name, err);
    }
    if (code == 0) {
        *ret = found;
    }
    return code;
}

/* The next message of a subject from a number on; `*at` is the number behind it then.
 * @return 0; TOOLRACK_E_NOT_FOUND: there is none; as fail() */
static int next_message(const struct objects *objects, const char *subject, uint64_t *at,
                        natsMsg **ret, struct toolrack_error *err) {
    jsDirectGetMsgOptions wanted;
    (void)nats.jsDirectGetMsgOptions_Init(&wanted);
    wanted.Sequence = *at;
    wanted.NextBySubject = subject;
    natsStatus status =
            nats.js_DirectGetMsg(ret, objects->jetstream, objects->stream, NULL, &wanted);
    if (status == NATS_NOT_FOUND) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "there are no more messages");
    }
    if (status != NATS_OK) {
        return fail(objects, "an object cannot be read", status, 0, err);
    }
    *at = nats.Msg_GetSequence(*ret) + 1;
    return 0;
}

static int not_as_said(const struct objects *objects, const struct object_info *info,
                       const char *what, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID,
                     "the object \"%.80s\" in the bucket \"%s\" of NATS is damaged: %s; put it "
                     "again",
                     info->name, objects->bucket, what);
}

/* One more than the chunks that there should be is asked for: there must be none. */
static int get_chunks(const struct objects *objects, const struct object_info *info,
                      struct buf *out, struct toolrack_error *err) {
    char subject[SUBJECT_ROOM_];
    uint64_t at = 1;
    size_t begin = out->length;
    chunk_subject(objects, info->nuid, subject);
    for (uint64_t chunk = 0; chunk <= info->chunks; chunk++) {
        CLEANUP(message_destroyp) natsMsg *message = NULL;
        bool is_behind = chunk == info->chunks;
        int code = next_message(objects, subject, &at, &message, err);
        if (code == TOOLRACK_E_NOT_FOUND) {
            return is_behind ? 0 : not_as_said(objects, info, "chunks are missing", err);
        }
        if (code < 0) {
            return code;
        }
        size_t size = (size_t)nats.Msg_GetDataLength(message);
        if (is_behind || size > info->size - (out->length - begin)) {
            return not_as_said(objects, info, "it has more bytes than it says", err);
        }
        buf_add(out, nats.Msg_GetData(message), size);
        if (out->failed) {
            return error_oom(err);
        }
    }
    return 0;
}

static int get_checked(const struct objects *objects, const struct object_info *info,
                       struct buf *out, struct toolrack_error *err) {
    unsigned char hash[OBJECT_HASH_SIZE];
    size_t begin = out->length;
    int code = get_chunks(objects, info, out, err);
    if (code < 0) {
        return code;
    }
    if (out->length - begin != info->size) {
        return not_as_said(objects, info, "it has fewer bytes than it says", err);
    }
    (void)crypto_hash_sha256(hash, (const unsigned char *)(info->size > 0 ? out->data + begin : ""),
                             info->size);
    return memcmp(hash, info->hash, sizeof hash) == 0
                   ? 0
                   : not_as_said(objects, info, "its bytes have another digest than it says", err);
}

int object_get(struct objects *objects, const char *name, size_t size_max, struct buf *out,
               struct object_info *ret, struct toolrack_error *err) {
    struct object_info info;
    size_t begin = out->length;
    int code = object_find(objects, name, &info, err);
    if (code == 0 && info.size > size_max) {
        code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the object \"%.80s\" in the bucket \"%s\" of NATS has %llu bytes; at "
                         "most %zu are taken here",
                         name, objects->bucket, (unsigned long long)info.size, size_max);
    }
    if (code < 0) {
        return code;
    }
    code = get_checked(objects, &info, out, err);
    if (code < 0) {
        buf_truncate(out, begin);
    } else if (ret != NULL) {
        *ret = info;
    }
    return code;
}

/* ---------------------------------------------------------- delete and list */

int object_delete(struct objects *objects, const char *name, struct toolrack_error *err) {
    struct object_info info;
    int code = read_info(objects, name, &info, err);
    if (code < 0 || info.deleted) {
        return code;
    }
    info.deleted = true;
    code = put_info(objects, &info, err);
    return code < 0 ? code : purge(objects, info.nuid, err);
}

int objects_list(struct objects *objects, bool (*see)(void *user, const struct object_info *info),
                 void *user, struct toolrack_error *err) {
    char subject[SUBJECT_ROOM_];
    uint64_t at = 1;
    (void)snprintf(subject, sizeof subject, "$O.%s.M.>", objects->bucket);
    for (;;) {
        CLEANUP(message_destroyp) natsMsg *message = NULL;
        struct object_info info;
        struct toolrack_error why;
        int code = next_message(objects, subject, &at, &message, &why);
        if (code < 0) {
            if (code != TOOLRACK_E_NOT_FOUND && err != NULL) {
                *err = why;
            }
            return code == TOOLRACK_E_NOT_FOUND ? 0 : code;
        }
        if (object_info_read(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message),
                             NULL, &info, &why) == 0 &&
            !info.deleted && !see(user, &info)) {
            return 0;
        }
    }
}
