/* content.h - the contents that a plugin file has had, and which content is loaded in place of the
 * file's.
 *
 * Usually the content that the file has is loaded. After a rollback an earlier content is loaded
 * from its copy as long as the file has the bad content: the rollback survives restarts and ends
 * when the file is exchanged or removed. All this is in the store. */
#pragma once

#include "files/stage.h"
#include "life/options.h"
#include "store/generations.h"

struct plugin;

struct content_rollback {
    uint8_t bad_sha256[STAGE_HASH_SIZE]; /* while the file has this content ... */
    uint8_t use_sha256[STAGE_HASH_SIZE]; /* ... this content is loaded */
};

/** The rollback of a file. False: the file has no rollback, or the store cannot be read.
 * [any-thread] */
bool content_find_rollback(const struct life_options *options, const char *path,
                           struct content_rollback *ret);

/** Begin a rollback; replaces the file's earlier rollback. It is stored when the function returns.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int content_roll_back(const struct life_options *options, const char *path,
                      const struct content_rollback *rollback, struct toolrack_error *err);
/** End the file's rollback, if any. A failure of the store is logged. [the file's taker] */
void content_end_rollback(const struct life_options *options, const char *path);

/* The contents that a file has had, the newest first; two consecutive contents differ. */
struct content_history {
    uint8_t sha256[STORE_GENERATIONS_PER_FILE_MAX][STAGE_HASH_SIZE];
    size_t count;
};

/** Read the history of a file. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int content_read_history(const struct life_options *options, const char *path,
                         struct content_history *ret, struct toolrack_error *err);

/** Add the content of a plugin to the history of its file. A failure of the store is logged.
 * [any-thread] */
void content_note(const struct life_options *options, const char *path,
                  const struct plugin *plugin);
