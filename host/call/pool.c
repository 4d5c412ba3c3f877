#include "call/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "base/spin.h"
#include "base/thread.h"
#include "call/queue.h"

/* Invariants, checked by pool_check():
 *
 *  (1) `live` holds the submitted jobs whose outcome was not delivered yet, each with a reference.
 *  (2) `threads` holds the threads that are to be joined; a thread that is given up inside a plugin
 *      is removed from it and detached, counts in `lost` until it returns, and then ends.
 *  (3) Locks are taken in the order pool->lock, then job->gate.lock; callbacks of the app are
 *      called with no lock held.
 *  (4) A plugin's stuck count is the number of its LOADING and RUNNING jobs that became GIVEN_UP
 *      and whose function has not returned.
 *  (5) At most one idle thread spins, with `spinning` set; before it sleeps it looks at the queue
 *      once more under the lock, so that one job needs no signal.
 *  (6) While a job can run or a source is served by nobody, a thread is about to look: it spins, or
 *      is on its way (`waking`: it was signalled or started, and has not looked yet); or all that
 *      may exist are busy; or the watch ticks, and has one more wake up when no job has begun or
 *      ended for a tick. So many short jobs at once cost few wake-ups, and one that takes long
 *      delays no other: by a tick or two if its tool has been quick before, else not at all.
 *  (7) A source is served by one thread at a time, which runs the jobs that it brought before it
 *      serves it again: a short call costs no hand-over to another thread. For each source there
 *      may be one thread more than run jobs: while all jobs take long, messages are still read. */

/* Longest spin: about what it takes to wake a thread. Twice that, with more tries, took 2 us from
 * every call while the scheduler kept both threads on one CPU. */
#define SPIN_NS_MAX 10000u

/* How often the watch looks whether something waits in vain, and how often it finds nothing before
 * it stops. */
#define TICK_NS       500000u
#define TICKS_IN_VAIN 5u
/* How long a job waits for a thread that runs short ones before it, while a CPU may be idle. */
#define LATE_NS       1000000u
/* Longest run of a job that is short: what it takes to wake a thread is less than half. */
#define QUICK_NS      50000u

static const char no_thread[] = "the host cannot start a thread; the process may have too many";
static const char asking_full[] =
        "too many calls wait for somebody to permit them; try again later";

/* A time of the monotonic clock that has passed; 0: none. */
#define WATCH_NOW 1u

struct pool_thread {
    struct pool_thread *next;
    struct pool_thread *prev;
    struct pool *pool;
    pthread_t thread;
    struct pool_source *source; /* that it has served last; perhaps gone, never looked into */
    uint64_t from_ns;           /* when it had nothing to do last, or ended a job */
    bool is_new;                /* it has not looked at the queue yet */
    bool is_busy;               /* it counts in pool->busy */
};

struct pool_source {
    uint32_t magic; /* SOURCE_MAGIC */
    struct pool *pool;
    toolrack_take *take;
    void *user;
    struct pool_source *next; /* this and the following: guarded by pool->lock */
    bool is_served;
    bool is_ended; /* it was said to have ended, or is being stopped */
};
#define SOURCE_MAGIC 0x73726331u

struct pool {
    uint32_t magic; /* POOL_MAGIC */
    const struct call_host *host;
    uint32_t threads_max;
    uint32_t cpu_count;
    struct spin job_spin;     /* of an idle thread for the next job */
    struct spin outcome_spin; /* of a caller for the end of its job */
    atomic_uint offered;      /* a hint for the thread that spins: look at the queue */

    struct lock lock;     /* guards the members below */
    pthread_cond_t work;  /* a job was queued, or closing */
    pthread_cond_t watch; /* live changed, or closing */
    pthread_cond_t quiet; /* a thread became idle */
    struct queue queue;
    uint32_t asking; /* jobs that are ASKING or are queued for it */
    struct job *live;
    struct pool_thread *threads;
    uint32_t thread_count; /* threads in `threads` */
    uint32_t busy;         /* of those, the ones that have a job */
    struct pool_source *sources;
    uint32_t source_count;
    uint32_t idle;           /* of those, the idle ones */
    uint32_t sleeping;       /* of the idle ones, those that wait for `work` */
    bool waking;             /* a thread was signalled or started, and has not looked yet */
    uint32_t nesting;        /* threads of the pool that wait for a call that a tool made, or for
                                permission */
    uint32_t lost;           /* threads given up that are still inside a plugin */
    uint32_t returning;      /* threads given up that have returned and still use the pool */
    bool spinning;           /* a thread looks for a job */
    bool stopping;           /* no job is taken any more */
    bool closing;            /* the threads end */
    bool watching;           /* the watch thread exists */
    uint64_t watch_until_ns; /* when it looks at the jobs again by itself; 0: it looks now */
    unsigned ticks;          /* how often it looks and may find nothing to do; 0: it does not */
    uint64_t progress;       /* jobs that began or ended, and turns of sources */
    uint64_t seen_by_tick;   /* that progress */
    pthread_t watch_thread;
};
#define POOL_MAGIC 0x706f6f6cu

