/* Fault: leaves a thread behind that crashes a moment after the call has returned. */
#include <pthread.h>
#include <time.h>

#include "zoo.h"

static void *crash_later(void *unused) {
    volatile int *volatile nowhere = NULL;
    (void)nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000}, NULL);
    *nowhere = 1;
    return unused;
}

static tr_status zoo_thread_crashes(struct tr_call *call) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_later, NULL) != 0 || pthread_detach(thread) != 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot start a thread");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_thread_crashes)
ZOO_PLUGIN(zoo_thread_crashes)
