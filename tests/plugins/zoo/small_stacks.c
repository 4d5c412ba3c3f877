/* Fault: starts 4,000 threads whose stacks are so small that a limit of memory does not stop them.
 */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "zoo.h"

#define SMALL_STACKS_MAX 4000
#define SMALL_STACK_SIZE ((size_t)PTHREAD_STACK_MIN + 4096)

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *unused) {
    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    return unused;
}

static tr_status zoo_small_stacks(struct tr_call *call) {
    pthread_attr_t attributes;
    int count = 0;
    int code = pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, SMALL_STACK_SIZE);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_mutex_lock(&gate);
    while (code == 0 && count < SMALL_STACKS_MAX) {
        pthread_t thread;
        code = pthread_create(&thread, &attributes, wait_at_gate, NULL);
        count += code == 0;
    }
    (void)pthread_mutex_unlock(&gate);
    (void)pthread_attr_destroy(&attributes);
    return code == 0 ? tr_reply_textf(call, "%d threads", count)
                     : tr_fail(call, TR_FAILED, NULL, "no thread after %d: %s", count,
                               strerrorname_np(code));
}
ZOO_FAULT(zoo_small_stacks)
ZOO_PLUGIN(zoo_small_stacks)