/* The job that this thread of a pool runs. Its tool may call another tool. */
static _Thread_local struct job *running;

/* The pool whose source this thread serves; NULL: none. */
static _Thread_local const struct pool *serving;

/* Caller holds pool->lock. */
static void pool_check(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
#ifndef NDEBUG
    const struct job *before = NULL;
    for (const struct job *job = pool->live; job != NULL; job = job->live_next) {
        OBJECT_CHECK(job, JOB_MAGIC);
        assert(job->live && job->live_prev == before && job->done != NULL && job->pool == pool);
        before = job;
    }
    uint32_t count = 0;
    for (const struct pool_thread *thread = pool->threads; thread != NULL; thread = thread->next) {
        count++;
    }
    assert(pool->thread_count == count);
    assert(pool->idle + pool->busy <= count);
    count = 0;
    for (const struct pool_source *source = pool->sources; source != NULL; source = source->next) {
        OBJECT_CHECK(source, SOURCE_MAGIC);
        count++;
    }
    assert(pool->source_count == count);
    assert(pool->asking <= POOL_ASKING_MAX);
    queue_check(&pool->queue);
#endif
}

/* ---------------------------------------------------------------- threads */

static void *thread_main(void *argument);

/* Start one more thread. False: none can be started. Caller holds pool->lock. */
static bool start_thread(struct pool *pool) {
    struct pool_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        return false;
    }
    thread->pool = pool;
    thread->is_new = true;
    if (thread_start(&thread->thread, thread_main, thread) != 0) {
        free(thread);
        return false;
    }
    thread->next = pool->threads;
    if (pool->threads != NULL) {
        pool->threads->prev = thread;
    }
    pool->threads = thread;
    pool->thread_count++;
    return true;
}

/* Whether one more thread may run a job. Caller holds pool->lock, as for the next five. */
static bool may_run(const struct pool *pool) {
    return pool->busy < pool->threads_max + pool->nesting;
}

/* A source that nobody serves: the one that was served last by `thread`, else any. NULL: there is
 * none. */
static struct pool_source *free_source(const struct pool *pool, const struct pool_thread *thread) {
    struct pool_source *found = NULL;
    for (struct pool_source *source = pool->sources; source != NULL; source = source->next) {
        if (!source->is_served && !source->is_ended) {
            found = source;
            if (thread == NULL || thread->source == source) {
                break;
            }
        }
    }
    return found;
}

/* Whether there is something to do for one more thread. */
static bool has_work(const struct pool *pool) {
    return (pool->queue.runnable > 0 && may_run(pool)) || free_source(pool, NULL) != NULL;
}

/* Have one more thread look, if there is something to do and none is on its way already: one that
 * sleeps, else a new one. */
static void wake_next(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (pool->closing || pool->waking || !has_work(pool)) {
        return;
    }
    if (pool->sleeping > 0) {
        pool->waking = true;
        (void)pthread_cond_signal(&pool->work);
    } else if (pool->thread_count < pool->threads_max + pool->nesting + pool->source_count) {
        pool->waking = start_thread(pool);
    }
}

/* Have what can be done begin soon: a thread is busy that does it when it is done with its own job,
 * and the watch has another one wake up if that takes long. */
static void begin_soon(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (pool->waking || !has_work(pool)) {
        return;
    }
    if (!pool->watching) {
        wake_next(pool);
    } else if (pool->ticks == 0) {
        pool->ticks = TICKS_IN_VAIN;
        if (pool->watch_until_ns != 0) {
            (void)pthread_cond_signal(&pool->watch);
        }
    }
}

