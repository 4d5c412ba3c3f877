/* content.h - which contents a plugin file has had, and which one is used instead of the file's.
 *
 * Mostly the content that the file has is used. An administrator who went back to an earlier one
 * (a rollback) gets that one instead, from the copies, for as long as the file has the content that
 * was bad: over restarts, and until the file is exchanged or removed. All this is in the store. */
#pragma once

#include "files/stage.h"
#include "life/options.h"
#include "store/generations.h"

struct plugin;

struct content_rollback {
    uint8_t bad_sha256[STAGE_HASH_SIZE]; /* while the file has this content ... */
    uint8_t use_sha256[STAGE_HASH_SIZE]; /* ... this one is used */
};

/** The rollback that is in force for a file. False: there is none, or the store cannot be read.
 * [any-thread] */
bool content_find_rollback(const struct life_options *options, const char *path,
                           struct content_rollback *ret);

/** Begin a rollback, in place of that of the same file: durable on return.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int content_roll_back(const struct life_options *options, const char *path,
                      const struct content_rollback *rollback, struct toolrack_error *err);
/** End it, if there is one. That the store cannot note it is logged. [the file's taker] */
void content_end_rollback(const struct life_options *options, const char *path);

/* The contents that a file has had, the newest first; no two that follow each other are the same.
 */
struct content_history {
    uint8_t sha256[STORE_GENERATIONS_PER_FILE_MAX][STAGE_HASH_SIZE];
    size_t count;
};

/** Read the history of a file. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int content_read_history(const struct life_options *options, const char *path,
                         struct content_history *ret, struct toolrack_error *err);

/** Note in the history of a file that it has the content of a plugin. That it cannot be kept is
 * logged. [any-thread] */
void content_note(const struct life_options *options, const char *path,
                  const struct plugin *plugin);
