/* content.h - which contents a plugin file has had, and which one is used instead of the file's.
 *
 * Mostly the content that the file has is used. An administrator who went back to an earlier one
 * (a rollback) gets that one instead, from the copies, for as long as the file has the content that
 * was bad: over restarts, and until the file is exchanged or removed. */
#pragma once

#include "base/lock.h"
#include "files/stage.h"
#include "life/options.h"
#include "store/generations.h"

struct plugin;

struct rollback {
    char *path;
    uint8_t bad_sha256[STAGE_HASH_SIZE]; /* while the file has this content ... */
    uint8_t use_sha256[STAGE_HASH_SIZE]; /* ... this one is used */
};

/* What the store keeps of contents; the rollbacks in memory. */
struct contents {
    const struct life_options *options;
    struct lock lock; /* guards what follows */
    struct rollback *rollbacks;
    size_t rollback_count;
};

void contents_init(struct contents *contents, const struct life_options *options);
void contents_finish(struct contents *contents);
/** Take over the rollbacks that the store has kept. @return 0; TOOLRACK_E_IO;
 * TOOLRACK_E_NO_MEMORY. */
int contents_read(struct contents *contents, struct toolrack_error *err);

/** The rollback that is in force for a file, copied into `ret` but for its path; NULL only asks.
 * False: there is none. [any-thread] */
bool contents_find_rollback(struct contents *contents, const char *path, struct rollback *ret);

/** Begin a rollback, in place of that of the same file: durable on return.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int contents_roll_back(struct contents *contents, const char *path,
                       const uint8_t bad_sha256[STAGE_HASH_SIZE],
                       const uint8_t use_sha256[STAGE_HASH_SIZE], struct toolrack_error *err);
/** End it, if there is one. [the file's taker] */
void contents_end_rollback(struct contents *contents, const char *path);

/* The contents that a file has had, the newest first; no two that follow each other are the same.
 */
struct content_history {
    uint8_t sha256[STORE_GENERATIONS_PER_FILE_MAX][STAGE_HASH_SIZE];
    size_t count;
};

/** Read the history of a file. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int contents_read_history(const struct contents *contents, const char *path,
                          struct content_history *ret, struct toolrack_error *err);

/** Note in the history of a file that it has the content of a plugin. That it cannot be kept is
 * logged. [any-thread] */
void contents_note(const struct contents *contents, const char *path, const struct plugin *plugin);