static void remove_thread(struct pool *pool, struct pool_thread *thread) {
    if (thread->prev != NULL) {
        thread->prev->next = thread->next;
    } else {
        pool->threads = thread->next;
    }
    if (thread->next != NULL) {
        thread->next->prev = thread->prev;
    }
    pool->thread_count--;
    pool->busy -= thread->is_busy;
}

/* ------------------------------------------------------------------ outcome */

static void tell_plugin(struct job *job, enum toolrack_event_kind kind, const char *message) {
    const struct call_host *host = job->pool->host;
    if (host->event != NULL) {
        host->event(host->user, kind, job->tool->reg->plugin, message);
    }
}

/* Pass the outcome of a submitted job to its callback; a thread in pool_call() takes it itself.
 * Called once, by the thread that ended the job. */
static void deliver(struct job *job) {
    struct pool *pool = job->pool;
    if (job->done == NULL) {
        return;
    }
    lock_take(&pool->lock);
    bool was_live = job->live;
    if (was_live) {
        job->live = false;
        *(job->live_prev != NULL ? &job->live_prev->live_next : &pool->live) = job->live_next;
        if (job->live_next != NULL) {
            job->live_next->live_prev = job->live_prev;
        }
    }
    if (pool->stopping) {
        (void)pthread_cond_broadcast(&pool->quiet);
    }
    pool_check(pool);
    lock_release(&pool->lock);
    struct toolrack_result *result = job->result;
    job->result = NULL;
    job->done(job->user, result, job->code < 0 ? &job->error : NULL);
    if (was_live) {
        job_unref(job);
    }
}

/* Give up a job whose time is over. False: it goes on, or has ended. */
static bool give_up(struct job *job) {
    struct pool *pool = job->pool;
    lock_take(&pool->lock);
    enum job_end end = job_give_up(job);
    if (end == JOB_LOST) {
        /* The thread inside the plugin leaves the pool; another may take its place. */
        atomic_fetch_add(&job->tool->reg->plugin->stuck, 1);
        queue_leave(&pool->queue, job);
        remove_thread(pool, job->thread);
        (void)pthread_detach(job->thread->thread);
        pool->lost++;
        wake_next(pool); /* also since its plugin may have a job in the queue */
    }
    pool_check(pool);
    lock_release(&pool->lock);
    if (end == JOB_GOES_ON) {
        return false;
    }
    job_left_behind(job, end == JOB_LOST);
    if (end == JOB_LOST) {
        tell_plugin(job, TOOLRACK_EVENT_STUCK,
                    "a call did not return in time; its thread was given up and still runs");
    }
    return true;
}

/* ------------------------------------------------------------ running jobs */

/* Have the watch look at a job in time. A job that is later than what it waits for wakes nobody: of
 * calls with the usual deadline, which come in order, that is each but the first. */
static void watch_from(struct pool *pool, struct job *job, uint64_t until_ns) {
    LOCK_ASSERT_HELD(&pool->lock);
    job->watch_ns = until_ns;
    if (until_ns != 0 && until_ns < pool->watch_until_ns) {
        pool->watch_until_ns = until_ns;
        (void)pthread_cond_signal(&pool->watch);
    }
}

/* Put a job, with its reference, into the queue. Returns whether the thread that spins will see it,
 * after `offered` is set. Caller holds pool->lock. */
static bool put(struct pool *pool, struct job *job) {
    queue_put(&pool->queue, job);
    if (job->done != NULL) {
        watch_from(pool, job, job->call.run.deadline_ns);
    }
    bool is_seen = pool->spinning && pool->queue.runnable == 1;
    if (serving == pool) {
        begin_soon(pool); /* this thread runs it when the source is done */
    } else if (!is_seen) {
        wake_next(pool);
    }
    return is_seen;
}

static void tell_spinning(struct pool *pool, bool is_seen) {
    if (is_seen) {
        atomic_store_explicit(&pool->offered, 1, memory_order_release);
    }
}

/* End this thread's turn with a job: release the lock, and the reference unless the job is queued
 * again. */
static void end_turn(struct pool *pool, struct job *job, enum job_end end, bool is_seen) {
    pool_check(pool);
    lock_release(&pool->lock);
    tell_spinning(pool, is_seen);
    if (end == JOB_ENDED) {
        deliver(job);
    }
    if (end != JOB_GOES_ON) {
        job_unref(job);
    }
}

