#include "call/pool-parts.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "base/thread.h"

/* How often the watch looks whether something waits in vain. While calls come in, each look takes a
 * CPU from a thread that runs them: at a quarter of this, they cost 5 % more. */
#define TICK_NS 2000000u

/* ------------------------------------------------------------------ outcome */

void pool_tell_plugin(struct job *job, enum toolrack_event_kind kind, const char *message) {
    const struct call_host *host = job->pool->host;
    if (host->event != NULL) {
        host->event(host->user, kind, job->tool->reg->plugin, message);
    }
}

void pool_leave_live(struct pool *pool, struct job *job) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (!job->live) {
        return; /* it was given up before */
    }
    job->live = false;
    *(job->live_prev != NULL ? &job->live_prev->live_next : &pool->live) = job->live_next;
    if (job->live_next != NULL) {
        job->live_next->live_prev = job->live_prev;
    }
    if (pool->stopping) {
        (void)pthread_cond_broadcast(&pool->quiet);
    }
}

void pool_deliver(struct job *job) {
    if (job->done == NULL) {
        return;
    }
    assert(!job->live);
    struct toolrack_result *result = job->result;
    job->result = NULL;
    job->done(job->user, result, job->code < 0 ? &job->error : NULL);
    job_unref(job); /* which was that of `live` */
}

bool pool_give_up(struct job *job) {
    struct pool *pool = job->pool;
    lock_take(&pool->lock);
    enum job_end end = job_give_up(job);
    if (end == JOB_LOST) {
        /* The thread inside the plugin leaves the pool; another may take its place. */
        atomic_fetch_add(&job->tool->reg->plugin->stuck, 1);
        queue_leave(&pool->queue, job);
        pool_remove_thread(pool, job->thread);
        (void)pthread_detach(job->thread->thread);
        pool->lost++;
        pool_wake_next(pool); /* also since its plugin may have a job in the queue */
    }
    if (end != JOB_GOES_ON) {
        pool_leave_live(pool, job);
    }
    pool_check(pool);
    pool_release(pool);
    if (end == JOB_GOES_ON) {
        return false;
    }
    job_left_behind(job, end == JOB_LOST);
    if (end == JOB_LOST) {
        pool_tell_plugin(job, TOOLRACK_EVENT_STUCK,
                         "a call did not return in time; its thread was given up and still runs");
    }
    return true;
}

/* ---------------------------------------------------------------- the watch */

void pool_watch_from(struct pool *pool, struct job *job, uint64_t until_ns) {
    LOCK_ASSERT_HELD(&pool->lock);
    job->watch_ns = until_ns;
    if (until_ns != 0 && until_ns < pool->watch_until_ns) {
        pool->watch_until_ns = until_ns;
        (void)pthread_cond_signal(&pool->watch);
    }
}

/* The next job to give up now, with a reference; or when to look again (UINT64_MAX: when
 * signalled). Caller holds pool->lock. */
static struct job *expired(struct pool *pool, uint64_t *ret_next_ns) {
    uint64_t now = clock_now_ns();
    *ret_next_ns = UINT64_MAX;
    for (struct job *job = pool->live; job != NULL; job = job->live_next) {
        if (job->watch_ns == 0) {
            continue;
        }
        if (job->watch_ns <= now) {
            job->watch_ns = 0;
            return job_ref(job);
        }
        if (job->watch_ns < *ret_next_ns) {
            *ret_next_ns = job->watch_ns;
        }
    }
    return NULL;
}

/* Whether what waits does so in vain, or for too long. Caller holds pool->lock. */
static bool is_late(const struct pool *pool) {
    if (pool->progress == pool->seen_by_tick) {
        return true;
    }
    uint64_t now = clock_now_ns();
    const struct job *job = pool->busy < pool->cpu_count ? queue_first(&pool->queue) : NULL;
    bool late = job != NULL && now - job->queued_ns >= POOL_LATE_NS;
    for (const struct pool_source *at = pool->sources; at != NULL && !late; at = at->next) {
        late = !at->is_served && !at->is_ended && now - at->free_ns >= POOL_LATE_NS;
    }
    return late;
}

/* While there is something to do, see that it does not wait for long. Returns when the watch looks
 * again. Caller holds pool->lock. */
static uint64_t tick(struct pool *pool, uint64_t next_ns) {
    if (pool->ticks == 0) {
        return next_ns;
    }
    if (!pool_has_work(pool)) {
        pool->ticks--;
    } else {
        pool->ticks = POOL_TICKS_IN_VAIN;
        const struct job *job = queue_first(&pool->queue);
        if (is_late(pool)) {
            if (job != NULL) { /* perhaps of the tool that takes long */
                registration_note_run(job->tool->reg, false);
            }
            pool_wake_next(pool);
        }
    }
    pool->seen_by_tick = pool->progress;
    uint64_t tick_ns = clock_now_ns() + TICK_NS;
    return tick_ns < next_ns ? tick_ns : next_ns;
}

static void *watch_main(void *argument) {
    struct pool *pool = argument;
    lock_take(&pool->lock);
    while (!pool->closing) {
        uint64_t next_ns;
        struct job *job = expired(pool, &next_ns);
        if (job != NULL) {
            lock_release(&pool->lock);
            if (pool_give_up(job)) {
                pool_deliver(job);
            }
            job_unref(job);
            lock_take(&pool->lock);
            continue;
        }
        next_ns = tick(pool, next_ns);
        pool_wake_woken(pool);
        pool->watch_until_ns = next_ns;
        if (next_ns == UINT64_MAX) {
            lock_wait(&pool->lock, &pool->watch);
        } else {
            struct timespec until = clock_timespec(next_ns);
            (void)lock_wait_until(&pool->lock, &pool->watch, &until);
        }
        pool->watch_until_ns = 0;
    }
    lock_release(&pool->lock);
    return NULL;
}

bool pool_start_watch(struct pool *pool) {
    if (!pool->watching) {
        pool->watching = thread_start(&pool->watch_thread, watch_main, pool) == 0;
    }
    return pool->watching;
}
