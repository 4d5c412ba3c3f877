/* generation.h - what the host keeps of one generation of a plugin file, and which of them serves.
 *
 * A generation has its policy, the copy of its file that is loaded, and its crew of workers when it
 * is isolated. The registry's struct plugin is the generation as calls see it, and ends with its
 * last reference; this ends when its last worker has ended too. What is done for a plugin (copied,
 * isolated, released) is done by others of the room, through `services`. */
#pragma once

#include "base/lock.h"
#include "files/stage.h"
#include "life/files.h"
#include "life/options.h"
#include "life/policy.h"
#include "plugin/foreign.h"
#include "registry/plugin.h"

struct life;

struct generation {
    struct generations *all;
    struct plugin_file *file;
    struct descriptor *desc; /* a reference */
    uint32_t number;         /* 1 for the first of its file; this and the next as in `plugin` */
    bool is_isolated;
    struct arena arena;  /* of the policy and of the next one */
    const char *foreign; /* what is called in an installed library, as text; NULL: it is a plugin */
    struct policy policy;
    uint64_t marker; /* of a load in this process that runs */
    bool marked;
    pthread_mutex_t stage_lock; /* held while its file is copied */

    /* Guarded by the lock of all. */
    struct generation *next;
    struct generation *prev;
    struct plugin *plugin; /* NULL once its last reference is gone */
    char *image_path;      /* the copy of its file, once there is one */
    uint8_t sha256[32];    /* of that */
    struct crew *crew;     /* or NULL */

    struct generation *next_end; /* retire.c's, while it ends */
    struct image *image;
};

/* All of a host that have not ended. */
struct generations {
    const struct life_options *options;
    const struct plugin_services *services; /* of the plugins */
    struct life *services_user;
    struct lock lock;         /* guards the list, and what the structs say so of */
    struct generation *first; /* the newest */
};

/** The members before the lock are the caller's to set. */
void generations_init(struct generations *all);
/** All have ended. */
void generations_finish(struct generations *all);

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
 * @return 0 with a reference; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY: then source->file is
 *         still the caller's. [the file's taker] */
int generation_create(struct generations *all, const struct generation_source *source,
                      struct plugin **ret, struct toolrack_error *err);
/** Release a generation whose plugin and crew are gone. */
void generation_destroy(struct generation *generation);

/** The generation behind a plugin; NULL for a descriptor of the app. It lives as long as the
 * caller's reference on the plugin. [any-thread] */
struct generation *generation_of(const struct plugin *plugin);
/** The plugin, with a reference; NULL when its last one is gone. [any-thread] */
struct plugin *generation_hold(struct generation *generation);

/** Load this copy as the plugin's image from now on. No other thread sets it meanwhile.
 * @return 0; TOOLRACK_E_EXISTS: the loader could give back another image of this process for its
 *         path, with all that is in its variables; TOOLRACK_E_NO_MEMORY. */
int generation_set_image(struct plugin *plugin, const struct staged *staged,
                         struct toolrack_error *err);
/** The plugin is isolated, and runs in this crew; takes over the reference. [any-thread] */
void generation_set_crew(struct generation *generation, struct crew *crew);
/** The last reference on its plugin is gone. Returns its crew, or NULL: the reference is the
 * caller's. [any-thread] */
struct crew *generation_part(struct generation *generation);

/** The code of the plugin begins to run in this process for the first time; and that is over. A
 * process that dies between these two leaves the plugin out at its next start. [any-thread] */
void generation_note_loading(struct plugin *plugin, bool begins);

/** The plugin that serves a file, with a reference; or NULL. [any-thread] */
struct plugin *generations_serving(struct generations *all, struct plugin_file *file);
/** Set the plugin that serves a file from now on, or NULL. The copy of the content that served
 * before is kept for a rollback. [the file's taker] */
void generations_serve(struct generations *all, struct plugin_file *file, struct plugin *plugin);

/** The index-th generation that has a plugin with this id, newest first, with a reference to be
 * given up; NULL when there are not so many. [any-thread] */
struct plugin *generations_hold(struct generations *all, const char *plugin_id, size_t index);
/** The one with this id that serves, likewise. [any-thread] */
struct plugin *generations_hold_serving(struct generations *all, const char *plugin_id);

/** Paths of the copies that are loaded, or may be loaded, also by a rollback, in the arena; NULL
 * when out of memory. No thread makes or looks for a copy meanwhile: staging.use. [any-thread] */
const char *const *generations_list_copies(struct generations *all, struct plugin_files *files,
                                           struct arena *arena, size_t *ret_count);

/** Detach a generation that has not ended from its plugin. The app still holds the plugin, which
 * can only be described then. NULL: all have ended. */
struct generation *generations_detach(struct generations *all);

/** Assert the invariants of generation.c. [any-thread] */
void generations_check(struct generations *all);
