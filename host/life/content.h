/* content.h - the contents that a plugin file has had, and which content is loaded in place of the
 * file's.
 *
 * Usually the content that the file has is loaded. After a rollback an earlier content is loaded
 * from its copy as long as the file has the bad content: the rollback survives restarts, and
 * that the file is removed and put there again; it ends when the file has another content, or a
 * person has the file loaded by name. All this is in the store. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "files/stage.h"
#include "life/options.h"
#include "store/generations.h"

struct plugin;

struct content_rollback {
    uint8_t bad_sha256[STAGE_HASH_SIZE]; /* while the file has this content ... */
    uint8_t use_sha256[STAGE_HASH_SIZE]; /* ... this content is loaded */
    bool is_automatic; /* the host went back: the content was refused when it was tried out, or
                          crashed when it was new */
    char rule[64];     /* by which rule it was refused, and why; "" if a person went back */
    char reason[ERROR_MESSAGE_MAX];
};

/* Why a content is not used. */
struct content_verdict {
    bool is_bad;
    char rule[64];
    char reason[ERROR_MESSAGE_MAX];
};
void content_read_verdict(const struct life_options *options, const char *path,
                          const uint8_t *sha256, struct content_verdict *ret);
void content_set_verdict(const struct life_options *options, const char *path,
                         const uint8_t *sha256, const struct content_verdict *verdict);

/* The rule of a content that a person went back from. */
#define CONTENT_RULE_ROLLED_BACK "rolled-back"
/* The rule of a content that the host went back from, since it crashed in its first minute. A trial
 * has passed it, so only who reloads that file by name has it used again. */
#define CONTENT_RULE_CRASHED     "crashed-early"

/** The rollback of a file. False: the file has no rollback, or the store cannot be read.
 * [any-thread] */
bool content_find_rollback(const struct life_options *options, const char *path,
                           struct content_rollback *ret);

/** A person goes back: from what the file has, `bad`, and from what served, `from`, which may be
 * the same. Neither is used again before the file has it anew. Replaces the file's earlier
 * rollback. It is stored when the function returns.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int content_roll_back(const struct life_options *options, const char *path, const uint8_t *bad,
                      const uint8_t *from, const uint8_t *use, struct toolrack_error *err);
/** Store the rollback that a file had before another one, which has failed. A failure of the store
 * is logged, as in the next three functions. [the file's taker] */
void content_set_rollback(const struct life_options *options, const char *path,
                          const struct content_rollback *rollback);
/** Go back by itself: the content of a file was refused when it was tried out, or crashed when it
 * was new, and another serves.
 * The next start uses that too, without trying the refused content again. A failure of the store is
 * logged. [the file's taker] */
void content_go_back(const struct life_options *options, const char *path,
                     const struct content_rollback *rollback);
/** End the file's rollback, if any. A failure of the store is logged. [the file's taker] */
void content_end_rollback(const struct life_options *options, const char *path);

/* The contents that files have had, by path, of each the newest first; two consecutive contents of
 * a file differ. */
struct content_history {
    struct arena arena; /* of the strings */
    struct store_generation *rows;
    size_t count;
    size_t room;
    bool failed; /* out of memory */
};

/** Read the history of a file, or of all (NULL). content_history_finish() must be called in any
 * case. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int content_read_history(const struct life_options *options, const char *path,
                         struct content_history *ret, struct toolrack_error *err);
void content_history_finish(struct content_history *history);

/** How many rows from `first` on are of the same file. */
size_t content_history_of_file(const struct content_history *history, size_t first);

/** Whether a content may serve again: it was not refused, nobody went back from it, and its file
 * was not removed since. */
static inline bool content_is_good(const struct store_generation *row) {
    return row->rule == NULL && !row->is_removed;
}

/** The file was removed: no content of it serves any more. A failure of the store is logged. [the
 * file's taker] */
void content_removed(const struct life_options *options, const char *path);

/** Add the content of a plugin to the history of its file. A failure of the store is logged.
 * [any-thread] */
bool content_note(const struct life_options *options, const char *path,
                  const struct plugin *plugin);
/** A tool of a content that is in the history has answered. [any-thread] */
void content_note_worked(const struct life_options *options, const char *path,
                         const uint8_t *sha256);
