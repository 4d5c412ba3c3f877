/* clock.h - monotonic time. */
#pragma once

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_MS 1000000u
#define CLOCK_NS_PER_S  1000000000u

/** Nanoseconds of CLOCK_MONOTONIC. [any-thread] */
static inline uint64_t clock_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}