/* Ask whether a job may run. The reference is released, or queued again with the job. */
static void ask_about(struct pool *pool, struct job *job) {
    struct toolrack_error error = {0};
    bool begins = job_begin(job, JOB_ASKING);
    int code = begins ? call_permit(pool->host, job->tool, &job->call.options, job->arguments,
                                    job->length, &error)
                      : 0;
    bool is_seen = false;
    lock_take(&pool->lock);
    pool->nesting--;
    pool->asking--;
    enum job_end end = begins ? job_answer(job, code, &error) : JOB_WAS_OVER;
    if (end == JOB_GOES_ON) {
        is_seen = put(pool, job);
    }
    wake_next(pool);
    end_turn(pool, job, end, is_seen);
}

/* A tool whose call was given up has returned. After the pool was closed, the memory of pool,
 * plugin and job is not freed: nothing of the host may be used any more. */
static void come_back(struct pool *pool, struct job *job) {
    lock_take(&pool->lock);
    bool closing = pool->closing;
    if (!closing) {
        pool->lost--;
        pool->returning++; /* closing waits for this thread from here on */
    }
    lock_release(&pool->lock);
    if (closing) {
        return;
    }
    bool is_last = atomic_fetch_sub(&job->tool->reg->plugin->stuck, 1) == 1;
    plugin_wake(job->tool->reg->plugin, NULL, false);
    if (is_last) {
        tell_plugin(job, TOOLRACK_EVENT_RECOVERED, NULL);
    }
    job_unref(job);
    lock_take(&pool->lock);
    pool->returning--;
    (void)pthread_cond_broadcast(&pool->quiet);
    lock_release(&pool->lock);
}

/* Whether the queue of questions is full for a job that asks after all, with another tool. Caller
 * holds pool->lock, as for the next function. */
static int count_question(struct pool *pool, const struct job *job, bool asks,
                          struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (asks && !job->asks && pool->asking >= POOL_ASKING_MAX) {
        int code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s", asking_full);
        error_set_tool(err, toolrack_tool_name(job->tool));
        return code;
    }
    pool->asking += asks;
    pool->asking -= job->asks;
    return 0;
}

/* A job has a tool whose plugin was copied, or (code < 0) ends without. Returns whether the thread
 * that spins sees it in the queue. */
static bool leave_copying(struct pool *pool, struct job *job, struct toolrack_tool *tool, int code,
                          struct toolrack_error *error, enum job_end *ret_end) {
    LOCK_ASSERT_HELD(&pool->lock);
    bool asks = code == 0 && !call_is_free(tool);
    queue_leave(&pool->queue, job); /* of the plugin that it had */
    if (code == 0) {
        code = count_question(pool, job, asks, error);
    }
    if (code < 0) {
        pool->asking -= job->asks;
        *ret_end = job_finish(job, code, NULL, error);
        return false;
    }
    *ret_end = job_take_tool(job, tool);
    if (*ret_end != JOB_GOES_ON) {
        pool->asking -= asks;
        return false;
    }
    job->asks = asks;
    free(job->name);
    job->name = NULL;
    return put(pool, job);
}

/* Wait for the copy of the file of its plugin. The reference is released, or queued again with the
 * job. */
static void copy_for(struct pool *pool, struct job *job) {
    struct toolrack_error error = {0};
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_tool_ref(job->tool);
    enum job_end end = JOB_WAS_OVER;
    bool is_seen = false;
    bool begins = job_begin(job, JOB_COPYING);
    const char *name = job->name[0] != '\0' ? job->name : NULL;
    int code =
            begins ? call_stage(pool->host, name, &tool, &job->time, &job->call.cancelled, &error)
                   : 0;
    lock_take(&pool->lock);
    if (begins) {
        is_seen = leave_copying(pool, job, tool, code, &error, &end);
    } else {
        queue_leave(&pool->queue, job);
        pool->asking -= job->asks;
    }
    wake_next(pool); /* other jobs of its plugin may run now */
    end_turn(pool, job, end, is_seen);
}

/* Note how long a thread was busy with a job that has just ended. */
static void note_run(struct pool_thread *thread, const struct job *job) {
    uint64_t from_ns = thread->from_ns > job->queued_ns ? thread->from_ns : job->queued_ns;
    registration_note_run(job->tool->reg, job->ended_ns - from_ns <= QUICK_NS);
    thread->from_ns = job->ended_ns;
}

/* Run a job, wait for its copy or ask about it; the reference is released, or queued again with the
 * job. False: this thread was given up and is to end. */
