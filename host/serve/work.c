#include "serve/work.h"

#include <stdlib.h>

#include "base/thread.h"

bool workers_init(struct workers *workers, unsigned most) {
    *workers = (struct workers){.most = most};
    workers->threads = calloc(most, sizeof *workers->threads);
    workers->last = &workers->first;
    lock_init(&workers->lock);
    (void)pthread_cond_init(&workers->changed, NULL);
    return workers->threads != NULL;
}

/* The next; NULL: the end. */
static struct work *wait_for_work(struct workers *workers) {
    LOCK_SCOPE(&workers->lock);
    while (workers->first == NULL && !workers->stopping) {
        workers->idle++;
        lock_wait(&workers->lock, &workers->changed);
        workers->idle--;
    }
    struct work *work = workers->first;
    if (work != NULL) {
        workers->first = work->next;
        workers->last = workers->first != NULL ? workers->last : &workers->first;
    }
    return work;
}

static void *run(void *user) {
    struct workers *workers = user;
    struct work *work;
    while ((work = wait_for_work(workers)) != NULL) {
        work->run(work);
    }
    return NULL;
}

bool workers_add(struct workers *workers, struct work *work) {
    LOCK_SCOPE(&workers->lock);
    size_t waiting = 1;
    for (const struct work *at = workers->first; at != NULL; at = at->next) {
        waiting++;
    }
    if (waiting > workers->idle && workers->count < workers->most &&
        thread_start(&workers->threads[workers->count], run, workers) == 0) {
        workers->count++;
    }
    if (workers->count == 0) {
        return false;
    }
    work->next = NULL;
    *workers->last = work;
    workers->last = &work->next;
    (void)pthread_cond_signal(&workers->changed);
    return true;
}

void workers_finish(struct workers *workers) {
    if (workers->threads == NULL) {
        return;
    }
    lock_take(&workers->lock);
    workers->stopping = true;
    (void)pthread_cond_broadcast(&workers->changed);
    lock_release(&workers->lock);
    for (unsigned i = 0; i < workers->count; i++) {
        (void)pthread_join(workers->threads[i], NULL);
    }
    free(workers->threads);
    (void)pthread_cond_destroy(&workers->changed);
    lock_finish(&workers->lock);
}
