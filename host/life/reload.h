/* reload.h - a plugin file has changed: the next generation replaces the last one in one change, or
 * everything stays as it is.
 *
 *     copy and hash --> read and check --> load, examples --> exchange --> the old one drains
 *          \                 \                  \                              \
 *           `-----------------`------------------`--> refused: the old one      `--> gone, pending
 *                                                     keeps serving                  or resident
 *
 * A reload holds no lock that a call or another file could wait for: the slow steps (a copy, a
 * start, an example, the end of calls) run on the thread of the file's taker or on threads of their
 * own. */
#pragma once

#include <stdbool.h>

#include "files/stage.h"
#include "plugin/descriptor.h"
#include "toolrack/toolrack.h"

struct life;
struct plugin;
struct plugin_file;

/* How long a requested reload waits for a file that is being written. */
#define RELOAD_SETTLE_MS_MAX   5000u
#define RELOAD_SETTLE_PAUSE_MS 20u

/* When the watch finds that a file is gone, the watcher looks for it this many times more,
 * WATCHER_RETRY_MS apart, before its tools are removed: a program may remove a file and write it
 * again a moment later. */
#define RELOAD_GONE_TRIES 10u

/* How long a call waits for a file that is gone and was never copied. */
#define RELOAD_GONE_MS_MAX 1000u

/* How long a report waits for the end of the old generation. Only a generation without running
 * calls ends so quickly. */
#define RELOAD_VERDICT_MS_MAX 200u

enum reload_outcome {
    RELOAD_UNDECIDED, /* only inside reload-*.c: continue with the next step */
    RELOAD_UNCHANGED,
    RELOAD_ADDED,
    RELOAD_RELOADED,
    RELOAD_REMOVED,
    RELOAD_REFUSED,
    RELOAD_CHANGING, /* being written, or just removed: try again */
    RELOAD_ABSENT    /* the file does not exist, and was not known */
};

enum reload_how {
    RELOAD_IF_CHANGED,
    RELOAD_AND_KEEP, /* by the watcher or a call: copy the file, changed or not, for a later
                        rollback; look again before its tools are removed */
    RELOAD_LAST_TRY, /* like KEEP, but refuse a file that is still being written */
    RELOAD_FORCED,   /* make a new generation, even of the same content */
    RELOAD_NAMED,    /* like FORCED, for a person who names the file: what anybody went back from is
                        tried again */
    RELOAD_FIRST,    /* like FORCED, for a file that no host has used: it is reported as added */
    RELOAD_OPENING,  /* like FORCED, but load nothing, as at the start of the host */
    RELOAD_RENEW     /* the content that serves, with its present policy; nothing is tried out */
};

/* Whether a new generation is made of the content that serves, too. */
static inline bool reload_is_forced(enum reload_how how) {
    return how == RELOAD_FORCED || how == RELOAD_NAMED || how == RELOAD_FIRST;
}

/* What is reported about one file besides the outcome. */
struct reload_row {
    struct descriptor *desc; /* a reference, of what serves or served before; or NULL */
    uint32_t generation;     /* the one that serves now; 0: none */
    uint32_t old;            /* the one that was exchanged or removed; 0: none */
    bool old_is_kept;        /* and is a kept version now */
    char sha256[2 * STAGE_HASH_SIZE + 1];
    char reason[ERROR_MESSAGE_MAX];
};
void reload_row_finish(struct reload_row *row);

/** Tell that the present content of a file does not serve.
 * @return false: the same was told of it already. Unless a person has asked, once is enough: the
 *         watch begins by looking at what the scan has just refused. [the file's taker] */
bool reload_tell_refused(struct life *life, struct plugin_file *file, const char *plugin_id,
                         const char *words, bool is_asked);

/** Look at one file and reload it as `how` says. [the file's taker] */
enum reload_outcome reload_file(struct life *life, struct plugin_file *file, enum reload_how how,
                                struct reload_row *ret);

/** Repeat reload_file() while the file is being written or was just removed: until `until_ns` at
 * most (0: not set), and no longer than the limits above. [the file's taker] */
enum reload_outcome reload_settled(struct life *life, struct plugin_file *file, enum reload_how how,
                                   uint64_t until_ns, struct reload_row *ret);

/** The same for a file that a person asks for: in the end a file that is still being written is
 * refused. [the file's taker] */
enum reload_outcome reload_requested(struct life *life, struct plugin_file *file,
                                     enum reload_how how, struct reload_row *ret);

/** Exchange the plugin's generation if its file has changed and was not copied before: the plugin
 * could not be called any more. Waits for the file until `until_ns` at most.
 * @return whether it was reloaded. [any-thread] */
bool reload_if_stale(struct life *life, const struct plugin *plugin, uint64_t until_ns);

/** Register the tools of a name that were refused for another owner of the name, if they own it
 * now. [any-thread] */
void reload_waiting(struct life *life, const char *tool);

/** The refusals of a file, *ret_count of them with room for one more, on the heap. NULL: out of
 * memory. */
struct toolrack_refusal *reload_refusals(const char *file, const struct descriptor *desc,
                                         size_t *ret_count);
