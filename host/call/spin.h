/* spin.h - looking for a moment whether something comes, before sleeping until it does.
 *
 * To wake a thread that sleeps takes 5 to 25 microseconds each way, most of a short call. Where
 * another CPU does the other side's work, it is done sooner than that. Where none does, looking on
 * only takes time away from it. So a spin is bounded by what waking costs, and gives itself up
 * after it failed a few times in a row, but for a try now and then; with one CPU it never begins.
 * A call handed to a pool thread and back takes 1.3 us with it where it took 8.7. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/* Longest spin: about what it takes to wake a thread. */
#define SPIN_NS_MAX     20000u
/* So many failures in a row end it; then one in so many chances is taken to see whether it pays
 * again. */
#define SPIN_MISSES_MAX 8u
#define SPIN_PROBE_EACH 64u

/* One kind of waiting: how spinning for it went lately. */
struct spin {
    bool possible;      /* there is more than one CPU */
    atomic_uint misses; /* in a row; beyond SPIN_MISSES_MAX also the chances not taken */
};

void spin_init(struct spin *spin);

/** Whether to spin now. [any-thread] */
bool spin_worthwhile(struct spin *spin);

/** Look at `word` until it is not zero, for SPIN_NS_MAX at most. Returns whether it is not.
 * [any-thread] */
bool spin_while_zero(struct spin *spin, const atomic_uint *word);