static bool run_job(struct pool *pool, struct job *job) {
    if (job->name != NULL) {
        copy_for(pool, job);
        return true;
    }
    if (job->asks) {
        ask_about(pool, job);
        return true;
    }
    enum job_end end = JOB_WAS_OVER;
    if (job_begin(job, JOB_READY)) {
        struct toolrack_result *result = NULL;
        struct toolrack_error error; /* large, and written if the call fails */
        running = job;
        int code = call_run(&job->call, job->arguments, job->length, &result, &error);
        running = NULL;
        end = job_finish(job, code, result, &error);
    }
    if (end == JOB_LOST) {
        come_back(pool, job);
        return false;
    }
    lock_take(&pool->lock);
    queue_leave(&pool->queue, job);
    pool->progress++;
    if (end == JOB_ENDED) {
        note_run(job->thread, job);
    }
    if (job->done != NULL) {
        begin_soon(pool); /* another job may run now; this thread delivers first */
    }
    end_turn(pool, job, end, false);
    return true;
}

/* The next job to run, or to ask about. Caller holds pool->lock. */
static struct job *take_job(struct pool *pool) {
    struct job *job = may_run(pool) ? queue_take(&pool->queue) : NULL;
    if (job != NULL && job_asks_next(job)) {
        pool->nesting++; /* this thread will wait; another may take its place */
    }
    return job;
}

/* Take what a source has. Caller holds pool->lock, which is released meanwhile. */
static void serve(struct pool *pool, struct pool_thread *thread, struct pool_source *source) {
    source->is_served = true;
    thread->source = source;
    lock_release(&pool->lock);
    serving = pool;
    bool goes_on = source->take(source->user);
    serving = NULL;
    uint64_t now = clock_now_ns();
    lock_take(&pool->lock);
    source->is_served = false;
    thread->from_ns = now;
    pool->progress++;
    if (!goes_on || source->is_ended) {
        source->is_ended = true;
        (void)pthread_cond_broadcast(&pool->quiet); /* it may be gone from here on */
    }
}

/* Wait until there may be something to do. Caller holds pool->lock, which is released meanwhile. */
static void rest(struct pool *pool, struct pool_thread *thread, bool *has_slept) {
    pool->idle++;
    (void)pthread_cond_broadcast(&pool->quiet);
    if (!*has_slept && !pool->spinning && spin_worthwhile(&pool->job_spin)) {
        pool->spinning = true;
        atomic_store_explicit(&pool->offered, 0, memory_order_relaxed);
        lock_release(&pool->lock);
        (void)spin_while(&pool->job_spin, &pool->offered, 0);
        lock_take(&pool->lock);
        pool->spinning = false;
    }
    if (!has_work(pool) && !pool->closing) {
        pool->sleeping++;
        lock_wait(&pool->lock, &pool->work);
        pool->sleeping--;
        pool->waking = false;
        *has_slept = true;
    }
    thread->from_ns = clock_now_ns();
    pool->idle--;
}

/* Whether a job will be over sooner than another thread could be woken. */
static bool is_quick(const struct job *job) {
    return job->name == NULL && !job->asks && registration_is_quick(job->tool->reg);
}

static struct job *next_job(struct pool *pool, struct pool_thread *thread) {
    LOCK_SCOPE(&pool->lock);
    if (thread->is_new) {
        thread->is_new = false;
        pool->waking = false;
    }
    pool->busy -= thread->is_busy;
    thread->is_busy = false;
    bool has_slept = false;
    struct job *job;
    while ((job = take_job(pool)) == NULL && !pool->closing) {
        struct pool_source *source = free_source(pool, thread);
        if (source != NULL) {
            serve(pool, thread, source);
            has_slept = false;
        } else {
            rest(pool, thread, &has_slept);
        }
    }
    if (job != NULL) {
        job->thread = thread;
        thread->is_busy = true;
        pool->busy++;
        pool->progress++;
        if (is_quick(job)) {
            begin_soon(pool);
        } else {
            wake_next(pool);
        }
    }
    return job;
}

