/* generation.h - what the host keeps of one generation of a plugin file.
 *
 * Its policy, the copy of its file that is loaded, its crew of workers when it is isolated. The
 * registry's struct plugin is the generation as calls see it, and ends with its last reference;
 * this ends when its last worker has ended too. */
#pragma once

#include "api/policy.h"
#include "files/stage.h"
#include "plugin/foreign.h"
#include "registry/plugin.h"
#include "toolrack/toolrack.h"

struct plugin_file;

struct generation {
    struct generation *next; /* of host->generations; guarded by host->generations_lock */
    struct generation *prev;
    struct toolrack *host;
    struct plugin_file *file;
    struct plugin *plugin;   /* NULL once its last reference is gone; guarded likewise */
    struct descriptor *desc; /* a reference */
    uint32_t number;         /* 1 for the first of its file; this and the next as in `plugin` */
    bool is_isolated;
    char *image_path;    /* the copy of its file, once there is one; guarded likewise */
    uint8_t sha256[32];  /* of that */
    struct arena arena;  /* of the policy and of the next one */
    const char *foreign; /* what is called in an installed library, as text; NULL: it is a plugin */
    struct policy policy;
    struct crew *crew; /* or NULL; guarded likewise */
    uint64_t mark;     /* of a load in this process that runs */
    bool marked;
    pthread_mutex_t stage_lock; /* held while its file is copied */

    struct generation *next_end; /* retire.c's, while it ends */
    struct image *image;
};

/* What a generation is made of. */
struct generation_source {
    struct plugin_file *file; /* of a function of a library: files_create_apart(), taken over */
    const struct foreign *foreign; /* that function; NULL: it is a plugin */
    const char *foreign_text;      /* the same as foreign_write() has it */
    struct file_identity identity; /* of the file when it was read */
    struct descriptor *desc;
    bool isolated; /* in workers, whatever the policy says */
};

/** A plugin for a file that was read, with its policy.
 * @return 0 with a reference; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [the file's taker]
 */
int generation_create(struct toolrack *host, const struct generation_source *source,
                      struct plugin **ret, struct toolrack_error *err);

/** Say which copy of its file is loaded, where that is known before its first call. Where another
 * image of it may be in this process, another copy is made. Caller holds host->stage_use for
 * reading; nobody else has the plugin yet.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int generation_set_copy(struct toolrack *host, struct plugin *plugin, const struct staged *staged,
                        struct toolrack_error *err);

/** Release one that nobody uses any more: what is left when its plugin and its crew are gone. */
void generation_destroy(struct generation *generation);

/** The stage, opened at the first use: who only lists has none. It is borrowed as long as
 * host->stage_use is held. */
int generation_open_stage(struct toolrack *host, struct toolrack_error *err);

/** The generation behind a plugin; NULL for a descriptor of the app. It lives as long as the
 * caller's reference on the plugin. */
struct generation *generation_of(const struct plugin *plugin);

/** Copy its file unless that is done, and look whether it still is what was scanned.
 * @return 0; TOOLRACK_E_REFUSED when it is not, or cannot be used; TOOLRACK_E_IO;
 * TOOLRACK_E_NO_MEMORY. [any-thread, that does not hold host->stage_use] */
int generation_stage(struct toolrack *host, struct plugin *plugin, struct toolrack_error *err);

/** The index-th generation that has a plugin with this id, newest first, with a reference to be
 * given up; NULL when there are not so many. [any-thread] */
struct plugin *generations_hold(struct toolrack *host, const char *plugin_id, size_t index);

/** The one with this id that serves, likewise. [any-thread] */
struct plugin *generations_hold_serving(struct toolrack *host, const char *plugin_id);

/** End all: no plugin uses this host any more. When it is not `quiet`, some still do, in threads
 * that were given up: then only the workers end. */
void generations_end(struct toolrack *host, bool quiet);
