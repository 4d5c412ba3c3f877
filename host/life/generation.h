/* generation.h - what the host keeps about one generation of a plugin file, and which generation
 * serves.
 *
 * A generation has its policy, the copy of its file that is loaded, and its crew of workers when it
 * is isolated. The registry's struct plugin is the generation as calls see it, and is freed with
 * its last reference; struct generation is freed when its last worker has ended too. Other parts of
 * the room copy, isolate and release the plugin, through `services`. */
#pragma once

#include "base/lock.h"
#include "files/stage.h"
#include "life/files.h"
#include "life/options.h"
#include "life/policy.h"
#include "plugin/foreign.h"
#include "registry/plugin.h"

struct life;

/* Enough for a plugin that declares no capabilities: a start makes many generations. */
#define GENERATION_ARENA_FIRST 128u

struct generation {
    struct generations *all;
    struct plugin_file *file;
    struct descriptor *desc;   /* a reference */
    const char *identity_text; /* as that of `plugin`; in `arena` */
    uint32_t number; /* 1 for the first of its file; number and is_isolated are as in `plugin` */
    bool is_isolated;
    bool is_earlier;    /* its content is not the file's: `sha256` is known from the start */
    struct arena arena; /* memory of `foreign`, `policy` and `identity_text` */
    char arena_first[GENERATION_ARENA_FIRST];
    const char *foreign; /* the function of an installed library, as text; NULL: it is a plugin */
    struct policy policy;
    uint64_t marker; /* the loading marker, while a load in this process runs */
    bool marked;
    pthread_mutex_t stage_lock; /* held while its file is copied */
    struct copy *copy;          /* for calls, while it is made; guarded by copier.h's lock */

    /* Guarded by all->lock. */
    struct generation *next;
    struct generation *prev;
    struct plugin *plugin; /* NULL when its last reference is gone */
    char *image_path;      /* the copy of its file; NULL until it is made */
    uint8_t sha256[32];    /* of that copy */
    struct crew *crew;     /* or NULL */

    atomic_bool is_unused; /* its content is the file's, and is not in the history yet: it is added
                              when it is first used (staging.h) */
    atomic_bool is_quarantine_kept; /* its quarantine is in the store, so its end will be too */

    struct generation *next_end; /* this and the next: used by retire.c while it ends */
    struct image *image;
};

/* All generations of a host that have not ended. */
struct generations {
    const struct life_options *options;
    const struct plugin_services *services; /* of the plugins */
    struct life *services_user;
    struct lock lock;         /* guards the list, and the members that say so */
    struct generation *first; /* the newest */
};

/** The caller sets the members before the lock. */
void generations_init(struct generations *all);
/** All generations have ended. */
void generations_finish(struct generations *all);

/* What a generation is made of. */
struct generation_source {
    struct plugin_file *file;      /* of a library's function: files_create_apart(), taken over */
    const struct foreign *foreign; /* that function; NULL: it is a plugin */
    const char *foreign_text;      /* the function as foreign_write() writes it */
    struct file_identity identity; /* of the file when it was read */
    struct descriptor *desc;
    bool kept; /* beside a higher version (identities.h), or an earlier content of its file */
    const uint8_t *sha256; /* of an earlier content of the file; NULL: the content it has */
    bool isolated;         /* runs in workers, whatever the policy says */
    const char *exposure;  /* how other users could change the file (ownership.h), or NULL */
};

/* The rules, and what to do, of a file that is refused because other users could change it, and of
 * one that would run without the sandbox that is required. */
#define GENERATION_RULE_EXPOSED "file-exposed"
#define GENERATION_FIX_EXPOSED \
    "let only root and the user of the host write to the file and above it"
/* Of a file that another plugin could change. */
#define GENERATION_RULE_WRITABLE "file-writable"
#define GENERATION_FIX_WRITABLE                                                                  \
    "use a file and libraries that no plugin may write, or start the host again: what a plugin " \
    "is "                                                                                        \
    "granted is then without them"
#define GENERATION_RULE_SANDBOX "sandbox-required"
#define GENERATION_FIX_SANDBOX  "run the plugin in workers (\"isolation\": \"process\")"

