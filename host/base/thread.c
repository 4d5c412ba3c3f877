#include "base/thread.h"

#include <sched.h>
#include <signal.h>

int thread_start(pthread_t *thread, void *(*function)(void *), void *argument) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, function, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

unsigned thread_cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0) {
        return 1; /* more CPUs than the set can hold: do not guess */
    }
    int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}
