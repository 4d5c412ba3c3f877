/* staging.h - the copies of plugin files that are loaded, never the author's own files.
 *
 * The stage is opened at its first use: a host that only lists tools opens no stage. */
#pragma once

#include "base/lock.h"
#include "files/stage.h"
#include "life/options.h"

struct generations;
struct plugin;
struct plugin_file;
struct plugin_files;

struct staging {
    const struct life_options *options;
    struct generations *generations;
    pthread_rwlock_t use; /* read: copies are made or found, until a generation has them; write:
                           * those that none has are removed */
    struct lock lock;     /* held while the next one is made */
    struct stage *stage;
};

/** The members before the locks are the caller's to set. */
void staging_init(struct staging *staging);
/** No copy is needed any more, and none can be made. */
void staging_close(struct staging *staging);
void staging_finish(struct staging *staging);

/** From here until staging_leave() the copies that are made or found stay. What is called in
 * between says so. */
void staging_enter(struct staging *staging);
void staging_leave(struct staging *staging);

struct content {
    struct staged staged; /* the copy to use; `source` is what the file is */
    bool is_earlier;      /* by a rollback: the file itself has another one */
};

/** Copy the content of a file that is to be used. Caller is between enter and leave.
 * @return 0; STAGE_CHANGING; TOOLRACK_E_NOT_FOUND when the file is not there;
 *         TOOLRACK_E_REFUSED, TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY.
 * [the file's taker] */
int staging_take(struct staging *staging, const struct plugin_file *file, struct content *ret,
                 struct toolrack_error *err);

/** Load this copy for a plugin that no other thread has yet. Where another image of it may be in
 * this process, another copy is made. Caller is between enter and leave.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int staging_set_copy(struct staging *staging, struct plugin *plugin, const struct staged *staged,
                     struct toolrack_error *err);

/** Copy the file of a plugin unless that is done, and look whether it still is what was scanned.
 * @return 0; TOOLRACK_E_REFUSED when it is not, or cannot be used; TOOLRACK_E_IO;
 * TOOLRACK_E_NO_MEMORY. [any-thread, that is not between enter and leave] */
int staging_copy(struct staging *staging, struct plugin *plugin, struct toolrack_error *err);

/** Find the last content of a file, before the one that is used now, whose copy is kept.
 * @return 0; TOOLRACK_E_NOT_FOUND, with what to do; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int staging_find_previous(struct staging *staging, const struct plugin_file *file,
                          const uint8_t used_sha256[STAGE_HASH_SIZE],
                          const uint8_t file_sha256[STAGE_HASH_SIZE], struct staged *ret,
                          struct toolrack_error *err);

/** Remove the copies that no generation has and no rollback may need. [any-thread] */
void staging_collect(struct staging *staging, struct plugin_files *files);
