/* test.h - what tests of every kind share: how often to try, and waits that end.
 *
 * A test never waits for something without a limit: what does not come is a failure with a name,
 * not a program that hangs. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/** How long a test waits for anything, in seconds: long enough for a machine that does much else.
 */
#define TEST_WAIT_S 60

/** `many` in the one stage of ./dev test that looks for rare faults, `few` elsewhere. */
static inline unsigned test_rounds(unsigned many, unsigned few) {
    const char *rounds = getenv("TEST_ROUNDS");
    return rounds != NULL && strcmp(rounds, "many") == 0 ? many : few;
}

static inline struct timespec test_wait_end(clockid_t clock) {
    struct timespec end;
    (void)clock_gettime(clock, &end);
    end.tv_sec += TEST_WAIT_S;
    return end;
}

static inline bool test_wait_is_over(const struct timespec *end) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec > end->tv_nsec);
}

/** Wait until a condition holds that nobody signals. */
#define WAIT_UNTIL(condition)                                                      \
    for (struct timespec wait_end_ = test_wait_end(CLOCK_MONOTONIC); !(condition); \
         (void)sched_yield()) {                                                    \
        if (test_wait_is_over(&wait_end_)) {                                       \
            fail_msg("waited %d s for: %s", TEST_WAIT_S, #condition);              \
        }                                                                          \
    }

/** Wait, with the lock held, until a condition holds that is signalled by `changed`. */
#define WAIT_UNTIL_SIGNALLED(condition, changed, lock)                                    \
    for (struct timespec wait_end_ = test_wait_end(CLOCK_REALTIME); !(condition);) {      \
        if (pthread_cond_timedwait((changed), (lock), &wait_end_) != 0 && !(condition)) { \
            (void)pthread_mutex_unlock(lock);                                             \
            fail_msg("waited %d s for: %s", TEST_WAIT_S, #condition);                     \
        }                                                                                 \
    }

/** Wait for a child, or with -1 for any. Returns as waitpid() does; one that does not end is
 * killed, and then the status says so. */
static inline pid_t test_wait_child(pid_t pid, int *ret_status) {
    const struct timespec end = test_wait_end(CLOCK_MONOTONIC);
    const struct timespec pause = {.tv_nsec = 1000000};
    pid_t ended;
    while ((ended = waitpid(pid, ret_status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (test_wait_is_over(&end)) {
            if (pid <= 0) {
                errno = ETIMEDOUT;
                return -1;
            }
            (void)kill(pid, SIGKILL);
        }
        (void)nanosleep(&pause, NULL);
    }
    return ended;
}
