/* statistics.h - statistics of the calls of each version of each tool, by the identity of its
 * plugin (identities.h).
 *
 * Several processes share a state folder, and each adds what it counted since its last write. So no
 * number is overwritten: counts and sums are added; maxima and the latest times are merged. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Durations are counted in buckets: exact below 16 ns, then 16 buckets for each power of two, so
 * that a bucket is at most 6.25 % wide; the last bucket counts everything longer than about 4.8
 * hours. */
#define STORE_TIME_BUCKETS 656u

/** The bucket of a duration, and the middle of a bucket, in nanoseconds. [any-thread] */
uint32_t store_time_bucket(uint64_t ns);
uint64_t store_time_middle(uint32_t bucket);

/** The number of calls in one bucket. */
struct store_time {
    uint32_t bucket;
    uint64_t count;
};

/** The statistics of one version of one tool of one plugin. */
struct store_statistics {
    const char *tool;
    const char *version;
    const char *plugin; /**< its identity; "": whoever provides the name, see identities.h */
    uint64_t calls;
    uint64_t failures;
    uint64_t hindered; /**< of these, what the tool did not run for: its plugin, a worker or the
                        * host failed */
    uint64_t unlogged; /**< calls that were counted but not logged: too many at once */
    uint64_t total_ns;
    uint64_t max_ns;
    uint64_t cpu_calls; /**< calls whose CPU time was measured */
    uint64_t cpu_ns;    /**< sum over these calls */
    uint64_t memory_calls;
    uint64_t memory; /**< in bytes, sum over these calls */
    uint64_t bytes_in;
    uint64_t bytes_out;
    int64_t first_ms; /**< start of the first and of the last call, since 1970 */
    int64_t last_ms;
    const char *last_error; /**< a JSON object, or NULL */
    int64_t last_error_ms;

    /** Durations of the calls, by bucket. */
    const struct store_time *times;
    uint32_t time_count;
};

/** The duration that `of_100` of 100 calls did not exceed (50: the median). [any-thread] */
uint64_t store_time_quantile(const struct store_time *times, uint32_t count, unsigned of_100);

/** Visit all, ordered by tool, version and plugin as strings. [any-thread] */
int store_statistics_read(struct store *store,
                          void (*visit)(void *user, const struct store_statistics *statistics),
                          void *user, struct toolrack_error *err);

/** What is known of one version of a tool of one plugin, in short. */
struct store_record {
    uint64_t calls; /**< without those in which the tool had no chance to fail */
    uint64_t failures;
    uint64_t mean_ns; /**< 0: unknown */
    int64_t last_ms;
    uint64_t good; /**< opinions */
    uint64_t bad;
};

/** Find it; all zero for a tool of which nothing is known. [any-thread] */
int store_record_find(struct store *store, const char *tool, const char *version,
                      const char *plugin, struct store_record *ret, struct toolrack_error *err);
