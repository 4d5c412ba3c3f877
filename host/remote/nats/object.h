/* object.h - objects in the store of a NATS server: bytes that are too many for one message.
 *
 * libnats 3.4 has no object store, so this follows ADR-20, as other clients do: a bucket is the
 * stream OBJ_BUCKET of JetStream; the chunks of an object are messages of $O.BUCKET.C.NUID, and the
 * last message of $O.BUCKET.M.NAME (NAME in base64 for URLs) says how many they are, with how many
 * bytes, and their SHA-256.
 *
 * What is got is what was put, or an error: chunks that are missing or too many, another size and
 * another digest are refused. An object is there when its last message is: a put that ends before
 * that leaves what was there. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "remote/nats/libnats.h"
#include "remote/nats/object-info.h"

/* Bytes of a chunk, where a message of the server may have so many. */
#define OBJECT_CHUNK_SIZE (128u * 1024)
/* How long one request to JetStream may take. */
#define OBJECT_WAIT_MS    5000

struct objects;

struct objects_options {
    const char *bucket; /* letters, digits, "-" and "_" */
    const char *description;
    uint64_t age_s_max; /* objects are removed after that; 0: never */
    uint64_t bytes_max; /* of all objects together; 0: what the server has */
};

/** Open a bucket; it is made when there is none.
 * @param connection  borrowed, outlives `ret`
 * @param ret         to be released by objects_close()
 * @return 0; TOOLRACK_E_INVALID: the name is none; TOOLRACK_E_UNAVAILABLE: the server has no
 *         JetStream, or does not answer; TOOLRACK_E_LIMIT_EXCEEDED: it has no room;
 *         TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int objects_open(natsConnection *connection, const struct objects_options *options,
                 struct objects **ret, struct toolrack_error *err);
void objects_close(struct objects *objects);

/** Put an object; it takes the place of one of the same name.
 * @param ret  what was put; may be NULL
 * @return 0; TOOLRACK_E_INVALID: the name is none; TOOLRACK_E_LIMIT_EXCEEDED: it is too large, or
 *         the bucket is full; as objects_open(). What was there is unchanged then. [any-thread] */
int object_put(struct objects *objects, const char *name, const void *data, size_t length,
               struct object_info *ret, struct toolrack_error *err);

/** What there is about an object.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID: what is said is wrong; as objects_open() */
int object_find(struct objects *objects, const char *name, struct object_info *ret,
                struct toolrack_error *err);

/** Get the bytes of an object, appended.
 * @param size_max  of them
 * @param ret       what is said of it, and is true; may be NULL
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_LIMIT_EXCEEDED: it has more than `size_max`;
 *         TOOLRACK_E_INVALID: the bytes are not as is said; as objects_open(). Nothing is appended
 *         then. [any-thread] */
int object_get(struct objects *objects, const char *name, size_t size_max, struct buf *out,
               struct object_info *ret, struct toolrack_error *err);

/** Delete an object. @return 0, also when it was deleted; as object_find() */
int object_delete(struct objects *objects, const char *name, struct toolrack_error *err);

/** Go through the objects; what is said wrongly of one is left out, and that is no failure.
 * @param see  returns false to end
 * @return 0; as objects_open() */
int objects_list(struct objects *objects, bool (*see)(void *user, const struct object_info *info),
                 void *user, struct toolrack_error *err);
