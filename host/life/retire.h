/* retire.h - the end of a generation: unloading its image, and reporting the outcome.
 *
 * The last reference may be released by a caller that already has its result, and close() of a
 * plugin may take long: therefore images are unloaded on a thread of their own.
 *
 *     draining --> gone       its workers have ended, or its image is not mapped any more
 *          \ `---> resident   its image stays
 *           `--> pending      its image may be unloaded later, and is checked again */
#pragma once

#include "base/lock.h"
#include "life/files.h"
#include "life/options.h"
#include "plugin/load.h"

struct generation;
struct generations;
struct plugin;
struct staging;

/* In-process generations of one file that may stay mapped for ever; the next one runs isolated.
 * Their memory is never freed, so it needs a limit. */
#define RESIDENT_GENERATIONS_MAX 3u

/* The state of a generation that was replaced or removed. */
enum retired_state {
    RETIRED_DRAINING, /* its calls still run, or its workers are ending */
    RETIRED_GONE,
    RETIRED_PENDING, /* its image may be unloaded later */
    RETIRED_RESIDENT /* its image stays */
};

struct retired {
    struct retired *next; /* older */
    uint32_t generation;
    enum retired_state state;
    char cause[UNLOAD_CAUSE_MAX];
    struct unload *unload; /* if PENDING: for the next check. Of the file's taker */
};

/* The generations that are ending. */
struct retirement {
    const struct life_options *options;
    struct generations *generations;
    struct plugin_files *files;
    struct staging *staging;
    void (*errand)(void *user); /* other work for the thread, see retire_errand() */
    void *errand_user;

    struct lock lock; /* guards the members below, and the notes in the files */
    struct generation *first;
    struct generation **end;
    bool collects; /* there may be copies that are not needed any more */
    bool has_errand;
    bool runs_errand;
    bool no_errands; /* from now on */
    bool started;
    bool stopping; /* images are unloaded on the thread that releases them */
    pthread_t thread;
    pthread_cond_t work;
    pthread_cond_t ended; /* the state of one is known */
};

/** The caller sets the members before the lock. */
void retire_init(struct retirement *retirement);
/** Whether nothing was to be unloaded or run on the thread. [any-thread] */
bool retire_is_unused(struct retirement *retirement);
/** Unload the remaining images and end the thread, without events. Later images are unloaded on the
 * thread that releases them. */
void retire_stop(struct retirement *retirement);
/** Detach all plugins that the app still holds from their generations, and end the generations. No
 * call is running. */
void retire_end_all(struct retirement *retirement);
/** Release it, and the notes in the files. */
void retire_finish(struct retirement *retirement);

/** Note in its file that a generation is to end, before its last reference can be gone. Without
 * memory only the note is lost. [the file's taker] */
void retire_note(struct retirement *retirement, struct plugin *plugin);

/** The last reference to a plugin is gone: let its workers end, or unload its image, if any, and
 * destroy its generation. [any-thread] */
void retire_release(struct retirement *retirement, struct plugin *plugin, struct image *image);

/** Call retirement->errand() soon, on the thread that ends generations. [any-thread] */
void retire_errand(struct retirement *retirement);
/** Wait for the one that runs; there will be no other. */
void retire_stop_errands(struct retirement *retirement);
/** Remove the copies that are not needed any more, soon. [any-thread] */
void retire_collect(struct retirement *retirement);

/** The last worker of a generation has ended: destroy it. [supervisor] */
void retire_workers_gone(struct retirement *retirement, struct generation *generation);

/** How many images of retired generations of a file are still in this process. Pending ones are
 * checked again. [the file's taker] */
unsigned retire_count_images(struct retirement *retirement, struct plugin_file *file);

/** Wait until a generation is not draining any more, until `until_ns` at most.
 * @param ret_cause  why it is not gone; has room for UNLOAD_CAUSE_MAX. [any-thread] */
enum retired_state retire_wait(struct retirement *retirement, struct plugin_file *file,
                               uint32_t generation, uint64_t until_ns, char *ret_cause);

/** The index-th note of a file, the newest first; the caller must not follow its pointers. False:
 * there are fewer. [any-thread] */
bool retire_get(struct retirement *retirement, const struct plugin_file *file, size_t index,
                struct retired *ret);

/** "draining", "gone", "pending" or "resident". */
const char *retired_state_name(enum retired_state state);

/** Assert the invariants of retire.c. [any-thread] */
void retire_check(struct retirement *retirement);
