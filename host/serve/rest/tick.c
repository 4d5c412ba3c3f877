#include "serve/rest/tick.h"

#include "base/clock.h"
#include "base/thread.h"

static struct timespec next_tick(void) {
    return clock_timespec(clock_now_ns() + (uint64_t)TICK_MS * CLOCK_NS_PER_MS);
}

/* Whether to look now; false: it ends. */
static bool wait_for_tick(struct ticker *ticker) {
    LOCK_SCOPE(&ticker->lock);
    struct timespec until = next_tick();
    bool is_due = false;
    while (!ticker->stopping && !is_due) {
        if (ticker->held == 0) {
            lock_wait(&ticker->lock, &ticker->changed);
            until = next_tick();
        } else {
            is_due = !lock_wait_until(&ticker->lock, &ticker->changed, &until);
        }
    }
    return !ticker->stopping;
}

static void *run(void *user) {
    struct ticker *ticker = user;
    while (wait_for_tick(ticker)) {
        ticker->look(ticker->user);
    }
    return NULL;
}

void tick_init(struct ticker *ticker, void (*look)(void *user), void *user) {
    *ticker = (struct ticker){.look = look, .user = user};
    lock_init(&ticker->lock);
    clock_cond_init(&ticker->changed);
}

void tick_hold(struct ticker *ticker) {
    LOCK_SCOPE(&ticker->lock);
    ticker->held++;
    if (!ticker->started && !ticker->stopping) {
        ticker->started = thread_start(&ticker->thread, run, ticker) == 0;
    }
    (void)pthread_cond_signal(&ticker->changed);
}

void tick_release(struct ticker *ticker) {
    LOCK_SCOPE(&ticker->lock);
    ticker->held--;
}

void tick_finish(struct ticker *ticker) {
    lock_take(&ticker->lock);
    ticker->stopping = true;
    bool was_started = ticker->started;
    (void)pthread_cond_signal(&ticker->changed);
    lock_release(&ticker->lock);
    if (was_started) {
        (void)pthread_join(ticker->thread, NULL);
    }
    (void)pthread_cond_destroy(&ticker->changed);
    lock_finish(&ticker->lock);
}
