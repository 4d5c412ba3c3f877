/* statistics.h - statistics of the calls of each version of each tool.
 *
 * They only grow: several processes share a state folder, and each adds what it has
 * counted since it last did. So nothing here replaces a number; the largest and the
 * last are merged likewise. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Durations are counted in buckets: exact below 16 ns, then 16 to each power of two, so that one is
 * at most 6.25 % wide; the last one takes what is longer than about 4.8 hours. */
#define STORE_TIME_BUCKETS 656u

/** The bucket of a duration, and the middle of a bucket, in nanoseconds. [any-thread] */
uint32_t store_time_bucket(uint64_t ns);
uint64_t store_time_middle(uint32_t bucket);

/** So many calls took so long. */
struct store_time {
    uint32_t bucket;
    uint64_t count;
};

/** What is known of one version of one tool. */
struct store_statistics {
    const char *tool;
    const char *version;
    uint64_t calls;
    uint64_t failures;
    uint64_t unlogged; /**< calls that were counted and not logged: they came too fast */
    uint64_t total_ns;
    uint64_t max_ns;
    uint64_t cpu_calls; /**< calls whose CPU time was measured */
    uint64_t cpu_ns;    /**< of those, together */
    uint64_t memory_calls;
    uint64_t memory; /**< in bytes, of those together */
    uint64_t bytes_in;
    uint64_t bytes_out;
    int64_t first_ms; /**< when the first and the last call began, since 1970 */
    int64_t last_ms;
    const char *last_error; /**< a JSON object, or NULL */
    int64_t last_error_ms;

    /** How long they took, by bucket. */
    const struct store_time *times;
    uint32_t time_count;
};

/** Half (of_100: 50), 95 or 99 of 100 took no longer than this. [any-thread] */
uint64_t store_time_quantile(const struct store_time *times, uint32_t count, unsigned of_100);

/** Visit all, by tool and version as texts. [any-thread] */
int store_statistics_read(struct store *store,
                          void (*visit)(void *user, const struct store_statistics *statistics),
                          void *user, struct toolrack_error *err);
