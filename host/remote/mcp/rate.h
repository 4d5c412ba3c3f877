/* rate.h - how much a server may say within a second: what it says costs memory and disk of others.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

/* Most log lines, and reports of progress, of one server within a second: as of a worker. */
#define RATE_LINES_MAX 200u

struct rate {
    uint64_t began_ns;
    uint32_t count; /* since then */
};

enum rate_verdict { RATE_PASSES, RATE_FIRST_TOO_MUCH, RATE_TOO_MUCH };

static inline enum rate_verdict rate_judge(struct rate *rate, uint32_t most) {
    uint64_t now_ns = clock_now_ns();
    if (rate->count == 0 || now_ns - rate->began_ns >= CLOCK_NS_PER_S) {
        *rate = (struct rate){.began_ns = now_ns};
    }
    rate->count += rate->count <= most + 1 ? 1 : 0;
    return rate->count <= most       ? RATE_PASSES
           : rate->count == most + 1 ? RATE_FIRST_TOO_MUCH
                                     : RATE_TOO_MUCH;
}
