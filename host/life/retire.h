/* retire.h - the end of a generation: unloading its image, and reporting the outcome.
 *
 * The last reference may be given up by a caller that has its result already, and close() of a
 * plugin may take long: so images are unloaded on a thread of their own.
 *
 *     draining --> gone       its workers have ended, or its image is not mapped any more
 *          \ `---> resident   its image stays
 *           `--> pending      its image may go later, and is then looked for again
 */
#pragma once

#include "base/lock.h"
#include "life/files.h"
#include "life/options.h"
#include "plugin/load.h"

struct generation;
struct generations;
struct plugin;
struct staging;

/* In-process generations of one file that stay mapped for ever, before the next one has to run
 * isolated: memory that nothing gives back must have an end. */
#define RESIDENT_GENERATIONS_MAX 3u

/* What became of a generation that was replaced or removed. */
enum retired_state {
    RETIRED_DRAINING, /* calls of it still run, or its workers are ending */
    RETIRED_GONE,
    RETIRED_PENDING, /* its image may go later */
    RETIRED_RESIDENT /* its image stays */
};

struct retired {
    struct retired *next; /* older */
    uint32_t generation;
    enum retired_state state;
    char cause[UNLOAD_CAUSE_MAX];
    struct unload *unload; /* of one that is PENDING: to look at it again. Its file's taker's */
};

/* Ends on their way. */
struct retirement {
    const struct life_options *options;
    struct generations *generations;
    struct plugin_files *files;
    struct staging *staging;

    struct lock lock; /* guards what follows, and the notes in the files */
    struct generation *first;
    struct generation **end;
    bool collects; /* there may be copies that nothing needs any more */
    bool started;
    bool stopping; /* what ends now is unloaded by who ends it */
    pthread_t thread;
    pthread_cond_t work;
    pthread_cond_t ended; /* it is known what became of one */
};

/** The members before the lock are the caller's to set. */
void retire_init(struct retirement *retirement);
/** Unload what is left to be unloaded, and end the thread; nothing is told of it. What ends after
 * this is unloaded by who ends it. */
void retire_stop(struct retirement *retirement);
/** Take all plugins that the app still holds from their generations, and end these. No call is
 * running. */
void retire_end_all(struct retirement *retirement);
/** Release the notes in the files too. */
void retire_finish(struct retirement *retirement);

/** Note in its file that a generation is to end, before its last reference can be gone. Out of
 * memory only loses the note. [the file's taker] */
void retire_note(struct retirement *retirement, struct plugin *plugin);

/** The last reference on a plugin is gone: let its workers end, or unload its image, if any, and
 * destroy its generation. [any-thread] */
void retire_release(struct retirement *retirement, struct plugin *plugin, struct image *image);

/** The last worker of a generation has ended: destroy it. [supervisor] */
void retire_workers_gone(struct retirement *retirement, struct generation *generation);

/** How many images of retired generations of a file are still in this process. Pending ones are
 * looked at again. [the file's taker] */
unsigned retire_count_images(struct retirement *retirement, struct plugin_file *file);

/** Wait until it is known what became of a generation, until `until_ns` at most.
 * @param ret_cause  of what is not gone; room for UNLOAD_CAUSE_MAX. [any-thread] */
enum retired_state retire_wait(struct retirement *retirement, struct plugin_file *file,
                               uint32_t generation, uint64_t until_ns, char *ret_cause);

/** The index-th note of a file, the newest first; its pointers are not to be followed. False: there
 * are not so many. [any-thread] */
bool retire_get(struct retirement *retirement, const struct plugin_file *file, size_t index,
                struct retired *ret);

/** "draining", "gone", "pending" or "resident". */
const char *retired_state_name(enum retired_state state);

/** Assert the invariants of retire.c. [any-thread] */
void retire_check(struct retirement *retirement);