static void *thread_main(void *argument) {
    struct pool_thread *thread = argument;
    struct pool *pool = thread->pool;
    struct job *job;
    while ((job = next_job(pool, thread)) != NULL) {
        if (!run_job(pool, job)) {
            free(thread);
            break;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- the watch */

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

/* Whether what waits does so in vain, or while a CPU may be idle. Caller holds pool->lock. */
static bool is_late(const struct pool *pool) {
    if (pool->progress == pool->seen_by_tick) {
        return true;
    }
    const struct job *job = pool->busy < pool->cpu_count ? queue_first(&pool->queue) : NULL;
    return job != NULL && clock_now_ns() - job->queued_ns >= LATE_NS;
}

/* While there is something to do, see that it does not wait for long. Returns when the watch looks
 * again. Caller holds pool->lock. */
static uint64_t tick(struct pool *pool, uint64_t next_ns) {
    if (pool->ticks == 0) {
        return next_ns;
    }
    if (!has_work(pool)) {
        pool->ticks--;
    } else {
        pool->ticks = TICKS_IN_VAIN;
        const struct job *job = queue_first(&pool->queue);
        if (is_late(pool)) {
            if (job != NULL) { /* perhaps of the tool that takes long */
                registration_note_run(job->tool->reg, false);
            }
            wake_next(pool);
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
            if (give_up(job)) {
                deliver(job);
            }
            job_unref(job);
            lock_take(&pool->lock);
            continue;
        }
        next_ns = tick(pool, next_ns);
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

/* Start the watch, unless it was. Caller holds pool->lock. */
static bool start_watch(struct pool *pool) {
    if (!pool->watching) {
        pool->watching = thread_start(&pool->watch_thread, watch_main, pool) == 0;
    }
    return pool->watching;
}

/* -------------------------------------------------------------------- inputs */

/* The tool of a job waits for an input, or has ended that: meanwhile another thread may take the
 * place of this one; then its deadline has moved, unless it was cancelled. */
static void note_input(void *user, bool begins) {
    struct job *job = user;
    struct pool *pool = job->pool;
    lock_take(&pool->lock);
    pool->nesting += begins ? 1 : UINT32_MAX; /* wraps: one less */
    if (begins) {
        wake_next(pool);
    } else if (job->done != NULL && !atomic_load(&job->call.cancelled)) {
        watch_from(pool, job, job->call.run.deadline_ns);
    }
    lock_release(&pool->lock);
    if (!begins) {
        job_deadline_moved(job);
    }
}

/* ------------------------------------------------------------------ enqueue */

/* Queue a job; the queue takes its own reference. */
static int enqueue(struct pool *pool, struct job *job, struct toolrack_error *err) {
    int code = TOOLRACK_E_LIMIT_EXCEEDED;
    const char *reason = NULL;
    bool is_seen = false; /* by the thread that spins */
    lock_take(&pool->lock);
    bool is_watched = job->done == NULL || start_watch(pool);
    bool is_first = pool->thread_count == 0;
    if (pool->stopping) {
        code = TOOLRACK_E_CANCELLED;
        reason = "the host is closing";
    } else if (pool->queue.count >= TOOLRACK_QUEUE_MAX) {
        reason = "too many calls wait for a thread of the host; try again later";
    } else if (job->asks && pool->asking >= POOL_ASKING_MAX) {
        reason = asking_full;
    } else if (!is_watched || (is_first && !start_thread(pool))) {
        reason = no_thread;
    } else {
        pool->asking += job->asks;
        if (job->done != NULL) {
            job->live = true;
            job->live_next = pool->live;
            if (pool->live != NULL) {
                pool->live->live_prev = job;
            }
            pool->live = job_ref(job);
        }
        pool->waking |= is_first;
        is_seen = put(pool, job_ref(job));
    }
    pool_check(pool);
    lock_release(&pool->lock);
    tell_spinning(pool, is_seen);
    if (reason == NULL) {
        return 0;
    }
    (void)error_set(err, code, "%s", reason);
    error_set_tool(err, toolrack_tool_name(job->tool));
    return code;
}

/* ------------------------------------------------------------------ sources */

int pool_source_start(struct pool *pool, toolrack_take *take, void *user, struct pool_source **ret,
                      struct toolrack_error *err) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    struct pool_source *source = malloc(sizeof *source);
    if (source == NULL) {
        return error_oom(err);
    }
    *source = (struct pool_source){.magic = SOURCE_MAGIC, .pool = pool, .take = take, .user = user};
    lock_take(&pool->lock);
    /* A thread of its own at once, so that it is served from now on. */
    bool starts = !pool->stopping && start_watch(pool) && start_thread(pool);
    if (starts) {
        source->next = pool->sources;
        pool->sources = source;
        pool->source_count++;
    }
    pool_check(pool);
    lock_release(&pool->lock);
    if (!starts) {
        free(source);
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s", no_thread);
    }
    *ret = source;
    return 0;
}

void pool_source_wait(struct pool_source *source) {
    OBJECT_CHECK(source, SOURCE_MAGIC);
    struct pool *pool = source->pool;
    LOCK_SCOPE(&pool->lock);
    while (!source->is_ended || source->is_served) {
        lock_wait(&pool->lock, &pool->quiet);
    }
}

void pool_source_stop(struct pool_source *source) {
    if (source == NULL) {
        return;
    }
    OBJECT_CHECK(source, SOURCE_MAGIC);
    struct pool *pool = source->pool;
    assert(serving != pool);
    lock_take(&pool->lock);
    source->is_ended = true;
    while (source->is_served) {
        lock_wait(&pool->lock, &pool->quiet);
    }
    struct pool_source **at = &pool->sources;
    while (*at != source) {
        at = &(*at)->next;
    }
    *at = source->next;
    pool->source_count--;
    pool_check(pool);
    lock_release(&pool->lock);
    OBJECT_WIPE(source, SOURCE_MAGIC);
    free(source);
}

/* -------------------------------------------------------------------- life */

struct pool *pool_create(const struct call_host *host, uint32_t threads_max) {
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL) {
        pool->magic = POOL_MAGIC;
        pool->host = host;
        pool->cpu_count = thread_cpu_count();
        pool->threads_max = threads_max != 0 ? threads_max : POOL_THREADS_MAX;
        spin_init(&pool->job_spin, SPIN_NS_MAX);
        spin_init(&pool->outcome_spin, SPIN_NS_MAX);
        lock_init(&pool->lock);
        clock_cond_init(&pool->work);
        clock_cond_init(&pool->watch);
        clock_cond_init(&pool->quiet);
    }
    return pool;
}

/* Cancel all submitted jobs of a conversation, or (NULL) all. */
static void cancel_live(struct pool *pool, const char *conversation) {
    for (;;) {
        lock_take(&pool->lock);
        struct job *job = pool->live;
        for (; job != NULL; job = job->live_next) {
            const char *own = job->call.options.conversation;
            if (!atomic_load(&job->call.cancelled) &&
                (conversation == NULL || (own != NULL && strcmp(own, conversation) == 0))) {
                (void)job_ref(job);
                break;
            }
        }
        lock_release(&pool->lock);
        if (job == NULL) {
            return;
        }
        pool_cancel(job);
        job_unref(job);
    }
}

void pool_cancel_conversation(struct pool *pool, const char *conversation) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    assert(conversation != NULL);
    cancel_live(pool, conversation);
}

bool pool_destroy(struct pool *pool) {
    if (pool == NULL) {
        return true;
    }
    OBJECT_CHECK(pool, POOL_MAGIC);
    assert(running == NULL || running->pool != pool);
    assert(pool->sources == NULL);

    /* Callbacks that submit again are refused; otherwise this would never end. */
    lock_take(&pool->lock);
    pool->stopping = true;
    lock_release(&pool->lock);
    cancel_live(pool, NULL);

    uint64_t until_ns = clock_now_ns() + (uint64_t)POOL_CLOSE_GRACE_MS * CLOCK_NS_PER_MS;
    struct timespec until = clock_timespec(until_ns);
    lock_take(&pool->lock);
    while ((pool->queue.count > 0 || pool->idle < pool->thread_count || pool->lost > 0) &&
           clock_now_ns() < until_ns) {
        (void)lock_wait_until(&pool->lock, &pool->quiet, &until);
    }

    /* The watch gives up the jobs that have not ended. */
    for (struct job *job = pool->live; job != NULL; job = job->live_next) {
        job->watch_ns = WATCH_NOW;
    }
    (void)pthread_cond_signal(&pool->watch);
    while (pool->live != NULL) {
        lock_wait(&pool->lock, &pool->quiet);
    }

    pool->closing = true;
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_cond_broadcast(&pool->watch);
    while (pool->returning > 0) {
        lock_wait(&pool->lock, &pool->quiet);
    }
    lock_release(&pool->lock);
    if (pool->watching) {
        (void)pthread_join(pool->watch_thread, NULL);
    }
    for (const struct pool_thread *thread = pool->threads; thread != NULL; thread = thread->next) {
        (void)pthread_join(thread->thread, NULL);
    }
    lock_take(&pool->lock);
    while (pool->threads != NULL) {
        struct pool_thread *thread = pool->threads;
        remove_thread(pool, thread);
        free(thread);
    }
    bool abandoned = pool->lost > 0;
    lock_release(&pool->lock);
    if (abandoned) {
        return false; /* the threads still inside plugins will use it when they return */
    }
    OBJECT_WIPE(pool, POOL_MAGIC);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->watch);
    (void)pthread_cond_destroy(&pool->quiet);
    lock_finish(&pool->lock);
    free(pool);
    return true;
}

/* -------------------------------------------------------------------- calls */

/* While a thread waits for a call that its tool made, another may take its place: otherwise the
 * called tools might find no thread to run on. */
static void nest(struct pool *pool, int by) {
    lock_take(&pool->lock);
    pool->nesting += (uint32_t)by;
    lock_release(&pool->lock);
}

static int no_memory_for(const struct toolrack_tool *tool, struct toolrack_error *err) {
    int code = error_oom(err);
    error_set_tool(err, toolrack_tool_name(tool));
    return code;
}

int pool_call(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
              const struct toolrack_call_options *options, const struct call_time *time,
              struct toolrack_result **ret, struct toolrack_error *err) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    assert(time->deadline_ms != 0 && !call_is_isolated(tool));
    unsigned depth = running != NULL && running->pool == pool ? running->depth + 1 : 0;
    if (depth > POOL_DEPTH_MAX) {
        int code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "tools call each other deeper than the %u allowed", POOL_DEPTH_MAX);
        error_set_tool(err, toolrack_tool_name(tool));
        return code;
    }
    CLEANUP(job_unrefp)
    struct job *job = job_create(pool, pool->host, tool, arguments, length, options, time);
    if (job == NULL) {
        return no_memory_for(tool, err);
    }
    job->depth = depth;
    job->call.asks = note_input;
    if (depth > 0) {
        nest(pool, 1);
    }
    int code = enqueue(pool, job, err);
    if (code == 0) {
        if (spin_worthwhile(&pool->outcome_spin)) {
            (void)spin_while(&pool->outcome_spin, &job->over, 0);
        }
        while (!job_wait(job) && !give_up(job)) {
            /* it has ended meanwhile, or its tool asks for an input */
        }
        code = job->code;
        if (code < 0) {
            *err = job->error;
        } else {
            *ret = STEAL(job->result);
        }
    }
    if (depth > 0) {
        nest(pool, -1);
    }
    return code;
}

