#include "base/wakeup.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* The kernel only takes the address: the memory may be another thing's by now, whose sleeper looks
 * again. */
static void wake(atomic_uint *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool change(struct wakeup *wakeup, unsigned from, unsigned to) {
    return atomic_compare_exchange_strong_explicit(&wakeup->word, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

void wakeup_send(struct wakeup *wakeup) {
    if (atomic_exchange_explicit(&wakeup->word, WAKEUP_SENT, memory_order_acq_rel) ==
        WAKEUP_SLEEPS) {
        wake(&wakeup->word);
    }
}

void wakeup_nudge(struct wakeup *wakeup) {
    if (change(wakeup, WAKEUP_SLEEPS, WAKEUP_NUDGED)) {
        wake(&wakeup->word);
    } else {
        (void)change(wakeup, WAKEUP_NONE, WAKEUP_NUDGED);
    }
}

bool wakeup_wait(struct wakeup *wakeup, uint64_t until_ns) {
    const struct timespec until = clock_timespec(until_ns);
    bool is_late = false;
    (void)change(wakeup, WAKEUP_NONE, WAKEUP_SLEEPS);
    while (!is_late && atomic_load_explicit(&wakeup->word, memory_order_acquire) == WAKEUP_SLEEPS) {
        long got = syscall(SYS_futex, &wakeup->word, FUTEX_WAIT_BITSET_PRIVATE, WAKEUP_SLEEPS,
                           until_ns != 0 ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
        is_late = got < 0 && errno == ETIMEDOUT;
    }
    (void)change(wakeup, WAKEUP_SLEEPS, WAKEUP_NONE);
    (void)change(wakeup, WAKEUP_NUDGED, WAKEUP_NONE);
    return wakeup_is_sent(wakeup);
}
