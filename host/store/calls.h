/* calls.h - the log of calls: which tool was called, by whom, with which arguments, and the result.
 *
 * Rows are written in batches, together with the statistics of the same calls. A batch survives any
 * end of the process, but not a power cut; the next durable write puts it on the disk. Ids grow and
 * are never used twice: other records refer to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/statistics.h"

/* A write removes at most STORE_CALLS_PRUNE rows that exceed a limit, plus STORE_CALLS_PRUNE_PER
 * for each row that it adds. */
#define STORE_CALLS_PRUNE     4096
#define STORE_CALLS_PRUNE_PER 2

/* Ids are in the order in which processes wrote their batches, times in that of the calls: so many
 * rows may be between a row's two places. */
#define STORE_CALLS_APART 8192

/** One call. Strings are UTF-8 and not cut here: the caller cuts them. */
struct store_call {
    int64_t id; /**< set when read; ignored when added */
    int64_t time_ms;
    const char *tool;
    const char *version;
    const char *plugin; /**< its identity (identities.h); of schema 3, its id alone */
    const char *caller; /**< this and the next four may be NULL */
    const char *channel;
    const char *conversation;
    const char *trace;
    const char *run; /**< of a plan */
    uint64_t duration_ns;
    const char *arguments;
    const char *changed; /**< in them, to fit: a JSON array, or NULL */
    const char *result;  /**< NULL: it failed */
    uint64_t bytes_in;
    uint64_t bytes_out;
    const char *error; /**< a JSON object, or NULL */
    int code;          /**< 0, or why it failed; not stored */
    bool has_cpu;
    uint64_t cpu_ns;
    bool has_memory;
    uint64_t memory;
};

/* The clock may be wrong for some calls: ages are counted from the time at which this many rows had
 * been added before, if that is earlier, and with fewer rows none is too old. */
#define STORE_CALLS_CLOCK 16

/** How much of the log is kept; 0: no limit. */
struct store_calls_limits {
    int64_t now_ms;
    int64_t age_ms;
    uint64_t bytes;
};

/** Append rows, add to the statistics, which have each tool of the rows, and remove what exceeds
 * the limits, in one transaction.
 * @return see store.h. [any-thread] */
int store_calls_add(struct store *store, const struct store_call *calls, size_t count,
                    const struct store_statistics *statistics, size_t statistics_count,
                    const struct store_calls_limits *limits, struct toolrack_error *err);

/** Which calls to read. */
struct store_calls_filter {
    const char *tool;    /**< NULL: of all tools */
    const char *version; /**< NULL: of all versions */
    bool errors;         /**< only those that failed */
    int64_t since_ms;    /**< not older than this */
    int64_t after_id;    /**< only newer than this one */
    int64_t before_id;   /**< only older than this one; 0: no bound */
    uint32_t limit;      /**< only the newest so many; 0: all */
    const char *caller;  /**< NULL: of all; so for the next three */
    const char *conversation;
    const char *outcomes; /**< "ok" and types of errors, separated by commas */
    const char *id;       /**< digits: of the call with this id, or else whose ids begin so */
    const char *trace;    /**< or run; NULL: of all */
};

/** Visit calls, the oldest first by their time; with `after_id` or `before_id` in the order of
 * their ids. Failures have an index; tools and times have none, since one would make each write
 * about two thirds slower: the log is read from its end, as far back as `since_ms` goes, and not at
 * all for a tool without statistics. [any-thread] */
int store_calls_read(struct store *store, const struct store_calls_filter *filter,
                     void (*visit)(void *user, const struct store_call *call), void *user,
                     struct toolrack_error *err);

/** Visit the call with an id, if the log has it. [any-thread] */
int store_call_read(struct store *store, int64_t id,
                    void (*visit)(void *user, const struct store_call *call), void *user,
                    struct toolrack_error *err);
