/* meter.h - what programs that watch a host are told of its calls: for each name of a tool how many
 * there were, how they failed and how long they took, since the host was opened.
 *
 * Unlike statistics, which go to the store and begin again, these numbers only grow until the host
 * is closed, whatever is reloaded, and a call counts before its caller has the answer. There is one
 * meter for each name, so that the number of meters is bounded by METER_NAMES_MAX. */
#pragma once

#include <stdatomic.h>
#include <yyjson.h>

#include "base/shard.h"
#include "call/call.h"

/* Names that have a meter of their own: those that are called first. All others share one. */
#define METER_NAMES_MAX 1000u
/* Upper ends of the classes of times; the last class has none. */
#define METER_BOUNDS    14u
/* Codes of errors, by their negative number; 0 is for any other. */
#define METER_CODES     16u

/* A part of a subject's tally (subject.h), so that a call holds one shard for all that it counts.
 */
struct meter_counts {
    atomic_uint_fast64_t total_ns;
    atomic_uint_fast64_t times[METER_BOUNDS + 1]; /* calls of each class: their sum is all calls */
    atomic_uint_fast64_t errors[METER_CODES];
};

/* Where the counts of one version of a tool lie. */
struct meter_part {
    struct meter_part *next; /* set before the meter has it */
    const struct shards *shards;
    void *first;   /* of the shards */
    size_t offset; /* of the counts in a shard */
};

struct meter {
    struct meter *next;
    char *name;                         /* "": of all that have none of their own */
    _Atomic(struct meter_part *) parts; /* those of its name, which it adds up */
};

/** NULL when out of memory. */
struct meter *meter_create(const char *name);
/** NULL is ignored. */
void meter_free(struct meter *meter);

/** Add a part, which stays as long as the meter is read. Caller holds the record's lock. */
void meter_add(struct meter *meter, struct meter_part *part);

/** Count a call that has ended, unless it goes on in another call, which counts. [any-thread] */
void meter_count(struct meter_counts *counts, const struct call_ending *ending);

/** Add the meters of a list as `tools`, and the bounds of the times as `bounds_ns`. [any-thread] */
void meters_describe(const struct meter *first, yyjson_mut_doc *doc, yyjson_mut_val *root);
