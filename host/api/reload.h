/* reload.h - a plugin file has changed: the next generation takes the place of the last one, as one
 * change, or everything stays as it is.
 *
 *     copy and hash --> read and check --> load, examples --> exchange --> the old one drains
 *          \                 \                  \                              \
 *           `-----------------`------------------`--> refused: the old one      `--> gone, pending
 *                                                     goes on serving                or resident
 *
 * Nothing of this holds a lock that a call or another file could want: what takes long (a copy, a
 * start, an example, the end of calls) is done by who has taken the file, or by threads of their
 * own. */
#pragma once

#include "api/files.h"

/* How long a file that is being written is waited for by who asked for a reload. */
#define RELOAD_SETTLE_MS_MAX   5000u
#define RELOAD_SETTLE_PAUSE_MS 20u

/* A file that the watch finds gone is looked for so many times more, WATCHER_RETRY_MS apart, before
 * its tools leave: who removes it in order to make it anew may be kept waiting between the two. */
#define RELOAD_GONE_TRIES 10u

/* How long a call waits for a file that is gone, of which nothing was ever copied. */
#define RELOAD_GONE_MS_MAX 1000u

/* How long a report waits for what becomes of the old generation. Only one that nobody calls ends
 * that soon. */
#define RELOAD_VERDICT_MS_MAX 200u

enum reload_outcome {
    RELOAD_UNCHANGED,
    RELOAD_ADDED,
    RELOAD_RELOADED,
    RELOAD_REMOVED,
    RELOAD_REFUSED,
    RELOAD_CHANGING, /* being written, or just removed: try again */
    RELOAD_ABSENT    /* there is no such file, and nothing was known of it */
};

enum reload_how {
    RELOAD_IF_CHANGED,
    RELOAD_AND_KEEP, /* by itself: copy what is there, changed or not, so that it can be gone back
                      * to; and do not believe at once that it is gone */
    RELOAD_LAST_TRY, /* and refuse a file that is still being written */
    RELOAD_FORCED,   /* make a new generation, of the same content too */
    RELOAD_OPENING   /* likewise, but load nothing: like at the start of the host */
};

/* What came of one file. */
struct reload_row {
    enum reload_outcome outcome;
    struct descriptor *desc; /* a reference; of what serves now or did before, or NULL */
    uint32_t generation;     /* that serves now; 0: none */
    uint32_t old;            /* that was exchanged or removed; 0: none */
    char sha256[2 * STAGE_HASH_SIZE + 1];
    char reason[ERROR_MESSAGE_MAX];
};
void reload_row_finish(struct reload_row *row);

/** Look at one file and do what is to be done. [the file's taker] */
void reload_file(struct toolrack *host, struct plugin_file *file, enum reload_how how,
                 struct reload_row *ret);

/** List the plugin files that are in a folder now, and those known that were.
 * @param visit  false ends it
 * @return 0; TOOLRACK_E_IO when the folder cannot be read: then those known were visited.
 * [any-thread] */
int reload_list_folder(struct toolrack *host, const struct scan_folder *folder,
                       bool (*visit)(void *user, struct plugin_file *file), void *user,
                       struct toolrack_error *err);

/** Exchange the generation that is the plugin's if its file is another now and nothing of it was
 * copied yet: it could not be called any more. Waits for the file until `until_ns` at most.
 * @return whether it was reloaded. [any-thread] */
bool reload_if_stale(struct toolrack *host, const struct plugin *plugin, uint64_t until_ns);

/** The rows of what is wrong with a file, on the heap; *ret_count of them. NULL: out of memory, or
 * none. */
struct toolrack_refusal *reload_refusals(const char *file, const struct descriptor *desc,
                                         size_t *ret_count);
