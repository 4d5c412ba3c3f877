/* reload.h - a plugin file has changed: the next generation takes the place of the last one, as one
 * change, or everything stays as it is.
 *
 *     copy and hash --> read and check --> load, examples --> exchange --> the old one drains
 *          \                 \                  \                              \
 *           `-----------------`------------------`--> refused: the old one      `--> gone, pending
 *                                                     keeps serving                  or resident
 *
 * Nothing of this holds a lock that a call or another file could want: what takes long (a copy, a
 * start, an example, the end of calls) is done by who has taken the file, or by threads of their
 * own. */
#pragma once

#include "files/stage.h"
#include "plugin/descriptor.h"
#include "toolrack/toolrack.h"

struct life;
struct plugin;
struct plugin_file;

/* How long a file that is being written is waited for by who asked for a reload. */
#define RELOAD_SETTLE_MS_MAX   5000u
#define RELOAD_SETTLE_PAUSE_MS 20u

/* A file that the watch finds gone is looked for so many times more, WATCHER_RETRY_MS apart, before
 * its tools leave: a program may remove a file and write it again a moment later. */
#define RELOAD_GONE_TRIES 10u

/* How long a call waits for a file that is gone, of which nothing was ever copied. */
#define RELOAD_GONE_MS_MAX 1000u

/* How long a report waits for the end of the old generation. Only a generation without running
 * calls ends that soon. */
#define RELOAD_VERDICT_MS_MAX 200u

enum reload_outcome {
    RELOAD_UNDECIDED, /* of a step of reload.c: the next one follows. Nothing that others see */
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

/* What is said of one file besides the outcome. */
struct reload_row {
    struct descriptor *desc; /* a reference; of what serves now or did before, or NULL */
    uint32_t generation;     /* that serves now; 0: none */
    uint32_t old;            /* that was exchanged or removed; 0: none */
    char sha256[2 * STAGE_HASH_SIZE + 1];
    char reason[ERROR_MESSAGE_MAX];
};
void reload_row_finish(struct reload_row *row);

/** Look at one file and do what is to be done. [the file's taker] */
enum reload_outcome reload_file(struct life *life, struct plugin_file *file, enum reload_how how,
                                struct reload_row *ret);

/** The same again and again while it is being written, or was removed just now: until `until_ns`
 * at most, 0 is none, and no longer than the limits above. [the file's taker] */
enum reload_outcome reload_settled(struct life *life, struct plugin_file *file, enum reload_how how,
                                   uint64_t until_ns, struct reload_row *ret);

/** Exchange the generation that is the plugin's if its file is another now and nothing of it was
 * copied yet: it could not be called any more. Waits for the file until `until_ns` at most.
 * @return whether it was reloaded. [any-thread] */
bool reload_if_stale(struct life *life, const struct plugin *plugin, uint64_t until_ns);

/** The rows of what is wrong with a file, on the heap; *ret_count of them. NULL: out of memory, or
 * none. */
struct toolrack_refusal *reload_refusals(const char *file, const struct descriptor *desc,
                                         size_t *ret_count);
