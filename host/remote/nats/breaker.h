/* breaker.h - when a slow host gets no calls, and when it is tried again.
 *
 *          BREAKER_FAILURES in a row                the pause is over
 *   closed ------------------------> open ------------------------------> half-open
 *     ^                               ^                                        |
 *     |                               | the call fails: twice the pause        |
 *     |                               +----------------------------------------+
 *     +------------------------------------------------ the call succeeds -----+
 *
 * Pure functions of the time that they are given; the caller has the lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Failures in a row until a host is left out: calls that it did not answer in time. */
#define BREAKER_FAILURES     3u
/* For how long; doubled with each further failure up to the second. */
#define BREAKER_PAUSE_MS     5000u
#define BREAKER_PAUSE_MS_MAX 60000u

struct breaker {
    unsigned failures; /* in a row */
    uint64_t until_ms; /* of the monotonic clock; 0: closed */
    uint64_t pause_ms; /* the last pause */
    bool is_trying;    /* half-open: one call is under way */
};

/** Whether a call may be sent. [any-thread] */
static inline bool breaker_allows(const struct breaker *breaker, uint64_t now_ms) {
    return breaker->until_ms == 0 || (now_ms >= breaker->until_ms && !breaker->is_trying);
}

/** Whether it is left out or tried again. [any-thread] */
static inline bool breaker_is_open(const struct breaker *breaker) {
    return breaker->until_ms != 0;
}

/** A call is sent. [any-thread] */
static inline void breaker_begin(struct breaker *breaker) {
    breaker->is_trying = breaker->until_ms != 0;
}

/** A call was answered, with whatever. [any-thread] */
static inline void breaker_succeed(struct breaker *breaker) {
    *breaker = (struct breaker){0};
}

/** A call ended without saying anything of the host: it was cancelled. [any-thread] */
static inline void breaker_forget(struct breaker *breaker) {
    breaker->is_trying = false;
}

/** A call was not answered in time. [any-thread] */
static inline void breaker_fail(struct breaker *breaker, uint64_t now_ms) {
    breaker->failures++;
    breaker->is_trying = false;
    if (breaker->failures >= BREAKER_FAILURES) {
        uint64_t pause = breaker->pause_ms == 0 ? BREAKER_PAUSE_MS : 2 * breaker->pause_ms;
        breaker->pause_ms = pause < BREAKER_PAUSE_MS_MAX ? pause : BREAKER_PAUSE_MS_MAX;
        breaker->until_ms = now_ms + breaker->pause_ms;
    }
}
