/* Fault: leaves a thread behind that never ends and never sleeps. */
#include <pthread.h>

#include "zoo.h"

static volatile bool done;

static void *spin(void *unused) {
    while (!done) {
    }
    return unused;
}

static tr_status zoo_thread_spins(struct tr_call *call) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, spin, NULL) != 0 || pthread_detach(thread) != 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot start a thread");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_thread_spins)
ZOO_PLUGIN(zoo_thread_spins)
