/* tick.h - a thread that looks, some times a second, at what nobody tells: whether tokens hold, and
 * what other processes have logged. It sleeps while nothing holds it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/lock.h"

/* Between two looks. */
#define TICK_MS 200u

struct ticker {
    struct lock lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    bool stopping;
    unsigned held;
    void (*look)(void *user);
    void *user;
};

void tick_init(struct ticker *ticker, void (*look)(void *user), void *user);
/** Let it look from now on, until as many were released. */
void tick_hold(struct ticker *ticker);
void tick_release(struct ticker *ticker);
void tick_finish(struct ticker *ticker);