/** Make a plugin, with its policy, for a file that was read. A file that other users could change
 * gets a warning the first time; it is refused if it would run in the host's process or if its
 * trust is above community.
 * @return 0 with a reference; TOOLRACK_E_REFUSED; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY:
 *         source->file is then not taken over. [the file's taker] */
int generation_create(struct generations *all, const struct generation_source *source,
                      struct plugin **ret, struct toolrack_error *err);
/** Release a generation whose plugin and crew are gone. */
void generation_destroy(struct generation *generation);

/** The generation behind a plugin; NULL for a descriptor of the app. It is valid as long as the
 * caller's reference to the plugin. [any-thread] */
struct generation *generation_of(const struct plugin *plugin);
/** The plugin, with a reference; NULL when its last reference is gone. [any-thread] */
struct plugin *generation_hold(struct generation *generation);

/** Set the copy that is loaded as the plugin's image. No other thread sets it meanwhile.
 * @return 0; TOOLRACK_E_EXISTS: another image of this process has its path: the loader would return
 *         that image, with the values of its variables; TOOLRACK_E_NO_MEMORY. */
int generation_set_image(struct plugin *plugin, const struct staged *staged,
                         struct toolrack_error *err);
/** Set the crew that an isolated plugin runs in; takes over the reference. [any-thread] */
void generation_set_crew(struct generation *generation, struct crew *crew);
/** Detach a generation from its plugin, whose last reference is gone. Returns its crew, or NULL;
 * the caller owns the reference. [any-thread] */
struct crew *generation_part(struct generation *generation);

/** Set the loading marker before the code of the plugin first runs in this process, and remove it
 * after that. If a process dies between these two calls, the next start leaves the plugin out.
 * [any-thread] */
void generation_note_loading(struct plugin *plugin, bool begins);

/** The plugin that serves a file, with a reference; or NULL. [any-thread] */
struct plugin *generations_serving(struct generations *all, struct plugin_file *file);
/** Set the plugin that serves a file from now on, or NULL. The copy of the content that served
 * before is kept for a rollback. [the file's taker] */
void generations_serve(struct generations *all, struct plugin_file *file, struct plugin *plugin);

/** The index-th plugin of a file that is a kept version of it, newest first, with a reference; NULL
 * when there are fewer. [any-thread] */
struct plugin *generations_hold_kept(struct generations *all, const struct plugin_file *file,
                                     size_t index);
/** The plugin of the index-th generation that has a plugin with this id, newest first, with a
 * reference; NULL when there are fewer. [any-thread] */
struct plugin *generations_hold(struct generations *all, const char *plugin_id, size_t index);
/** The plugin with this id that serves, with a reference; a kept version if there is no other; or
 * NULL. [any-thread] */
struct plugin *generations_hold_serving(struct generations *all, const char *plugin_id);
/** The index-th plugin with this id that serves, kept versions too, with a reference; NULL when
 * there are fewer. [any-thread] */
struct plugin *generations_hold_claimant(struct generations *all, const char *plugin_id,
                                         size_t index);

/** A reference to a plugin that may write somewhere, or NULL; `index` counts them. [any-thread] */
struct plugin *generations_hold_writer(struct generations *all, size_t index);

/** The plugins that do not run, or not as they should: all whose state is neither LISTED nor
 * LOADED, *ret_count of them, each with a reference. On the heap; NULL when out of memory.
 * [any-thread] */
struct plugin **generations_hold_troubled(struct generations *all, size_t *ret_count);

/** Paths of the copies that are loaded or may be loaded (by a rollback too), in the arena; NULL
 * when out of memory. No thread makes or looks for a copy meanwhile: staging.use. [any-thread] */
const char *const *generations_list_copies(struct generations *all, struct plugin_files *files,
                                           struct arena *arena, size_t *ret_count);

/** Detach a generation that has not ended from its plugin, which the app still holds, or the
 * supervisor for a moment; the plugin can then only be described. NULL: all generations have ended,
 * or end by themselves.
 * @param ret_plugin  the plugin, to be released by plugin_unref(); NULL with NULL */
struct generation *generations_detach(struct generations *all, struct plugin **ret_plugin);

/** Assert the invariants of generation.c. [any-thread] */
void generations_check(struct generations *all);
