/* handover.h - which of two processes holds the memory that they share, and waiting for it.
 *
 * Each side has a line of words that it alone writes: the number of its last
 * hand-over, what it handed over, on which CPU it ran, whether it sleeps. Numbers
 * count the hand-overs of both, so the host's are odd and the worker's even, and who
 * waits takes exactly the next one: what is stale or made up is neither that nor the
 * last one. All that a hand-over says lies in one cache line with its number, which
 * is all that travels between the CPUs beside the payload.
 *
 * How to wait. To wake a thread on another CPU takes some 25 us, on the own CPU 2 us;
 * to be seen by one that spins there takes 0.1 us. So who waits spins when the other side
 * last ran on another CPU and spinning paid lately (base/spin.h), for HANDOVER_SPIN_NS_MAX, and
 * then sleeps on the other's number until it is woken; on one CPU it sleeps at once, where a
 * spin would only keep the other from running. The number of CPUs of this process says
 * nothing here: each side may be bound to one of its own. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/spin.h"
#include "worker/channel-wait.h"

/* Longest spin: waking the other side, a short call, and some. While a spin were shorter than
 * that, two sides that once began to sleep would never find back: each would give up while it
 * still wakes the other. */
#define HANDOVER_SPIN_NS_MAX 50000u

/* After so long a host that waits looks at its own memory again. A worker that is up to no good
 * can swallow its wake-up (FUTEX_REQUEUE), and delay it by this much. */
#define HANDOVER_SLICE_MS 1000u

/* Most times that one wait is ended by a wake-up for nothing, before it counts as nonsense: only
 * a worker that is up to no good does that to keep the host busy. */
#define HANDOVER_SPURIOUS_MAX 1000u

/** What one side says to the other; in shared memory, zero at first. */
struct handover_side {
    _Alignas(64) atomic_uint number; /* of its last hand-over; see HANDOVER_BUMP in handover.c */
    atomic_uint type;
    atomic_uint size;
    atomic_uint cpu;    /* where it ran when it handed over, and 1; 0 is not known */
    atomic_uint sleeps; /* it has to be woken */
};

/** What was handed over: copied once, not yet checked by anything. */
struct handover_note {
    uint32_t type;
    uint32_t size;
};

/** What one side keeps of it in its own memory. */
struct handover {
    struct handover_side *mine;
    struct handover_side *theirs;
    uint32_t number; /* of the last hand-over, by whom ever */
    uint32_t heard;  /* of the other side's last one */
    uint32_t cpu;    /* as in mine */
    bool held;       /* by this side */
    bool sliced;     /* the host: waits in slices */
    bool broken;     /* nonsense came: nothing is believed any more */
    struct spin spin;
    unsigned interrupts_seen;
    atomic_uint interrupts;
    atomic_bool gone; /* the other side is dead */
};

/** The host holds it first. */
void handover_init(struct handover *handover, struct handover_side *mine,
                   struct handover_side *theirs, bool is_host);

/** The number of the next hand-over; odd when it is the host's. */
uint32_t handover_next(const struct handover *handover);

/** Hand over what this side holds, and wake the other side if it sleeps. */
void handover_give(struct handover *handover, struct handover_note note);

/** Wait for the other side's hand-over. CHANNEL_FRAME: it was made, `ret` says what came with it.
 * A hand-over that was made is taken whatever else happened. */
enum channel_wait handover_await(struct handover *handover, uint64_t until_ns,
                                 struct handover_note *ret);

/** Whether this side holds it, or handover_await() would return CHANNEL_FRAME at once. */
bool handover_has_come(const struct handover *handover);

/** What came is no frame: every handover_await() from now on says so. */
void handover_break(struct handover *handover);

/** See channel.h. [any-thread] but for the last, which is for who may wait */
void handover_interrupt(struct handover *handover);
void handover_abandon(struct handover *handover);
void handover_forget_interrupts(struct handover *handover);
