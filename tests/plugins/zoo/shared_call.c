/* Fault: uses its call on eight threads at once, which the header forbids. */
#include <pthread.h>

#include "zoo.h"

#define THREADS 8
#define ROUNDS  200

static void *use(void *argument) {
    struct tr_call *call = argument;
    for (int i = 0; i < ROUNDS; i++) {
        tr_log(call, TR_LOG_INFO, "from one of eight threads");
        tr_progress(call, i, ROUNDS, "of eight");
        (void)tr_reply_text(call, "eight");
        (void)tr_alloc(call, 100);
    }
    return NULL;
}

static tr_status zoo_shared_call(struct tr_call *call) {
    pthread_t threads[THREADS];
    int started = 0;
    while (started < THREADS && pthread_create(&threads[started], NULL, use, call) == 0) {
        started++;
    }
    for (int i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_shared_call)
ZOO_PLUGIN(zoo_shared_call)
