/* object-info.h - what the object store of NATS says of an object: the JSON of ADR-20.
 *
 * Any client of the server may have written it: it is checked as what any peer may send, and what
 * it says of size, chunks and digest is compared with the bytes (object.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Longest name of an object and of a bucket, in bytes, and longest JSON. */
#define OBJECT_NAME_MAX    255u
#define OBJECT_BUCKET_MAX  128u
#define OBJECT_INFO_MAX    (64u * 1024)
/* Bytes of a SHA-256, and its text: "SHA-256=" and base64 for URLs, with the terminating zero. */
#define OBJECT_HASH_SIZE   32u
#define OBJECT_DIGEST_ROOM 53u
/* The number of an object's chunks, one token of a subject. */
#define OBJECT_NUID_ROOM   65u
/* Most bytes of an object here. */
#define OBJECT_SIZE_MAX    (512u * 1024 * 1024)

struct object_info {
    char name[OBJECT_NAME_MAX + 1];
    char nuid[OBJECT_NUID_ROOM];
    uint64_t size;
    uint64_t chunks;
    unsigned char hash[OBJECT_HASH_SIZE]; /* of the bytes */
    bool deleted;                         /* the rest says nothing then */
};

/** The JSON of an object, appended. [any-thread] */
void object_info_write(struct buf *out, const struct object_info *info, const char *bucket,
                       size_t chunk_size);

/** Read it.
 * @param name  of the object that was asked for; NULL: any
 * @return 0; TOOLRACK_E_INVALID: what is wrong; TOOLRACK_E_NO_MEMORY. [any-thread] */
int object_info_read(const char *text, size_t length, const char *name, struct object_info *ret,
                     struct toolrack_error *err);

/** A hash as text and back. [any-thread] */
void object_digest_write(const unsigned char hash[static OBJECT_HASH_SIZE],
                         char ret[static OBJECT_DIGEST_ROOM]);
bool object_digest_read(const char *text, unsigned char ret[static OBJECT_HASH_SIZE]);
