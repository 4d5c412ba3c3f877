/* patience.h - waits in tests, each with a limit: a test that waits for ever says nothing. */
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Far more than anything takes on a machine that does much else, and less than a test may take. */
#define PATIENCE_S 25

/** A moment of CLOCK_REALTIME, for pthread_cond_timedwait(). */
static inline struct timespec patience_end(void) {
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    return end;
}

/** Let others run. False: that was done for PATIENCE_S now; `since` is 0 before the first time. For
 * threads and processes of a test, which cannot fail by themselves. */
static inline bool patience_yield(uint64_t *since) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_s = (uint64_t)now.tv_sec + 1;
    *since = *since == 0 ? now_s : *since;
    (void)sched_yield();
    return now_s - *since <= PATIENCE_S;
}

/** Wait until the condition holds; the test fails when it does not. */
#define AWAIT(condition)                                                         \
    do {                                                                         \
        uint64_t awaited_since = 0;                                              \
        while (!(condition)) {                                                   \
            if (!patience_yield(&awaited_since)) {                               \
                fail_msg("%s does not hold after %d s", #condition, PATIENCE_S); \
            }                                                                    \
        }                                                                        \
    } while (0)

/** Wait, with the lock held, until the condition holds, whose changes are signalled. Not by the
 * wall clock, which some tests set. */
#define AWAIT_SIGNALLED(condition, changed, lock)                                                \
    do {                                                                                         \
        struct timespec awaited_end;                                                             \
        (void)clock_gettime(CLOCK_MONOTONIC, &awaited_end);                                      \
        awaited_end.tv_sec += PATIENCE_S;                                                        \
        while (!(condition)) {                                                                   \
            if (pthread_cond_clockwait((changed), (lock), CLOCK_MONOTONIC, &awaited_end) != 0 && \
                !(condition)) {                                                                  \
                (void)pthread_mutex_unlock(lock);                                                \
                fail_msg("%s does not hold after %d s", #condition, PATIENCE_S);                 \
            }                                                                                    \
        }                                                                                        \
    } while (0)

/** As read(), but -1 when nothing came for PATIENCE_S. */
static inline ssize_t patience_read(int fd, void *bytes, size_t size) {
    struct pollfd look = {.fd = fd, .events = POLLIN};
    int came;
    do {
        came = poll(&look, 1, PATIENCE_S * 1000);
    } while (came < 0 && errno == EINTR);
    return came > 0 ? read(fd, bytes, size) : -1;
}

/** As waitpid(); a child that does not end in time is killed, and its status says so. */
static inline pid_t patience_child(pid_t pid, int *ret_status) {
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t since = 0;
    pid_t ended;
    while ((ended = waitpid(pid, ret_status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (!patience_yield(&since)) {
            (void)kill(pid, SIGKILL);
        }
        (void)nanosleep(&pause, NULL);
    }
    return ended;
}
