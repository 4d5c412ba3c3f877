/* bucket.h - the bucket of JetStream in which a group keeps its decisions.
 *
 * It is called toolrack_GROUP, where bytes that such a name may not have, and "_", are "_" and two
 * hexadecimal digits. The first host makes it: with three copies where the servers are a cluster of
 * so many, else with one. All functions may wait for the server, for some seconds at most. */
#pragma once

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "remote/nats/libnats.h"

struct bucket;

/** The subject of all its keys, "$KV.NAME.>", appended; and of how many bytes a key begins there.
 * [any-thread] */
size_t bucket_subject(const char *group, struct buf *out);

/** The subject of a request that JetStream answers, whether the bucket is there or not, appended.
 * In a cluster without JetStream the server does not say that nobody answers it. [any-thread] */
void bucket_request(const char *group, struct buf *out);

/** The error that there is no bucket. @return TOOLRACK_E_UNAVAILABLE [any-thread] */
int bucket_missing(const char *group, const char *why, struct toolrack_error *err);

/** @param size_max  longest value
 * @return 0; TOOLRACK_E_UNAVAILABLE: there is no JetStream, or no answer; TOOLRACK_E_NO_MEMORY */
int bucket_open(natsConnection *connection, const char *group, unsigned size_max,
                struct bucket **ret, struct toolrack_error *err);
void bucket_close(struct bucket *bucket);
CLEANUP_DEFINE(struct bucket, bucket_close)

/** Visit what is there now. @return 0; TOOLRACK_E_UNAVAILABLE */
int bucket_read(struct bucket *bucket,
                void (*visit)(void *user, const char *key, const char *value, size_t length),
                void *user, struct toolrack_error *err);

/** Put a value, unless the one that is there is kept. Another host that puts at the same time does
 * not lose its value unseen: this one is asked again about that.
 * @param keeps  whether the present value stays
 * @return 0; TOOLRACK_E_UNAVAILABLE */
int bucket_put(struct bucket *bucket, const char *key, const struct buf *value,
               bool (*keeps)(void *user, const char *key, const char *value, size_t length),
               void *user, struct toolrack_error *err);
