/* timer.c - see timer.h. */
#include "serve/mcp/timer.h"

#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

static const uint64_t delays_ms[TIMER_LINES] = {[TIMER_STREAM] = 1000,
                                                [TIMER_CHANGES] = 30,
                                                [TIMER_GUARD] = 1000,
                                                [TIMER_HEARTBEAT] = 10000};

void timers_init(struct timers *timers) {
    *timers = (struct timers){.lock = LOCK_INIT};
    memcpy(timers->delay_ms, delays_ms, sizeof delays_ms);
    clock_cond_init(&timers->changed);
}

static void unlink_timer(struct timers *timers, enum timer_line line, struct timer *timer) {
    *(timer->prev != NULL ? &timer->prev->next : &timers->lines[line].first) = timer->next;
    *(timer->next != NULL ? &timer->next->prev : &timers->lines[line].last) = timer->prev;
    timer->next = timer->prev = NULL;
    timer->set = false;
}

/* The timer that is due first. Caller holds the lock. */
static struct timer *first_due(struct timers *timers, enum timer_line *ret_line) {
    struct timer *first = NULL;
    for (unsigned line = 0; line < TIMER_LINES; line++) {
        struct timer *timer = timers->lines[line].first;
        if (timer != NULL && (first == NULL || timer->due_ns < first->due_ns)) {
            first = timer;
            *ret_line = (enum timer_line)line;
        }
    }
    return first;
}

static void *run_timers(void *argument) {
    struct timers *timers = argument;
    lock_take(&timers->lock);
    while (!timers->stopping) {
        enum timer_line line = TIMER_CHANGES;
        struct timer *timer = first_due(timers, &line);
        if (timer == NULL) {
            lock_wait(&timers->lock, &timers->changed);
        } else if (timer->due_ns > clock_now_ns()) {
            struct timespec until = clock_timespec(timer->due_ns);
            (void)lock_wait_until(&timers->lock, &timers->changed, &until);
        } else {
            unlink_timer(timers, line, timer);
            lock_release(&timers->lock);
            timer->run(timer);
            lock_take(&timers->lock);
        }
    }
    lock_release(&timers->lock);
    return NULL;
}

void timers_finish(struct timers *timers) {
    lock_take(&timers->lock);
    timers->stopping = true;
    bool started = timers->started;
    (void)pthread_cond_signal(&timers->changed);
    lock_release(&timers->lock);
    if (started) {
        (void)pthread_join(timers->thread, NULL);
    }
    (void)pthread_cond_destroy(&timers->changed);
    lock_finish(&timers->lock);
}

/* Many requests are guarded, each by a timer that is set again and again: what is due in the same
 * interval is due together, so that the thread wakes once for all. */
static uint64_t due_ns(const struct timers *timers, enum timer_line line) {
    uint64_t delay_ns = timers->delay_ms[line] * CLOCK_NS_PER_MS;
    uint64_t due_ns = clock_now_ns() + delay_ns;
    return line == TIMER_GUARD && delay_ns != 0 ? due_ns - due_ns % delay_ns : due_ns;
}

bool timer_set(struct timers *timers, enum timer_line line, struct timer *timer) {
    LOCK_SCOPE(&timers->lock);
    if (!timers->started) {
        timers->started = thread_start(&timers->thread, run_timers, timers) == 0;
    }
    if (timer->set || !timers->started) {
        return false;
    }
    timer->due_ns = due_ns(timers, line);
    timer->set = true;
    timer->next = NULL;
    timer->prev = timers->lines[line].last;
    *(timer->prev != NULL ? &timer->prev->next : &timers->lines[line].first) = timer;
    timers->lines[line].last = timer;
    if (timer->prev == NULL) { /* else the thread waits for an earlier one */
        (void)pthread_cond_signal(&timers->changed);
    }
    return true;
}

bool timer_clear(struct timers *timers, enum timer_line line, struct timer *timer) {
    LOCK_SCOPE(&timers->lock);
    if (!timer->set) {
        return false;
    }
    unlink_timer(timers, line, timer);
    return true;
}
