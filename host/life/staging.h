/* staging.h - the copies of plugin files that are loaded, never the author's own files.
 *
 * The stage is opened at its first use: a host that only lists tools does not open it. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "files/stage.h"
#include "life/content.h"
#include "life/options.h"

struct generations;
struct plugin;
struct plugin_file;
struct plugin_files;

struct staging {
    const struct life_options *options;
    struct generations *generations;
    pthread_rwlock_t use; /* read: while copies are made or found, until a generation has them;
                             write: while unneeded copies are removed */
    struct lock lock;     /* held while the stage is opened */
    struct stage *stage;
    bool is_stopped;       /* files are not copied any more; guarded by `lock` */
    atomic_bool made_copy; /* a new copy was made: others may not be needed any more */
};

/** The caller sets the members before the locks. */
void staging_init(struct staging *staging);
/** Make the copies that are being made end soon; later ones are not made either. [any-thread] */
void staging_stop(struct staging *staging);
bool staging_is_stopped(struct staging *staging);
/** Close the stage: no copy is needed any more, and none can be made. */
void staging_close(struct staging *staging);
void staging_finish(struct staging *staging);

/** Until staging_leave() no copy that was made or found is removed. Functions that must be called
 * in between say so. */
void staging_enter(struct staging *staging);
void staging_leave(struct staging *staging);

struct content {
    struct staged staged; /* the copy to use; `source` is the identity of the file */
    bool is_earlier;      /* because of `rollback`: the file itself has another content */
    struct content_rollback rollback;
    uint8_t file_sha256[STAGE_HASH_SIZE]; /* of what the file has */
};

/** Copy a file; if a rollback is in force, find the copy to use in its place. If the host went back
 * by itself and `tries`, the content of the file is used. Caller is between enter and leave.
 * @return 0; STAGE_CHANGING; TOOLRACK_E_NOT_FOUND when the file does not exist; TOOLRACK_E_REFUSED,
 *         TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. [the file's taker] */
int staging_take(struct staging *staging, const struct plugin_file *file, bool tries,
                 struct content *ret, struct toolrack_error *err);

/** Find the newest good content in a part of a history that has worked, or of which that is not
 * known, whose copy is there and is not `but` (NULL: any). Caller is between enter and leave.
 * @return its row; NULL: there is none. [any-thread] */
const struct store_generation *staging_find_good(struct staging *staging,
                                                 const struct store_generation *rows, size_t count,
                                                 bool has_worked, const uint8_t *but,
                                                 struct staged *ret);

/** Read the descriptor of the copy of a content that was noted, without hashing it: it is hashed
 * before it is loaded.
 * @return a reference; NULL: there is no such copy, or it cannot be read. [any-thread] */
struct descriptor *staging_read_noted(struct staging *staging, const struct store_generation *row);

/** Set the copy to load for a plugin that no other thread has yet. If this process may have another
 * image of that copy, another copy is made. Caller is between enter and leave.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int staging_set_copy(struct staging *staging, struct plugin *plugin, const struct staged *staged,
                     struct toolrack_error *err);

/** Copy the file of a plugin unless that is done, and check that it still is the file that was
 * scanned.
 * May take minutes: a call waits with copier_wait() (copier.h).
 * @return 0; TOOLRACK_E_REFUSED when it is another, or cannot be used; TOOLRACK_E_IO;
 * TOOLRACK_E_NO_MEMORY; TOOLRACK_E_CANCELLED after staging_stop(). [any-thread, that is not between
 * enter and leave] */
int staging_copy(struct staging *staging, struct plugin *plugin, struct toolrack_error *err);

/** The content of a plugin, whose file was copied, is used from now on, or is to be there for a
 * rollback: add it to the history, unless that was done. [any-thread] */
void staging_note_used(struct staging *staging, struct plugin *plugin);

/** Whether there is an undamaged copy of a content that was noted. It is hashed. [any-thread, that
 * is not between enter and leave] */
bool staging_has(struct staging *staging, const struct store_generation *row);

/** Find the newest content of a file before the one that is used now whose copy is kept.
 * @param used_sha256  NULL: none is used
 * @return 0; TOOLRACK_E_NOT_FOUND, with a fix in the message; TOOLRACK_E_NO_MEMORY. [the file's
 *         taker] */
int staging_find_previous(struct staging *staging, const struct plugin_file *file,
                          const uint8_t used_sha256[STAGE_HASH_SIZE],
                          const uint8_t file_sha256[STAGE_HASH_SIZE], struct staged *ret,
                          struct toolrack_error *err);

/** Remove the copies that no generation has and no rollback needs. [any-thread] */
void staging_collect(struct staging *staging, struct plugin_files *files);
