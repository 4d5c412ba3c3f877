/* Fault: starts threads until there are no more to be had. */
#include <pthread.h>
#include <string.h>

#include "zoo.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *unused) {
    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    return unused;
}

static tr_status zoo_thread_bomb(struct tr_call *call) {
    int count = 0;
    int code = 0;
    (void)pthread_mutex_lock(&gate);
    while (code == 0 && count < ZOO_THREADS_MAX) {
        pthread_t thread;
        code = pthread_create(&thread, NULL, wait_at_gate, NULL);
        if (code == 0) {
            (void)pthread_detach(thread);
            count++;
        }
    }
    (void)pthread_mutex_unlock(&gate);
    return code == 0 ? tr_reply_textf(call, "%d threads", count)
                     : tr_fail(call, TR_FAILED, NULL, "no thread after %d: %s", count,
                               strerrorname_np(code));
}
ZOO_FAULT(zoo_thread_bomb)
ZOO_PLUGIN(zoo_thread_bomb)
