/* calls.h - the log of calls: what was called, by whom, with what, and how it went.
 *
 * Rows come in batches, with what was counted of the same calls: a batch survives the
 * end of the process in any way, but not a power cut, and is on the disk with the next
 * thing that is kept for good. Ids grow, and none is used twice: others refer to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/statistics.h"

/* Most rows that go when the log has become too old or too large, at a time: at least, and for each
 * that comes. */
#define STORE_CALLS_PRUNE     4096
#define STORE_CALLS_PRUNE_PER 2

/** One call. Texts are UTF-8 and not cut here: whoever collects them does that. */
struct store_call {
    int64_t id; /**< read, not kept */
    int64_t time_ms;
    const char *tool;
    const char *version;
    const char *plugin;
    const char *caller; /**< this and the next three may be NULL */
    const char *channel;
    const char *conversation;
    const char *trace;
    uint64_t duration_ns;
    const char *arguments;
    const char *result; /**< NULL: it failed */
    uint64_t bytes_in;
    uint64_t bytes_out;
    const char *error; /**< a JSON object, or NULL */
    int code;          /**< 0, or why it failed; not kept, and not read */
    bool has_cpu;
    uint64_t cpu_ns;
    bool has_memory;
    uint64_t memory;
};

/** How much of the log is kept; 0: all. */
struct store_calls_limits {
    int64_t since_ms; /**< not older than this */
    uint64_t bytes;
};

/** Append rows and add what was counted, in one transaction: all or none; then remove what the
 * limits do not allow.
 * @return as all of the store. [any-thread] */
int store_calls_add(struct store *store, const struct store_call *calls, size_t count,
                    const struct store_statistics *statistics, size_t statistics_count,
                    const struct store_calls_limits *limits, struct toolrack_error *err);

/** Which calls to read. */
struct store_calls_filter {
    const char *tool;    /**< of this tool; NULL: of all */
    const char *version; /**< of this version; NULL: of all */
    bool errors;         /**< only those that failed */
    int64_t since_ms;    /**< not older than this */
    int64_t after_id;    /**< only newer than this one */
    uint32_t limit;      /**< at most so many, the newest; 0: all */
};

/** Visit calls, the oldest first. There is an index of failures, not of tools and times, which
 * would cost each call that is written some two thirds more: the log is read from its end.
 * [any-thread] */
int store_calls_read(struct store *store, const struct store_calls_filter *filter,
                     void (*visit)(void *user, const struct store_call *call), void *user,
                     struct toolrack_error *err);

/** Visit the call of an id; nothing, where the log does not have it. [any-thread] */
int store_call_read(struct store *store, int64_t id,
                    void (*visit)(void *user, const struct store_call *call), void *user,
                    struct toolrack_error *err);
