#include "remote/nats/bucket.h"

#include <stdlib.h>
#include <string.h>

/* How long the server may take for one request. */
#define ANSWER_MS 2000
/* How often a value is tried to be put, while others put theirs. */
#define TRIES_MAX 16

struct bucket {
    jsCtx *context;
    kvStore *values;
};

/* ------------------------------------------------------------------- names */

static void add_name(const char *group, struct buf *out) {
    buf_add_text(out, "toolrack_");
    for (const char *at = group; *at != '\0'; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || *at == '-';
        buf_printf(out, is_plain ? "%c" : "_%02X", (unsigned char)*at);
    }
}

size_t bucket_subject(const char *group, struct buf *out) {
    buf_add_text(out, "$KV.");
    add_name(group, out);
    buf_add_char(out, '.');
    size_t length = out->length;
    buf_add_char(out, '>');
    return length;
}

void bucket_request(const char *group, struct buf *out) {
    buf_add_text(out, "$JS.API.STREAM.INFO.KV_");
    add_name(group, out);
}

/* -------------------------------------------------------------------- open */

static natsStatus make(struct bucket *bucket, const char *name, unsigned size_max) {
    static const int replicas[] = {3, 1};
    natsStatus status = NATS_ERR;
    for (size_t i = 0; status != NATS_OK && i < ARRAY_LENGTH(replicas); i++) {
        kvConfig config;
        (void)nats.kvConfig_Init(&config);
        config.Bucket = name;
        config.Description = "decisions of a group of toolrack hosts";
        config.History = 1;
        config.MaxValueSize = (int32_t)size_max;
        config.Replicas = replicas[i];
        status = nats.js_CreateKeyValue(&bucket->values, bucket->context, &config);
    }
    if (status != NATS_OK) { /* another host may have made it meanwhile */
        status = nats.js_KeyValue(&bucket->values, bucket->context, name);
    }
    return status;
}

int bucket_missing(const char *group, const char *why, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    add_name(group, &name);
    return error_set(err, TOOLRACK_E_UNAVAILABLE,
                     "the NATS server keeps no bucket %s: %s; start it with JetStream "
                     "(nats-server -js), and allow this host's user its use",
                     name.failed ? "" : name.data, why);
}

int bucket_open(natsConnection *connection, const char *group, unsigned size_max,
                struct bucket **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    CLEANUP(bucket_closep) struct bucket *bucket = calloc(1, sizeof *bucket);
    jsOptions options;
    add_name(group, &name);
    if (bucket == NULL || name.failed) {
        return error_oom(err);
    }
    (void)nats.jsOptions_Init(&options);
    options.Wait = ANSWER_MS;
    natsStatus status = nats.Connection_JetStream(&bucket->context, connection, &options);
    if (status == NATS_OK) {
        status = nats.js_KeyValue(&bucket->values, bucket->context, name.data);
    }
    if (status == NATS_NOT_FOUND) {
        status = make(bucket, name.data, size_max);
    }
    if (status != NATS_OK) {
        return bucket_missing(group, nats.Status_GetText(status), err);
    }
    *ret = STEAL(bucket);
    return 0;
}

void bucket_close(struct bucket *bucket) {
    if (bucket != NULL) {
        nats.kvStore_Destroy(bucket->values);
        nats.jsCtx_Destroy(bucket->context);
        free(bucket);
    }
}

/* -------------------------------------------------------------------- read */

static int failed(natsStatus status, const char *what, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_UNAVAILABLE,
                     "the bucket of decisions at the NATS server cannot be %s: %s", what,
                     nats.Status_GetText(status));
}

int bucket_read(struct bucket *bucket,
                void (*visit)(void *user, const char *key, const char *value, size_t length),
                void *user, struct toolrack_error *err) {
    kvWatcher *watcher = NULL;
    kvEntry *entry = NULL;
    natsStatus status = nats.kvStore_WatchAll(&watcher, bucket->values, NULL);
    while (status == NATS_OK) {
        status = nats.kvWatcher_Next(&entry, watcher, ANSWER_MS);
        if (status != NATS_OK || entry == NULL) { /* that was all that is there now */
            break;
        }
        if (nats.kvEntry_Operation(entry) == kvOp_Put) {
            visit(user, nats.kvEntry_Key(entry), nats.kvEntry_Value(entry),
                  (size_t)nats.kvEntry_ValueLen(entry));
        }
        nats.kvEntry_Destroy(entry);
        entry = NULL;
    }
    nats.kvWatcher_Destroy(watcher);
    return status == NATS_OK ? 0 : failed(status, "read", err);
}

/* --------------------------------------------------------------------- put */

int bucket_put(struct bucket *bucket, const char *key, const struct buf *value,
               bool (*keeps)(void *user, const char *key, const char *value, size_t length),
               void *user, struct toolrack_error *err) {
    natsStatus status = NATS_ERR;
    for (unsigned i = 0; status != NATS_OK && i < TRIES_MAX; i++) {
        kvEntry *entry = NULL;
        uint64_t revision = 0;
        status = nats.kvStore_Get(&entry, bucket->values, key);
        if (status == NATS_NOT_FOUND) {
            status =
                    nats.kvStore_Create(NULL, bucket->values, key, value->data, (int)value->length);
        } else if (status == NATS_OK) {
            const char *present = nats.kvEntry_Value(entry);
            size_t length = (size_t)nats.kvEntry_ValueLen(entry);
            bool stays = (length == value->length && memcmp(present, value->data, length) == 0) ||
                         keeps(user, key, present, length);
            revision = nats.kvEntry_Revision(entry);
            nats.kvEntry_Destroy(entry);
            status = stays ? NATS_OK
                           : nats.kvStore_Update(NULL, bucket->values, key, value->data,
                                                 (int)value->length, revision);
        }
        if (status == NATS_TIMEOUT || status == NATS_CONNECTION_CLOSED) {
            break; /* not that another host was faster */
        }
    }
    return status == NATS_OK ? 0 : failed(status, "written", err);
}
