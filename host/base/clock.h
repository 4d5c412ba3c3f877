/* clock.h - time: the monotonic clock for durations and waits, the wall clock for dates.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Of 32 bits: a product of more than 4 s needs a factor of 64. */
#define CLOCK_NS_PER_MS 1000000u
#define CLOCK_NS_PER_S  1000000000u

/** Nanoseconds of CLOCK_MONOTONIC. [any-thread] */
static inline uint64_t clock_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/** The same as it was at the last tick of the kernel, some milliseconds ago: a third of the work.
 * [any-thread] */
static inline uint64_t clock_coarse_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/** Nanoseconds of CPU time of this thread; a system call. [any-thread] */
static inline uint64_t clock_cpu_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/** Time since 1970 by the wall clock, which people and programs may set: only for dates, never for
 * durations. [any-thread] */
static inline int64_t clock_wall_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * CLOCK_NS_PER_S + now.tv_nsec;
}

static inline int64_t clock_wall_ms(void) {
    return clock_wall_ns() / CLOCK_NS_PER_MS;
}

static inline int64_t clock_wall_s(void) {
    return clock_wall_ns() / CLOCK_NS_PER_S;
}

/** Bytes that clock_wall_text() needs at most, with the final zero. */
#define CLOCK_TEXT_ROOM 32

/** A second of the wall clock in UTC, such as 2026-01-31T18:00:00Z; "" for a year out of range.
 * Returns `ret`. [any-thread] */
static inline const char *clock_wall_text(int64_t s, char ret[CLOCK_TEXT_ROOM]) {
    struct tm parts;
    time_t moment = (time_t)s;
    if (gmtime_r(&moment, &parts) == NULL ||
        strftime(ret, CLOCK_TEXT_ROOM, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        ret[0] = '\0';
    }
    return ret;
}

/** A time of the monotonic clock as waiting functions take it. */
static inline struct timespec clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
                             .tv_nsec = (long)(ns % CLOCK_NS_PER_S)};
}

/** A condition whose timed waits use the monotonic clock, which cannot be set. */
static inline void clock_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}
