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

/* For each CPU. */
struct meter_counts {
    _Alignas(SHARD_ALIGN) atomic_uint_fast64_t total_ns;
    atomic_uint_fast64_t times[METER_BOUNDS + 1]; /* calls of each class: their sum is all calls */
    atomic_uint_fast64_t errors[METER_CODES];
};

struct meter {
    struct meter *next;
    char *name; /* "": of all that have none of their own */
    struct shards shards;
    struct meter_counts counts; /* the first shard */
};

/** NULL when out of memory. */
struct meter *meter_create(const char *name);
/** NULL is ignored. */
void meter_free(struct meter *meter);

/** Count a call that has ended. [any-thread] */
void meter_count(struct meter *meter, const struct call_ending *ending);

/** Add the meters of a list as `tools`, and the bounds of the times as `bounds_ns`. [any-thread] */
void meters_describe(const struct meter *first, yyjson_mut_doc *doc, yyjson_mut_val *root);
