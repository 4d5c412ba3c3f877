/* subject.h - one version of one tool of one identity: the secrets and the statistics of its calls.
 *
 * A subject lives as long as its record. A registration after a reload, with the same schemas, uses
 * the same subject. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/shard.h"
#include "call/call.h"
#include "record/meter.h"
#include "store/statistics.h"

/* What one call adds to the statistics. */
struct figures {
    uint64_t started_ns;
    uint64_t duration_ns;
    struct call_cost cost;
    uint64_t bytes_in;
    uint64_t bytes_out;
    int32_t code; /* 0: it has a result */
    int32_t signal;
    bool hindered; /* it failed before its tool ran, as no caller, person or argument made it fail
                    */
    bool is_uncounted; /* logged only: it goes on in another call, or is none of a tool */
};

/* Why a call has no line. */
enum subject_loss {
    LOST_LIMIT, /* there were more in its second than are wanted */
    LOST_FULL,  /* the rings were full */
    SUBJECT_LOSSES
};

/* What is counted of a tool's calls, for each CPU, under its hold. The statistics are those since
 * the last write; the thread that reads the rings adds to them, and a call that has no line. */
struct tally {
    _Alignas(SHARD_ALIGN) struct shard_hold hold;
    atomic_uint_fast64_t calls;
    atomic_uint_fast64_t failures;
    atomic_uint_fast64_t hindered;
    atomic_uint_fast64_t unlogged;
    atomic_uint_fast64_t total_ns;
    atomic_uint_fast64_t max_ns;
    atomic_uint_fast64_t cpu_calls;
    atomic_uint_fast64_t cpu_ns;
    atomic_uint_fast64_t memory_calls;
    atomic_uint_fast64_t memory;
    atomic_uint_fast64_t bytes_in;
    atomic_uint_fast64_t bytes_out;
    atomic_uint_fast64_t first_ns; /* of the monotonic clock, inverted: so that 0 is no call */
    atomic_uint_fast64_t last_ns;
    atomic_uint_fast64_t times[STORE_TIME_BUCKETS];
    /* Since the host was opened. */
    atomic_uint_fast64_t lost[SUBJECT_LOSSES];
    struct meter_counts counts; /* for its meter */
};

/* The members that each call reads come first; the tallies, which change all the time, are in other
 * cache lines. */
struct subject {
    yyjson_doc *schema;        /* of arguments, if it has secrets; else NULL */
    yyjson_doc *result_schema; /* the same */
    struct meter *meter;       /* of the tool's name; NULL: of what is no tool */
    struct subject *next;
    struct meter_part part; /* for the meter */
    char *tool;             /* the allocation that contains all three strings */
    const char *version;
    const char *plugin; /* its identity */
    char *last_error;   /* a JSON object to write, or NULL; guarded by the record's write_lock */
    int64_t last_error_ms;
    atomic_bool has_failed; /* in the call before, as far as is known */
    struct shards shards;
    struct tally tally; /* the first shard */
};

/** @return a subject of the tool as it is registered; NULL when out of memory. [any-thread] */
struct subject *subject_create(const struct toolrack_tool *tool);
void subject_free(struct subject *subject);
CLEANUP_DEFINE(struct subject, subject_free)

/** Whether both are about the same version of the same tool, with the same secrets. [any-thread] */
bool subject_is_same(const struct subject *a, const struct subject *b);

/** Add a call that has a line to the statistics.
 * @param here  as of shard_here() [any-thread] */
void subject_count(struct subject *subject, unsigned here, const struct figures *figures);
/** Count a call that has ended and has a line. [any-thread] */
void subject_end(struct subject *subject, const struct call_ending *ending);
/** Count one that has none, and add it to the statistics. [any-thread] */
void subject_end_unlogged(struct subject *subject, const struct call_ending *ending,
                          const struct figures *figures, enum subject_loss why);
/** How many calls had no line, of a list of subjects. [any-thread] */
uint64_t subjects_lost(struct subject *first, enum subject_loss why);

/** Whether calls were counted that were not taken yet. [any-thread] */
bool subject_has_calls(struct subject *subject);

/** Take the statistics out of the subject. The strings belong to the subject; the times are in the
 * arena. Caller holds the record's write_lock.
 * @param wall_ns  the wall-clock time at zero of the monotonic clock */
struct store_statistics subject_take(struct subject *subject, struct arena *arena, int64_t wall_ns);

/** Add back what was taken. Caller holds the record's write_lock. */
void subject_give_back(struct subject *subject, const struct store_statistics *taken,
                       int64_t wall_ns);

/** To be called when what was taken, and the last error, are in the store. Caller holds the
 * record's write_lock. */
void subject_is_written(struct subject *subject);
