/* generations.h - the contents that a plugin's file has had, and rollbacks by an administrator. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Most generations kept of one file; beyond, the oldest are removed, but never the newest that has
 * worked. */
#define STORE_GENERATIONS_PER_FILE_MAX 16

/** One content of a plugin's file. */
struct store_generation {
    const char *path; /**< of the file: its folder without symbolic links, slash, name */
    unsigned char sha256[STORE_SHA256_SIZE];
    const char *staged; /**< name of the copy in the host's own folder */
    int64_t seen_ms;    /**< in a database of an earlier toolrack by the second */
    const char *plugin; /**< what it said of itself; NULL: not known, in an older database */
    const char *version;
    const char *rule;   /**< why it is not used any more, by the name of a rule; NULL: it may be */
    const char *reason; /**< the same in words; NULL with `rule` */
    bool is_removed;    /**< the file was removed since */
    bool has_worked;    /**< a tool of it has answered; of what an older toolrack stored, true */
    int64_t sequence;   /**< one sequence for all files; grows, never used twice */
};

/** Store a generation under a new sequence number; generation->sequence is ignored. When the newest
 * generation of the path has the same content, only its staged name and time are replaced. The
 * content may be used again, whatever was noted about it.
 *
 * @param ret_sequence  may be NULL
 * @return see store.h. [any-thread] */
int store_generation_add(struct store *store, const struct store_generation *generation,
                         int64_t *ret_sequence, struct toolrack_error *err);

/** Visit the generations of a path, or of all paths (NULL), path by path, and of each path the
 * newest first. [any-thread] */
int store_generations_read(struct store *store, const char *path,
                           void (*visit)(void *user, const struct store_generation *generation),
                           void *user, struct toolrack_error *err);

/** What is known of a file without its generations. */
struct store_history {
    const char *path;
    const char *version; /**< of its content; NULL: not known, or it has several */
    bool is_removed;     /**< the file was removed since */
};

/** Visit all files that have generations. This is far less to read than the generations: all files
 * are looked at when a host starts. [any-thread] */
int store_histories_read(struct store *store,
                         void (*visit)(void *user, const struct store_history *history), void *user,
                         struct toolrack_error *err);

/** Note that a content of a path has worked. [any-thread] */
int store_content_worked(struct store *store, const char *path,
                         const unsigned char sha256[STORE_SHA256_SIZE], struct toolrack_error *err);

/** Note that a content of a path is not to be used, and why; or (`rule` NULL) that it may be.
 * @return see store.h. [any-thread] */
int store_content_condemn(struct store *store, const char *path,
                          const unsigned char sha256[STORE_SHA256_SIZE], const char *rule,
                          const char *reason, struct toolrack_error *err);

/** Why a content of a path is not used: call `visit` with it, if that was noted, or never.
 * [any-thread] */
int store_content_condemned(struct store *store, const char *path,
                            const unsigned char sha256[STORE_SHA256_SIZE],
                            void (*visit)(void *user, const char *rule, const char *reason),
                            void *user, struct toolrack_error *err);

/** Note that a file was removed: its contents are older than what may come under that path.
 * @return see store.h. [any-thread] */
int store_contents_remove(struct store *store, const char *path, struct toolrack_error *err);

/** Contents and rollbacks that were stored under the path of a folder belong to it under another
 * path: rename them. Writes only if there are any.
 * @return see store.h. [any-thread] */
int store_contents_rename(struct store *store, const char *from_folder, const char *to_folder,
                          struct toolrack_error *err);

/** While the file at `path` has the content `bad_sha256`, `use_sha256` is used instead. */
struct store_rollback {
    const char *path;
    unsigned char bad_sha256[STORE_SHA256_SIZE];
    unsigned char use_sha256[STORE_SHA256_SIZE];
};

/** Store a rollback; it replaces the one of the same path.
 * @return see store.h. [any-thread] */
int store_rollback_set(struct store *store, const struct store_rollback *rollback,
                       struct toolrack_error *err);

/** Remove the rollback of a path.
 * @return see store.h; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_rollback_clear(struct store *store, const char *path, struct toolrack_error *err);

/** Visit all, ordered by path. [any-thread] */
int store_rollback_read(struct store *store,
                        void (*visit)(void *user, const struct store_rollback *rollback),
                        void *user, struct toolrack_error *err);
