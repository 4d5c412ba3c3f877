/* wakeup.h - one thread waits until another one wakes it up: one word, and a system call only where
 * a thread sleeps or has slept.
 *
 * A condition variable needs a mutex around the same word. With it, a woken thread takes that
 * mutex, which whoever wakes it may still hold, and takes one more system call for each such case.
 * wakeup_send() is called with no lock held, and is the last access to the word: whoever was woken
 * up may free it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wakeup {
    atomic_uint word; /* enum wakeup_state */
};

enum wakeup_state {
    WAKEUP_NONE, /* not sent; nobody sleeps */
    WAKEUP_SLEEPS,
    WAKEUP_NUDGED, /* the sleeper is to look at what it waits for, and then goes on waiting */
    WAKEUP_SENT
};

/** Begin anew: nothing was sent. No other thread waits. [any-thread] */
static inline void wakeup_reset(struct wakeup *wakeup) {
    atomic_store_explicit(&wakeup->word, WAKEUP_NONE, memory_order_relaxed);
}

/** Whether it was sent since it was reset: then what was written before that can be read.
 * [any-thread] */
static inline bool wakeup_is_sent(const struct wakeup *wakeup) {
    return atomic_load_explicit(&wakeup->word, memory_order_acquire) == WAKEUP_SENT;
}

/** Wake the thread that waits, now or later. [any-thread] */
void wakeup_send(struct wakeup *wakeup);

/** End the wait of the thread that waits, or its next one, without having sent. [any-thread] */
void wakeup_nudge(struct wakeup *wakeup);

/** Sleep until it is sent, at most until a nudge or a time of the monotonic clock (0: without
 * limit). One thread at a time may wait. Returns whether it was sent. [any-thread] */
bool wakeup_wait(struct wakeup *wakeup, uint64_t until_ns);
