/* generations.h - which contents a plugin's file has had, and which one an administrator went
 * back to. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Most generations kept of one file; the oldest go. */
#define STORE_GENERATIONS_PER_FILE_MAX 16

/** One content of a plugin's file. */
struct store_generation {
    const char *path; /**< of the file in its folder */
    unsigned char sha256[STORE_SHA256_SIZE];
    const char *staged; /**< name of the copy in the host's own folder */
    int64_t seen_s;
    int64_t sequence; /**< grows over all files; never used twice */
};

/** Keep a generation; its sequence is not read but made. One with the content of the newest of its
 * path is the same generation, seen again: its staged name and time are replaced.
 *
 * @param ret_sequence  may be NULL
 * @return as all of the store. [any-thread] */
int store_generation_add(struct store *store, const struct store_generation *generation,
                         int64_t *ret_sequence, struct toolrack_error *err);

/** Visit those of a path, or with NULL of all (by path); of one path the newest first.
 * [any-thread] */
int store_generations_read(struct store *store, const char *path,
                           void (*visit)(void *user, const struct store_generation *generation),
                           void *user, struct toolrack_error *err);

/** While the file at `path` has the content `bad_sha256`, `use_sha256` is used instead. */
struct store_rollback {
    const char *path;
    unsigned char bad_sha256[STORE_SHA256_SIZE];
    unsigned char use_sha256[STORE_SHA256_SIZE];
};

/** Keep a rollback, in place of that of the same path.
 * @return as all of the store. [any-thread] */
int store_rollback_set(struct store *store, const struct store_rollback *rollback,
                       struct toolrack_error *err);

/** Remove that of a path.
 * @return as all of the store; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_rollback_clear(struct store *store, const char *path, struct toolrack_error *err);

/** Visit all, by path. [any-thread] */
int store_rollback_read(struct store *store,
                        void (*visit)(void *user, const struct store_rollback *rollback),
                        void *user, struct toolrack_error *err);