/* For a submitted call without callback. */
static void drop_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)user;
    (void)err;
    toolrack_result_free(result);
}

int pool_submit(struct pool *pool, const char *name, struct toolrack_tool *tool,
                const char *arguments, size_t length, const struct toolrack_call_options *options,
                const struct call_time *time, toolrack_done *done, void *user, struct job **ret,
                struct toolrack_error *err) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    CLEANUP(job_unrefp)
    struct job *job = job_create(pool, pool->host, tool, arguments, length, options, time);
    bool is_copied = !tool->enabled || !plugin_may_be_stale(tool->reg->plugin);
    if (job != NULL && !is_copied) {
        job->name = strdup(name != NULL ? name : ""); /* "": that tool only */
    }
    if (job == NULL || (!is_copied && job->name == NULL)) {
        return no_memory_for(tool, err);
    }
    job->done = done != NULL ? done : drop_outcome;
    job->user = user;
    job->asks = !call_is_free(tool);
    job->call.asks = note_input;
    int code = enqueue(pool, job, err);
    if (code == 0 && ret != NULL) {
        *ret = STEAL(job);
    }
    return code;
}

void pool_cancel(struct job *job) {
    struct pool *pool = job->pool;
    lock_take(&pool->lock);
    struct plugin *plugin = job->tool->reg->plugin; /* the job may get another tool */
    uint64_t until_ns = job_interrupt(job);
    if (until_ns != UINT64_MAX) {
        until_ns = until_ns != 0 ? until_ns : WATCH_NOW;
        if (job->watch_ns == 0 || until_ns < job->watch_ns) {
            watch_from(pool, job, until_ns);
        }
    }
    lock_release(&pool->lock);
    if (until_ns != UINT64_MAX) {
        plugin_wake(plugin, &job->call, false);
    }
}
