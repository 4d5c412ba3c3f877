/* shard.h - what every call writes, once for each CPU.
 *
 * A line of the cache that two CPUs write goes from one to the other with each write, at some
 * hundred cycles, and no lock is needed for that: a counter is enough. So what calls write is
 * there several times, as shards, and a call writes the shard of the CPU that runs it. Who reads
 * adds them up. A thread may be moved to another CPU at any time: two may then write one shard, so
 * its members are atomic all the same, but they seldom meet.
 *
 * CPUs and not threads have shards, since there may be any number of threads, which come and go; so
 * the memory is bounded, and nothing need be done when a thread ends. glibc 2.35 and later know the
 * CPU without a system call (rseq): 1.8 ns. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

/* Of more CPUs, some share a shard. */
#define SHARD_COUNT 64u
/* To begin a line of the cache. */
#define SHARD_ALIGN 64u

/** The number of the shard of this CPU, below SHARD_COUNT. [any-thread] */
static inline unsigned shard_here(void) {
    return (unsigned)sched_getcpu() % SHARD_COUNT; /* -1, unknown, is a number too */
}

/* Most memory that the further shards of all objects of the process take; what comes later is
 * counted in the first one. */
#define SHARDS_BYTES_MAX (UINT32_C(32) << 20)

struct shard_table;

/* The shards of one object. The first one is a part of it, and is the shard of the CPU that counted
 * first: so an object that only one CPU uses takes no more memory. Zeroed is initialized. */
struct shards {
    atomic_uint home; /* that CPU's shard number + 1; 0: nothing was counted */
    _Atomic(struct shard_table *) others;
};

void shards_finish(struct shards *shards);

void *shards_elsewhere(struct shards *shards, unsigned here, void *first, size_t size);

/** The shard of that number; a new one is zeroed. `first` is the first one. [any-thread] */
static inline void *shards_own(struct shards *shards, unsigned here, void *first, size_t size) {
    return atomic_load_explicit(&shards->home, memory_order_relaxed) == here + 1
                   ? first
                   : shards_elsewhere(shards, here, first, size);
}

/** Go through all shards: begin with *at 0. NULL: there are no more. [any-thread] */
void *shards_next(const struct shards *shards, void *first, unsigned *at);
