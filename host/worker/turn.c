#include "worker/turn.h"

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
 *  (1) Exactly one side has `held`, or a hand-over is under way: its number is the giver's
 *      `number`, is in the giver's word, and is the one after the receiver's `number`.
 *  (2) A side writes its own line only, but for TURN_BUMP, which the host sets in and takes out of
 *      the worker's number. The worker's own writing may take it out as well: then the number has
 *      changed, which is as good.
 *  (3) No hand-over is slept through. Who is to sleep sets `sleeps`, then the kernel compares the
 *      number; who hands over writes the number, then reads `sleeps`; all sequentially
 *      consistent. So either the giver sees `sleeps` and wakes, or the kernel sees the new
 *      number and does not put to sleep.
 *  (4) No interrupt and no abandoning is slept through. Who interrupts counts `interrupts` (or sets
 *      `gone`), then sets TURN_BUMP, then wakes. Who waits takes TURN_BUMP out, then looks at
 *      both, then sleeps on the number without it. If it looked too early to see, then the
 *      bump comes after that look: the kernel finds the number changed, or the wake-up finds
 *      the sleeper.
 *  (5) (3) and (4) hold for two honest sides. Against a worker that undoes a bump or moves the
 * sleeper to another futex stand the host's slices: it looks again after TURN_SLICE_MS at most. (6)
 * An interrupt ends one wait: the one that it meets, or the next. turn_forget_interrupts() ends it
 * without a wait; a bump that is left over then ends a sleep early, for nothing. (7) Nothing of the
 * other side's line is read twice: the number says whether the rest is there, and the rest is
 * copied once. */

/* Beside a number, in the worker's word alone: look again at what is in your own memory. */
#define TURN_BUMP    0x80000000u
#define TURN_NUMBERS 0x7fffffffu

void turn_init(struct turn *turn, struct turn_side *mine, struct turn_side *theirs, bool is_host) {
    *turn = (struct turn){.mine = mine, .theirs = theirs, .held = is_host, .sliced = is_host};
    spin_init(&turn->spin, TURN_SPIN_NS_MAX);
    turn->spin.possible = true; /* where the other side runs says more; see turn.h */
}

uint32_t turn_next(const struct turn *turn) {
    return (turn->number + 1) & TURN_NUMBERS;
}

/* ------------------------------------------------------------------ futex */

/* Not FUTEX_PRIVATE_FLAG: the word is another process's too. All sleepers, of which an honest
 * worker has none here: one of a dishonest worker would swallow the only wake-up. */
static void wake(atomic_uint *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Sleep while `word` is `value`; 0 or an errno. */
static int sleep_on(atomic_uint *word, uint32_t value, uint64_t until_ns) {
    struct timespec until = clock_timespec(until_ns);
    long got = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, until_ns != 0 ? &until : NULL,
                       NULL, FUTEX_BITSET_MATCH_ANY);
    return got == 0 ? 0 : errno;
}

/* ---------------------------------------------------------------- handing over */

void turn_give(struct turn *turn, struct turn_note note) {
    assert(turn->held);
    struct turn_side *mine = turn->mine;
    turn->held = false;
    turn->number = turn_next(turn);
    turn->cpu = (uint32_t)(sched_getcpu() + 1);
    atomic_store_explicit(&mine->type, note.type, memory_order_relaxed);
    atomic_store_explicit(&mine->size, note.size, memory_order_relaxed);
    atomic_store_explicit(&mine->cpu, turn->cpu, memory_order_relaxed);
    atomic_store(&mine->number, turn->number);
    if (atomic_load(&turn->theirs->sleeps) != 0) {
        wake(&mine->number);
    }
}

/* -------------------------------------------------------------------- waiting */

/* CHANNEL_LATE: nothing yet, and the other side's number is still `heard`, without a bump. */
static enum channel_wait look(struct turn *turn) {
    uint32_t value = atomic_load_explicit(&turn->theirs->number, memory_order_acquire);
    if ((value & TURN_BUMP) != 0 && turn->sliced) {
        value = atomic_fetch_and(&turn->theirs->number, TURN_NUMBERS) & TURN_NUMBERS;
    }
    if (value == turn_next(turn)) {
        return CHANNEL_FRAME;
    }
    if (value != turn->heard) {
        return CHANNEL_NONSENSE;
    }
    if (atomic_load(&turn->gone)) {
        return CHANNEL_GONE;
    }
    unsigned interrupts = atomic_load(&turn->interrupts);
    if (interrupts != turn->interrupts_seen) {
        turn->interrupts_seen = interrupts;
        return CHANNEL_INTERRUPTED;
    }
    return CHANNEL_LATE;
}

