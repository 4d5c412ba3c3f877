/* spin.h - checking a word for a moment, before sleeping until it changes.
 *
 * To wake a sleeping thread takes 5 to 25 microseconds each way, most of a short call. Where
 * another CPU does the other side's work, that work is done sooner. Where no other CPU does, a spin
 * only takes time away from it. So a spin is bounded by what waking costs, and is left out while
 * less than two of three pay, but for a try now and then; with one CPU it never begins. A call
 * handed to a pool thread and back takes 3.6 us with it where it took 17. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A spin that pays earns 1, up to this; one that does not costs 2. Without credit only one in so
 * many chances is taken, to see whether it pays again. */
#define SPIN_CREDIT_MAX 16
#define SPIN_PROBE_EACH 256u

/* One kind of waiting: how spinning for it went lately. */
struct spin {
    bool possible;   /* there is more than one CPU */
    uint32_t ns_max; /* longest spin */
    atomic_int credit;
    atomic_uint skipped; /* chances not taken */
};

void spin_init(struct spin *spin, uint32_t ns_max);

/** Whether to spin now. [any-thread] */
bool spin_worthwhile(struct spin *spin);

/** Look at `word` while it is `value`, for ns_max at most. Returns whether it is not any more.
 * [any-thread] */
bool spin_while(struct spin *spin, const atomic_uint *word, unsigned value);
