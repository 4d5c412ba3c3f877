/* retire.h - the end of a generation: unloading its image, and saying what became of it.
 *
 * Whoever gives up the last reference may be a caller who has its result already, and close() of a
 * plugin may take its time: so images are unloaded on a thread of their own. */
#pragma once

#include "api/files.h"

/* Ends on their way; guarded by host->generations_lock. */
struct retirement {
    struct generation *first;
    struct generation **end;
    bool collects; /* copies may be there that nobody needs any more */
    bool started;
    bool stopping; /* what ends now is unloaded by who ends it */
    pthread_t thread;
    pthread_cond_t work;
};

void retire_init(struct retirement *retirement);
/** Unload what is left to be unloaded, and end the thread; nothing is told of it. What ends after
 * this is unloaded by who ends it. */
void retire_stop(struct toolrack *host);
void retire_finish(struct retirement *retirement);

/** Note in its file that a generation is to end, before its last reference can be gone. Out of
 * memory only loses the note. [the file's taker] */
void retire_note(struct toolrack *host, struct plugin *plugin);

/** The last reference on the plugin of a generation without workers is gone: unload its image, if
 * any, and destroy it. [any-thread] */
void retire_end(struct toolrack *host, struct generation *generation, struct image *image);

/** The last worker of one has ended: destroy it. [supervisor] */
void retire_workers_gone(struct toolrack *host, struct generation *generation);

/** How many images of a file are in this process though nobody calls them. Those that were pending
 * are looked at again. [the file's taker] */
unsigned retire_count_images(struct toolrack *host, struct plugin_file *file);

/** Wait until it is known what became of a generation, until `until_ns` at most.
 * @param ret_cause  of what is not gone; room for UNLOAD_CAUSE_MAX. [any-thread] */
enum retired_state retire_wait(struct toolrack *host, struct plugin_file *file, uint32_t generation,
                               uint64_t until_ns, char *ret_cause);

/** "draining", "gone", "pending" or "resident". */
const char *retired_state_name(enum retired_state state);
