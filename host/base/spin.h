/* spin.h - polling a word for a short time before sleeping until it changes.
 *
 * To wake a sleeping thread takes 5 to 25 microseconds each way, most of the time of a short call.
 * If the other side runs on another CPU, it is often done sooner than that. If it does not, a spin
 * only takes CPU time from it. So the length of a spin is limited to the cost of waking, and spins
 * are skipped, except an occasional attempt, while less than two of three succeed; with one CPU no
 * spin begins. A call with a deadline, which a pool thread runs, takes 3.1 us on two CPUs and 6.0
 * us on one (bench-call). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A successful spin adds 1 to the credit, up to this; a failed one takes 2. Without credit only one
 * in SPIN_PROBE_EACH waits spins, to see whether spinning succeeds again. */
#define SPIN_CREDIT_MAX 16
#define SPIN_PROBE_EACH 256u

/* Recent results of spinning for one kind of wait. */
struct spin {
    bool possible;   /* there is more than one CPU */
    uint32_t ns_max; /* longest spin */
    atomic_int credit;
    atomic_uint skipped; /* waits without a spin */
};

void spin_init(struct spin *spin, uint32_t ns_max);

/** Whether to spin now. [any-thread] */
bool spin_worthwhile(struct spin *spin);

/** Poll `word` while it is `value`, for ns_max at most. Returns whether it has changed.
 * [any-thread] */
bool spin_while(struct spin *spin, const atomic_uint *word, unsigned value);
