/* Fault: leaves a thread behind that goes on using the call after it has ended. */
#include <pthread.h>
#include <time.h>

#include "zoo.h"

#define LINES 100

static void *use_later(void *call) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 20 * 1000000}, NULL);
    for (int i = 0; i < LINES; i++) {
        tr_log(call, TR_LOG_INFO, "from beyond the end of the call");
        tr_progress(call, i, LINES, NULL);
    }
    return NULL;
}

static tr_status zoo_stale_call(struct tr_call *call) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, use_later, call) != 0 || pthread_detach(thread) != 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot start a thread");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_stale_call)
ZOO_PLUGIN(zoo_stale_call)
