/* decisions.h - the log of permission decisions: what was allowed, refused or changed, by whom and
 * why.
 *
 * Decisions about calls come as fast as calls. So rows are kept in batches that the caller
 * collects, and a batch survives the end of the process in any way, but not a power cut: it is
 * on the disk with the next thing that is kept for good, or when the log is next tidied up. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Most decisions kept; beyond, the oldest are removed, so many at a time. */
#define STORE_DECISIONS_MAX           100000
#define STORE_DECISIONS_IN_MEMORY_MAX 4096 /* where there is no state folder */
#define STORE_DECISIONS_BATCH         1000

/** One decision. All texts but `decision` may be NULL. What is longer than STORE_TEXT_SIZE_MAX is
 * cut: one long reason must not cost the rest of a batch. */
struct store_decision {
    int64_t time_ms; /**< since 1970 */
    const char *tool;
    const char *version;
    const char *plugin;
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *decision; /**< one word: allowed, refused, granted, revoked, approved ... */
    const char *who;      /**< the person or rule that decided */
    const char *why;
};

/** Append rows, in one transaction: all or none.
 * @return as all of the store. [any-thread] */
int store_decisions_add(struct store *store, const struct store_decision *rows, size_t count,
                        struct toolrack_error *err);

/** Which decisions to read. */
struct store_decisions_filter {
    const char *tool; /**< of this tool; NULL: of all */
    int64_t since_ms; /**< not older than this */
    uint32_t limit;   /**< at most so many, the newest; 0: all */
};

/** Visit decisions, the newest first. [any-thread] */
int store_decisions_read(struct store *store, const struct store_decisions_filter *filter,
                         void (*visit)(void *user, const struct store_decision *decision),
                         void *user, struct toolrack_error *err);
