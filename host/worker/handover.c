#include "worker/handover.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* Invariants:
 *
 *  (1) Exactly one side has `held`, or a hand-over is under way: its number equals the giver's
 *      `number`, is in the giver's word, and is the successor of the receiver's `number`.
 *  (2) A side writes its own line only, except HANDOVER_BUMP, which the host sets and clears in the
 *      worker's number. The worker's own write may clear it too: then the number has changed, which
 *      has the same effect.
 *  (3) No hand-over is missed by a sleeper. The waiter sets `sleeps`, then the kernel compares the
 *      number; the giver writes the number, then reads `sleeps`; all sequentially consistent. So
 *      either the giver sees `sleeps` and wakes the waiter, or the kernel sees the new number and
 *      does not let the waiter sleep.
 *  (4) No interrupt and no abandoning is missed by a sleeper. The interrupter increments
 *      `interrupts` (or sets `gone`), then sets HANDOVER_BUMP, then wakes. The waiter clears
 *      HANDOVER_BUMP, then reads both, then sleeps on the number without it. If the waiter read too
 *      early, the bump comes after that read: the kernel finds the number changed, or the wake-up
 *      finds the sleeper.
 *  (5) (3) and (4) hold for two honest sides. The host's slices protect against a worker that
 *      undoes a bump or moves the sleeper to another futex: the host checks again after
 *      HANDOVER_SLICE_MS at most.
 *  (6) An interrupt ends one wait: the current one, or the next. handover_forget_interrupts()
 *      discards it without a wait; a bump that is left over then causes one spurious wake-up.
 *  (7) No word of a hand-over in the other side's line is read twice: the number shows whether the
 *      others are valid, and those are copied once. */

/* Set beside the number, in the worker's word only: the waiting host must check its own memory
 * again. */
#define HANDOVER_BUMP    0x80000000u
#define HANDOVER_NUMBERS 0x7fffffffu

void handover_init(struct handover *handover, struct handover_side *mine,
                   struct handover_side *theirs, bool is_host) {
    *handover =
            (struct handover){.mine = mine, .theirs = theirs, .held = is_host, .sliced = is_host};
    spin_init(&handover->spin, HANDOVER_SPIN_NS_MAX);
    handover->spin.possible = true; /* the other side's CPU decides; see handover.h */
}

uint32_t handover_next(const struct handover *handover) {
    return (handover->number + 1) & HANDOVER_NUMBERS;
}

/* ---------------------------------------------------------------- handing over */

/* Without FUTEX_PRIVATE_FLAG, as the word is shared with another process. Wakes all sleepers: an
 * honest worker has none here, and a sleeper of a dishonest worker would intercept a single
 * wake-up. */