static bool is_elsewhere(const struct turn *turn) {
    uint32_t cpu = atomic_load_explicit(&turn->theirs->cpu, memory_order_relaxed);
    return cpu != 0 && turn->cpu != 0 && cpu != turn->cpu;
}

/* When to look again, being asleep: 0 is never. */
static uint64_t end_of_sleep(const struct turn *turn, uint64_t now_ns, uint64_t until_ns) {
    if (!turn->sliced) {
        return until_ns;
    }
    uint64_t slice_ns = now_ns + (uint64_t)TURN_SLICE_MS * CLOCK_NS_PER_MS;
    return until_ns != 0 && until_ns < slice_ns ? until_ns : slice_ns;
}

static enum channel_wait sleep_until(struct turn *turn, uint64_t until_ns) {
    enum channel_wait seen = CHANNEL_LATE;
    for (unsigned spurious = 0; spurious <= TURN_SPURIOUS_MAX;) {
        uint64_t now_ns = until_ns != 0 || turn->sliced ? clock_now_ns() : 0;
        if (until_ns != 0 && now_ns >= until_ns) {
            return CHANNEL_LATE;
        }
        atomic_store(&turn->mine->sleeps, 1);
        int failed =
                sleep_on(&turn->theirs->number, turn->heard, end_of_sleep(turn, now_ns, until_ns));
        atomic_store_explicit(&turn->mine->sleeps, 0, memory_order_relaxed);
        seen = look(turn);
        if (seen != CHANNEL_LATE) {
            return seen;
        }
        spurious += failed != ETIMEDOUT && failed != EINTR;
    }
    return CHANNEL_NONSENSE;
}

static enum channel_wait wait_for_number(struct turn *turn, uint64_t until_ns) {
    enum channel_wait seen = look(turn);
    if (seen == CHANNEL_LATE && is_elsewhere(turn) && spin_worthwhile(&turn->spin)) {
        (void)spin_while(&turn->spin, &turn->theirs->number, turn->heard);
        seen = look(turn);
    }
    return seen == CHANNEL_LATE ? sleep_until(turn, until_ns) : seen;
}

enum channel_wait turn_await(struct turn *turn, uint64_t until_ns, struct turn_note *ret) {
    assert(!turn->held);
    enum channel_wait seen = turn->broken ? CHANNEL_NONSENSE : wait_for_number(turn, until_ns);
    if (seen == CHANNEL_NONSENSE) {
        turn_break(turn);
    }
    if (seen == CHANNEL_FRAME) {
        turn->number = turn_next(turn);
        turn->heard = turn->number;
        turn->held = true;
        ret->type = atomic_load_explicit(&turn->theirs->type, memory_order_relaxed);
        ret->size = atomic_load_explicit(&turn->theirs->size, memory_order_relaxed);
    }
    return seen;
}

bool turn_has_come(const struct turn *turn) {
    uint32_t value = atomic_load_explicit(&turn->theirs->number, memory_order_acquire);
    return turn->held || (!turn->broken && (value & TURN_NUMBERS) == turn_next(turn));
}

void turn_break(struct turn *turn) {
    turn->broken = true;
    turn->held = false;
}

/* ----------------------------------------------------------------- interrupts */

static void bump(struct turn *turn) {
    (void)atomic_fetch_or(&turn->theirs->number, TURN_BUMP);
    wake(&turn->theirs->number);
}

void turn_interrupt(struct turn *turn) {
    (void)atomic_fetch_add(&turn->interrupts, 1);
    bump(turn);
}

void turn_abandon(struct turn *turn) {
    atomic_store(&turn->gone, true);
    bump(turn);
}

void turn_forget_interrupts(struct turn *turn) {
    turn->interrupts_seen = atomic_load(&turn->interrupts);
}
