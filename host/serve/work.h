/* work.h - threads for what waits: for the store, a plugin, a tool, a model. The threads of a
 * transport wait for nothing. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/lock.h"

/* Threads for choices of a protocol. The host lets fewer wait for a model at a time, and for
 * vectors (choose/asking.h), so that the others find one that is free. */
#define WORK_CHOICE_THREADS 40u

struct work {
    struct work *next;
    void (*run)(struct work *work);
};

/** Begins threads as they are needed, at most `most`. */
struct workers {
    struct lock lock;
    pthread_cond_t changed;
    pthread_t *threads;
    unsigned count;
    unsigned idle;
    unsigned most;
    bool stopping;
    struct work *first;
    struct work **last;
};

/** @return false: out of memory */
bool workers_init(struct workers *workers, unsigned most);
/** Have it run, as soon as a thread is free. @return false: there is no thread. */
bool workers_add(struct workers *workers, struct work *work);
/** Run what waits, and end. */
void workers_finish(struct workers *workers);
