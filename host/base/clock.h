/* clock.h - monotonic time. */
#pragma once

#include <pthread.h>
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

/** Nanoseconds of CPU time of this thread; a system call. [any-thread] */
static inline uint64_t clock_cpu_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/** A moment of that clock as the functions that wait take it. */
static inline struct timespec clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
                             .tv_nsec = (long)(ns % CLOCK_NS_PER_S)};
}

/** A condition whose timed waits go by that clock, which nobody sets. */
static inline void clock_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}