static void wake(atomic_uint *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void handover_give(struct handover *handover, struct handover_note note) {
    assert(handover->held);
    struct handover_side *mine = handover->mine;
    handover->held = false;
    handover->number = handover_next(handover);
    handover->cpu = (uint32_t)(sched_getcpu() + 1);
    atomic_store_explicit(&mine->type, note.type, memory_order_relaxed);
    atomic_store_explicit(&mine->size, note.size, memory_order_relaxed);
    atomic_store_explicit(&mine->cpu, handover->cpu, memory_order_relaxed);
    atomic_store(&mine->number, handover->number);
    if (atomic_load(&handover->theirs->sleeps) != 0) {
        wake(&mine->number);
    }
}

/* -------------------------------------------------------------------- waiting */

/* CHANNEL_LATE: no hand-over yet; the other side's number is still `heard`, without a bump. */
static enum channel_wait look(struct handover *handover) {
    uint32_t value = atomic_load_explicit(&handover->theirs->number, memory_order_acquire);
    if ((value & HANDOVER_BUMP) != 0 && handover->sliced) {
        value = atomic_fetch_and(&handover->theirs->number, HANDOVER_NUMBERS) & HANDOVER_NUMBERS;
    }
    if (value == handover_next(handover)) {
        return CHANNEL_FRAME;
    }
    if (value != handover->heard) {
        return CHANNEL_NONSENSE;
    }
    if (atomic_load(&handover->gone)) {
        return CHANNEL_GONE;
    }
    unsigned interrupts = atomic_load(&handover->interrupts);
    if (interrupts != handover->interrupts_seen) {
        handover->interrupts_seen = interrupts;
        return CHANNEL_INTERRUPTED;
    }
    return CHANNEL_LATE;
}

static enum channel_wait sleep_until(struct handover *handover, uint64_t until_ns) {
    for (unsigned spurious = 0; spurious <= HANDOVER_SPURIOUS_MAX;) {
        uint64_t now_ns = until_ns != 0 || handover->sliced ? clock_now_ns() : 0;
        if (until_ns != 0 && now_ns >= until_ns) {
            return CHANNEL_LATE;
        }
        uint64_t slice_ns = now_ns + (uint64_t)HANDOVER_SLICE_MS * CLOCK_NS_PER_MS;
        bool is_cut = handover->sliced && (until_ns == 0 || slice_ns <= until_ns);
        uint64_t wake_ns = is_cut ? slice_ns : until_ns; /* 0: never */
        struct timespec wake_at = clock_timespec(wake_ns);
        atomic_store(&handover->mine->sleeps, 1);
        long got = syscall(SYS_futex, &handover->theirs->number, FUTEX_WAIT_BITSET, handover->heard,
                           wake_ns != 0 ? &wake_at : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
        int failed = got == 0 ? 0 : errno;
        atomic_store_explicit(&handover->mine->sleeps, 0, memory_order_relaxed);
        enum channel_wait seen = look(handover);
        if (seen != CHANNEL_LATE) {
            return seen;
        }
        spurious += failed != ETIMEDOUT && failed != EINTR;
    }
    return CHANNEL_NONSENSE;
}

enum channel_wait handover_await(struct handover *handover, uint64_t until_ns,
                                 struct handover_note *ret) {
    assert(!handover->held);
    struct handover_side *theirs = handover->theirs;
    enum channel_wait seen = handover->broken ? CHANNEL_NONSENSE : look(handover);
    if (seen == CHANNEL_LATE) {
        uint32_t cpu = atomic_load_explicit(&theirs->cpu, memory_order_relaxed);
        bool is_elsewhere = cpu != 0 && handover->cpu != 0 && cpu != handover->cpu;
        if (is_elsewhere && spin_worthwhile(&handover->spin)) {
            (void)spin_while(&handover->spin, &theirs->number, handover->heard);
            seen = look(handover);
        }
        seen = seen == CHANNEL_LATE ? sleep_until(handover, until_ns) : seen;
    }
    if (seen == CHANNEL_NONSENSE) {
        handover_break(handover);
    }
    if (seen == CHANNEL_FRAME) {
        handover->number = handover_next(handover);
        handover->heard = handover->number;
        handover->held = true;
        ret->type = atomic_load_explicit(&theirs->type, memory_order_relaxed);
        ret->size = atomic_load_explicit(&theirs->size, memory_order_relaxed);
    }
    return seen;
}

bool handover_has_come(const struct handover *handover) {
    uint32_t value = atomic_load_explicit(&handover->theirs->number, memory_order_acquire);
    return handover->held ||
           (!handover->broken && (value & HANDOVER_NUMBERS) == handover_next(handover));
}

void handover_break(struct handover *handover) {
    handover->broken = true;
    handover->held = false;
}

/* ----------------------------------------------------------------- interrupts */

static void bump(struct handover *handover) {
    (void)atomic_fetch_or(&handover->theirs->number, HANDOVER_BUMP);
    wake(&handover->theirs->number);
}

void handover_interrupt(struct handover *handover) {
    (void)atomic_fetch_add(&handover->interrupts, 1);
    bump(handover);
}

void handover_abandon(struct handover *handover) {
    atomic_store(&handover->gone, true);
    bump(handover);
}

void handover_forget_interrupts(struct handover *handover) {
    handover->interrupts_seen = atomic_load(&handover->interrupts);
}
