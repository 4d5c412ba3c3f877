/* handover.h - which of two processes holds their shared memory, and how the other one waits for
 * it.
 *
 * Each side has a cache line of words that it alone writes: the number of its last hand-over, what
 * it handed over, on which CPU it ran, whether it sleeps. Numbers count the hand-overs of both
 * sides: the host's are odd, the worker's even. A side that waits accepts exactly the next number;
 * a stale or forged number is neither the next nor the last one. All data of a hand-over is in one
 * cache line with its number: only that line and the payload are transferred between the CPUs.
 *
 * How to wait. To wake a thread on another CPU takes some 25 us, on the same CPU 2 us; a thread
 * that spins on another CPU sees the hand-over after 0.1 us. So a side that waits spins, for
 * HANDOVER_SPIN_NS_MAX at most, if the other side last ran on another CPU and spinning succeeded
 * recently (base/spin.h). Then it sleeps on the other side's number until it is woken. On the same
 * CPU it sleeps at once, as a spin would only keep the other side from running. The number of CPUs
 * of this process does not matter: each side may be bound to a CPU of its own. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/spin.h"
#include "worker/channel-wait.h"

/* Longest spin: waking the other side, a short call, and a margin. With a shorter spin, two sides
 * that once started to sleep would never spin successfully again: each would stop spinning while
 * the other side is still being woken. */
#define HANDOVER_SPIN_NS_MAX 50000u

/* After this time a host that waits checks its own memory again. A malicious worker can intercept
 * the wake-up (FUTEX_REQUEUE) and so delay the host by this time. */
#define HANDOVER_SLICE_MS 1000u

/* Most spurious wake-ups of one wait before the wait ends as CHANNEL_NONSENSE: only a malicious
 * worker causes so many, to keep the host busy. */
#define HANDOVER_SPURIOUS_MAX 1000u

/** What one side tells the other; in shared memory, initially zero. */
struct handover_side {
    _Alignas(64) atomic_uint number; /* of its last hand-over; see HANDOVER_BUMP in handover.c */
    atomic_uint type;
    atomic_uint size;
    atomic_uint cpu;    /* 1 + the CPU it ran on when it handed over; 0: not known */
    atomic_uint sleeps; /* it sleeps and has to be woken */
};

/** What was handed over: copied once, not checked yet. */
struct handover_note {
    uint32_t type;
    uint32_t size;
};

/** The state of one side, in its own memory. */
struct handover {
    struct handover_side *mine;
    struct handover_side *theirs;
    uint32_t number; /* of the last hand-over, of either side */
    uint32_t heard;  /* number of the other side's last hand-over */
    uint32_t cpu;    /* as in mine */
    bool held;       /* by this side */
    bool sliced;     /* the host: waits in slices */
    bool broken;     /* invalid data was received: nothing is accepted any more */
    struct spin spin;
    unsigned interrupts_seen;
    atomic_uint interrupts;
    atomic_bool gone; /* the other side is dead */
};

/** The host holds it first. */
void handover_init(struct handover *handover, struct handover_side *mine,
                   struct handover_side *theirs, bool is_host);

/** The number of the next hand-over; odd if it is the host's. */
uint32_t handover_next(const struct handover *handover);

/** Hand over what this side holds, and wake the other side if it sleeps. */
void handover_give(struct handover *handover, struct handover_note note);

/** Wait for the other side's hand-over. CHANNEL_FRAME: it was made, and `ret` receives its note. A
 * hand-over that was made is taken even if the deadline is over, the wait was interrupted or the
 * other side is dead. */
enum channel_wait handover_await(struct handover *handover, uint64_t until_ns,
                                 struct handover_note *ret);

/** Whether this side holds it, or handover_await() would return CHANNEL_FRAME at once. */
bool handover_has_come(const struct handover *handover);

/** What was received is no frame: every later handover_await() returns CHANNEL_NONSENSE. */
void handover_break(struct handover *handover);

/** See channel.h. [any-thread], except the last: only the thread that may wait */
void handover_interrupt(struct handover *handover);
void handover_abandon(struct handover *handover);
void handover_forget_interrupts(struct handover *handover);
