/* shard.h - what every call writes, once for each CPU.
 *
 * A line of the cache that two CPUs write goes from one to the other with each write, at some
 * hundred cycles, and no lock is needed for that: a counter is enough. So what calls write is
 * there several times, as shards, and a call writes the shard of the CPU that runs it. Who reads
 * adds them up. A thread may be moved to another CPU at any time: two may then write one shard, so
 * its members are atomic all the same, but they seldom meet.
 *
 * CPUs and not threads have shards, since there may be any number of threads, which come and go; so
 * the memory is bounded, and nothing need be done when a thread ends.
 *
 * The kernel writes the CPU of a thread into its rseq area, which glibc 2.35 and later register:
 * read there, it takes 8 instructions and no call. Where there is no such area, as in valgrind,
 * threads go by their numbers instead, as that takes 8 where sched_getcpu() takes 30 and a look at
 * the processor, twice a call: together more than 1 % of it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"

#if defined(__GLIBC_PREREQ) && defined(__has_builtin)
#if __GLIBC_PREREQ(2, 35) && __has_builtin(__builtin_thread_pointer)
#include <sys/rseq.h>
#define SHARD_RSEQ 1
#endif
#endif

/* Of more CPUs, some share a shard. */
#define SHARD_COUNT 64u
/* To begin a line of the cache. */
#define SHARD_ALIGN 64u

/** The number of the shard of this CPU, below SHARD_COUNT. [any-thread] */
static inline unsigned shard_here(void) {
#ifdef SHARD_RSEQ
    if (__rseq_size != 0) {
        const struct rseq *area =
                (const void *)((char *)__builtin_thread_pointer() + __rseq_offset);
        int32_t cpu = (int32_t)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);
        if (cpu >= 0) { /* else this thread could not register it */
            return (unsigned)cpu % SHARD_COUNT;
        }
    }
#endif
    return thread_number() % SHARD_COUNT;
}

/* Most memory that the further shards of all objects of the process take; what comes later is
 * counted in the first one. */
#define SHARDS_BYTES_MAX (UINT32_C(32) << 20)

struct shard_table {
    size_t size; /* of each */
    _Atomic(void *) shards[SHARD_COUNT];
};

/* The shards of one object. The first one is a part of it, and is the shard of the CPU that counted
 * first: so an object that only one CPU uses takes no more memory. Zeroed is initialized. */
struct shards {
    atomic_uint home; /* that CPU's shard number + 1; 0: nothing was counted */
    _Atomic(struct shard_table *) others;
};

void shards_finish(struct shards *shards);

/** The shard of a CPU that has none of this object yet. */
void *shards_first_use(struct shards *shards, unsigned here, void *first, size_t size);

/** The shard of that number; a new one is zeroed. `first` is the first one. Inline and looking for
 * what mostly is there: as a call looks for three of them, one on another CPU than the first took
 * 1.4 % more instructions when a function looked, first, whether there is no home yet. [any-thread]
 */
static inline void *shards_own(struct shards *shards, unsigned here, void *first, size_t size) {
    if (atomic_load_explicit(&shards->home, memory_order_relaxed) == here + 1) {
        return first;
    }
    struct shard_table *table = atomic_load_explicit(&shards->others, memory_order_acquire);
    void *shard =
            table != NULL ? atomic_load_explicit(&table->shards[here], memory_order_acquire) : NULL;
    return shard != NULL ? shard : shards_first_use(shards, here, first, size);
}

/* What begins a shard whose members are written together. A locked operation takes 5 ns, of a
 * call's 300, and a write of memory 0.3: so there is one, to hold the shard, and not one for each
 * sum. Who holds one has nothing else to do than to count, and may still be preempted by a call on
 * its CPU.
 */
struct shard_hold {
    atomic_bool is_held;
};

static inline bool shard_try_hold(struct shard_hold *hold) {
    return !atomic_exchange_explicit(&hold->is_held, true, memory_order_acquire);
}

static inline void shard_release(struct shard_hold *hold) {
    atomic_store_explicit(&hold->is_held, false, memory_order_release);
}

/** Hold a shard, which may take a moment. [any-thread] */
void shard_wait_hold(struct shard_hold *hold);
/** As shards_hold(), after its first try failed. */
void *shards_hold_any(struct shards *shards, unsigned here, void *first, size_t size);

/** As shards_own(), for shards that begin with a shard_hold: the one that is returned is held, and
 * is of another CPU where the own one is held. [any-thread] */
static inline void *shards_hold(struct shards *shards, unsigned here, void *first, size_t size) {
    void *shard = shards_own(shards, here, first, size);
    return shard_try_hold(shard) ? shard : shards_hold_any(shards, here, first, size);
}

/* What is written of a shard that is held may be read by anyone at any time. */
static inline void shard_add(atomic_uint_fast64_t *sum, uint64_t more) {
    uint64_t now = atomic_load_explicit(sum, memory_order_relaxed);
    atomic_store_explicit(sum, now + more, memory_order_relaxed);
}

static inline void shard_raise(atomic_uint_fast64_t *largest, uint64_t value) {
    if (value > atomic_load_explicit(largest, memory_order_relaxed)) {
        atomic_store_explicit(largest, value, memory_order_relaxed);
    }
}

/** Go through all shards: begin with *at 0. NULL: there are no more. [any-thread] */
void *shards_next(const struct shards *shards, void *first, unsigned *at);
