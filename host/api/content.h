/* content.h - which content of a plugin file is used, and which ones it has had.
 *
 * Mostly it is the content that the file has. An administrator who went back to an earlier one
 * (a rollback) gets that one instead, from the copies, for as long as the file has the content that
 * was bad: over restarts, and until the file is exchanged or removed. */
#pragma once

#include "api/files.h"
#include "store/generations.h"

struct rollback {
    char *path;
    uint8_t bad_sha256[STAGE_HASH_SIZE]; /* while the file has this content ... */
    uint8_t use_sha256[STAGE_HASH_SIZE]; /* ... this one is used */
};

/* What the store keeps of contents, in memory. */
struct contents {
    pthread_mutex_t lock; /* guards what follows, and the histories in the files */
    struct rollback *rollbacks;
    size_t rollback_count;
};

void contents_init(struct contents *contents);
void contents_finish(struct contents *contents);
/** Take over the rollbacks that the store has kept. @return 0; TOOLRACK_E_IO;
 * TOOLRACK_E_NO_MEMORY. */
int contents_read(struct toolrack *host, struct toolrack_error *err);

struct content {
    struct staged staged; /* the copy to use; `source` is what the file is */
    uint8_t file_sha256[STAGE_HASH_SIZE];
    bool is_earlier; /* by a rollback: the file itself has another one */
};

/** Copy the content of a file that is to be used. Caller holds host->stage_use for reading.
 * @return 0; STAGE_CHANGING; TOOLRACK_E_NOT_FOUND when the file is not there;
 *         TOOLRACK_E_REFUSED, TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY.
 * [the file's taker] */
int content_take(struct toolrack *host, struct plugin_file *file, struct content *ret,
                 struct toolrack_error *err);

/** Whether a rollback is in force for a file. [any-thread] */
bool content_is_rolled_back(struct toolrack *host, const char *path);

/** Note in the file's history that it has the content of a generation. That it cannot be kept is
 * logged. [any-thread] */
void content_note(struct toolrack *host, struct plugin_file *file, const struct plugin *plugin);

/** Find the copy of the last content before the one that is used now.
 * @return 0; TOOLRACK_E_NOT_FOUND, with what to do; TOOLRACK_E_NO_MEMORY. Caller holds
 *         host->stage_use for reading. [the file's taker] */
int content_find_previous(struct toolrack *host, struct plugin_file *file,
                          const uint8_t used_sha256[STAGE_HASH_SIZE],
                          const uint8_t file_sha256[STAGE_HASH_SIZE], struct staged *ret,
                          struct toolrack_error *err);

/** Begin a rollback, in place of that of the same file: durable on return.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int content_roll_back(struct toolrack *host, const struct plugin_file *file,
                      const uint8_t bad_sha256[STAGE_HASH_SIZE],
                      const uint8_t use_sha256[STAGE_HASH_SIZE], struct toolrack_error *err);
/** End it, if there is one. [the file's taker] */
void content_end_rollback(struct toolrack *host, const char *path);
