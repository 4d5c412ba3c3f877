/* nap.h - a sleep that listens. */
#pragma once

#include <time.h>

#include "zoo.h"

/* How long one step of a sleep is. */
#define NAP_MS 2u

/** Sleep so many milliseconds, or until the call is cancelled. Returns how many it slept. */
static inline uint32_t nap(struct tr_call *call, uint32_t ms) {
    for (uint32_t slept = 0; slept < ms; slept += NAP_MS) {
        if (tr_cancelled(call)) {
            (void)tr_fail(call, TR_CANCELLED, NULL, "cancelled after %u ms", slept);
            return slept;
        }
        uint32_t step = ms - slept < NAP_MS ? ms - slept : NAP_MS;
        (void)nanosleep(&(struct timespec){.tv_nsec = step * 1000000L}, NULL);
    }
    return ms;
}
