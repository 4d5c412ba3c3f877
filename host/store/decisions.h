/* decisions.h - the log of permission decisions: what was allowed, refused or changed, by whom and
 * why.
 *
 * Decisions are as frequent as calls. So the caller collects rows and writes them in batches. A
 * batch survives any end of the process, but not a power cut; the next durable write, or SQLite's
 * next checkpoint, puts it on the disk. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Most decisions kept about calls, and as many of all others: whoever makes calls could otherwise
 * push out what persons decided. The oldest beyond are removed whenever so many more were added. */
#define STORE_DECISIONS_MAX            100000
#define STORE_DECISIONS_STEP           10000
#define STORE_DECISIONS_IN_MEMORY_MAX  4096 /* without a state folder */
#define STORE_DECISIONS_IN_MEMORY_STEP 1000

/** One decision. All strings but `decision` may be NULL. A string longer than STORE_TEXT_SIZE_MAX
 * is cut: one long reason must not make the whole batch fail. */
struct store_decision {
    int64_t time_ms; /**< since 1970 */
    const char *tool;
    const char *version;
    const char *plugin; /**< the id */
    const char *origin; /**< of the plugin; NULL: not known, as in rows of schema 3 */
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *decision; /**< one word: allowed, refused, granted, revoked, approved ... */
    const char *who;      /**< the person or rule that decided */
    const char *why;
};

/** Append rows in one transaction.
 * @return see store.h. [any-thread] */
int store_decisions_add(struct store *store, const struct store_decision *rows, size_t count,
                        struct toolrack_error *err);

/** Which decisions to read. */
struct store_decisions_filter {
    const char *tool;    /**< NULL: of all tools */
    const char *version; /**< NULL: of all versions */
    int64_t since_ms;    /**< not older than this */
    uint32_t limit;      /**< only the newest so many; 0: all */
    const char *plugin;  /**< NULL: of all plugins */
    const char *origin;  /**< only those of this origin, or of none; NULL: of all */
};

/** Visit decisions, the newest first: by their time, since the processes of a state folder write
 * their rows when they can. [any-thread] */
int store_decisions_read(struct store *store, const struct store_decisions_filter *filter,
                         void (*visit)(void *user, const struct store_decision *decision),
                         void *user, struct toolrack_error *err);
