#include "call/pool-parts.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "base/thread.h"

/* Longest run of a job that is short: what it takes to wake a thread is less than half. */
#define QUICK_NS 50000u

_Thread_local struct job *pool_running;
_Thread_local struct pool_thread *pool_serving;

/* ---------------------------------------------------------------- threads */

static void *thread_main(void *argument);

bool pool_start_thread(struct pool *pool) {
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

/* Whether one more thread may run a job. Caller holds pool->lock, as for all here that do not say
 * otherwise. */
static bool may_run(const struct pool *pool) {
    return pool->busy < pool->threads_max + pool->nesting;
}

/* The source that nobody has served for longest; NULL: all are served. */
static struct pool_source *free_source(const struct pool *pool) {
    struct pool_source *found = NULL;
    for (struct pool_source *source = pool->sources; source != NULL; source = source->next) {
        if (!source->is_served && !source->is_ended &&
            (found == NULL || source->free_ns < found->free_ns)) {
            found = source;
        }
    }
    return found;
}

/* The source that a thread serves next: the one that it served last, unless another one has waited
 * for long. NULL: all are served. */
static struct pool_source *next_source(const struct pool *pool, const struct pool_thread *thread) {
    struct pool_source *longest = free_source(pool);
    if (longest == NULL || thread->from_ns >= longest->free_ns + POOL_LATE_NS) {
        return longest;
    }
    for (struct pool_source *source = pool->sources; source != NULL; source = source->next) {
        if (source == thread->source && !source->is_served && !source->is_ended) {
            return source;
        }
    }
    return longest;
}

bool pool_has_work(const struct pool *pool) {
    return (pool->queue.runnable > 0 && may_run(pool)) || free_source(pool) != NULL;
}

/* How many threads there may be: those that run jobs, perhaps more than may now, and one for each
 * source. */
static uint32_t threads_wanted(const struct pool *pool) {
    uint32_t run = pool->threads_max + pool->nesting;
    return (run > pool->busy ? run : pool->busy) + pool->source_count;
}

/* Take the latest idle thread out of `idle`, to look for work or (job) to run that. */
static void take_idle(struct pool *pool, struct job *job) {
    LOCK_ASSERT_HELD(&pool->lock);
    struct pool_thread *thread = pool->idle;
    pool->idle = thread->idle_next;
    pool->idle_count--;
    thread->given = job;
    thread->idle_next = pool->woken;
    pool->woken = thread;
}

void pool_wake_woken(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
    while (pool->woken != NULL) {
        struct pool_thread *thread = pool->woken;
        pool->woken = thread->idle_next;
        wakeup_send(&thread->wakeup);
    }
}

void pool_wake_all(struct pool *pool) {
    while (pool->idle != NULL) {
        take_idle(pool, NULL);
    }
}

/* A woken thread that finds the lock taken sleeps again, which costs both sides a system call more:
 * so the lock is released first. The threads in `woken` do not move before they are woken up. */
void pool_release(struct pool *pool) {
    struct pool_thread *woken = pool->woken;
    pool->woken = NULL;
    lock_release(&pool->lock);
    while (woken != NULL) {
        struct pool_thread *thread = woken;
        woken = thread->idle_next;
        wakeup_send(&thread->wakeup);
    }
}

/* Have the watch look whether something waits in vain: from the next tick on, that which has
 * happened until now does not count as nothing. */
static void look_soon(struct pool *pool) {
    if (pool->watching && pool->ticks == 0) {
        pool->ticks = POOL_TICKS_IN_VAIN;
        pool->seen_by_tick = pool->progress - 1;
        if (pool->watch_until_ns != 0) {
            (void)pthread_cond_signal(&pool->watch);
        }
    }
}

void pool_wake_next(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (pool->closing || pool->waking || !pool_has_work(pool)) {
        return;
    }
    if (pool->idle != NULL) {
        pool->waking = true;
        take_idle(pool, NULL);
    } else if (pool->thread_count < threads_wanted(pool)) {
        pool->waking = pool_start_thread(pool);
        if (!pool->waking) {
            look_soon(pool);
        }
    }
}

bool pool_have_thread(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (pool->idle == NULL) {
        return pool_start_thread(pool);
    }
    pool->waking = true;
    take_idle(pool, NULL);
    return true;
}

/* Have what can be done begin soon: a thread is busy that does it when it is done with its own job,
 * and the watch has another one wake up if that takes long. */
static void begin_soon(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (pool->waking || !pool_has_work(pool)) {
        return;
    }
    if (!pool->watching) {
        pool_wake_next(pool);
    } else {
        look_soon(pool);
    }
}

void pool_remove_thread(struct pool *pool, struct pool_thread *thread) {
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
    queue_disown(&thread->own);
}

/* ------------------------------------------------------------ running jobs */

void pool_put(struct pool *pool, struct job *job) {
    bool is_brought = pool_serving != NULL && pool_serving->pool == pool && job->done != NULL;
    queue_put(&pool->queue, job, is_brought ? &pool_serving->own : NULL);
    if (job->done != NULL) {
        pool_watch_from(pool, job, job->call.run.deadline_ns);
    }
    if (is_brought) {
        begin_soon(pool); /* this thread runs it when the source is done */
    } else {
        pool_wake_next(pool);
    }
}

/* Whether a job will be over sooner than another thread could be woken. */
static bool is_quick(const struct job *job) {
    return job->name == NULL && !job->asks && registration_is_quick(job->tool->reg);
}

/* A thread has a job to run. */
static void note_begun(struct pool *pool, struct pool_thread *thread, struct job *job) {
    job->thread = thread;
    thread->is_busy = true;
    pool->busy++;
    pool->progress++;
    if (is_quick(job)) {
        begin_soon(pool);
    } else {
        pool_wake_next(pool);
    }
}

/* The thread runs the job without the lock and without a look at the queue, and takes the lock once
 * a call, to leave the job and to go idle. Through a condition variable, with the lock taken before
 * and after the tool, a call with a deadline took 12.8 us of CPU time and 3.0 voluntary switches
 * where it takes 8.7 us and 1.1 now; on one CPU 12.4 us and 2.4, now 7.5 us and 1.1 (in turns on
 * two CPUs that had other work; callgrind counts 3 % fewer instructions: the rest was the
 * system's). */
bool pool_give(struct pool *pool, struct job *job) {
    LOCK_ASSERT_HELD(&pool->lock);
    if (pool->idle == NULL || pool->queue.runnable > 0 || !may_run(pool) || !job_has_room(job)) {
        return false;
    }
    struct pool_thread *thread = pool->idle;
    queue_pass(&pool->queue, job);
    take_idle(pool, job);
    note_begun(pool, thread, job);
    return true;
}

/* End this thread's turn with a job: release the lock, and the reference unless the job is queued
 * again. */
static void end_turn(struct pool *pool, struct job *job, enum job_end end) {
    if (end == JOB_ENDED) {
        pool_leave_live(pool, job);
    }
    pool_check(pool);
    pool_release(pool);
    if (end == JOB_ENDED) {
        pool_deliver(job);
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
                                    job->length, &job->call.cancelled, &error)
                      : 0;
    lock_take(&pool->lock);
    pool->nesting--;
    pool->asking--;
    enum job_end end = begins ? job_answer(job, code, &error) : JOB_WAS_OVER;
    if (end == JOB_GOES_ON) {
        pool_put(pool, job);
    }
    pool_wake_next(pool);
    end_turn(pool, job, end);
}

/* A tool whose call was given up has returned. After the pool was closed, the memory of pool,
 * plugin and job is not freed: nothing of the host may be used any more. */
static void come_back(struct pool *pool, struct job *job) {
    lock_take(&pool->lock);
    bool closing = pool->closing;
    if (closing) {
        job->queue_next = pool->left;
        pool->left = job;
    } else {
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
        pool_tell_plugin(job, TOOLRACK_EVENT_RECOVERED, NULL);
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
        int code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s", pool_asking_full);
        error_set_tool(err, toolrack_tool_name(job->tool));
        return code;
    }
    pool->asking += asks;
    pool->asking -= job->asks;
    return 0;
}

/* A job has a tool whose plugin was copied, or (code < 0) ends without. */
static enum job_end leave_copying(struct pool *pool, struct job *job, struct toolrack_tool *tool,
                                  int code, struct toolrack_error *error) {
    LOCK_ASSERT_HELD(&pool->lock);
    bool asks = code == 0 && !call_is_free(tool);
    queue_leave(&pool->queue, job); /* of the plugin that it had */
    if (code == 0) {
        code = plugin_have_parties(tool->reg->plugin) ? count_question(pool, job, asks, error)
                                                      : error_oom(error);
    }
    if (code < 0) {
        pool->asking -= job->asks;
        return job_finish(job, code, NULL, error);
    }
    enum job_end end = job_take_tool(job, tool);
    if (end != JOB_GOES_ON) {
        pool->asking -= asks;
        return end;
    }
    job->asks = asks;
    free(job->name);
    job->name = NULL;
    pool_put(pool, job);
    return end;
}

/* Wait for the copy of the file of its plugin. The reference is released, or queued again with the
 * job. */
static void copy_for(struct pool *pool, struct job *job) {
    struct toolrack_error error = {0};
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_tool_ref(job->tool);
    enum job_end end = JOB_WAS_OVER;
    bool begins = job_begin(job, JOB_COPYING);
    const char *name = job->name[0] != '\0' ? job->name : NULL;
    int code = begins ? call_stage(pool->host, name, &tool, &job->call.options, &job->time,
                                   &job->call.cancelled, &error)
                      : 0;
    lock_take(&pool->lock);
    if (begins) {
        end = leave_copying(pool, job, tool, code, &error);
    } else {
        queue_leave(&pool->queue, job);
        pool->asking -= job->asks;
    }
    pool_wake_next(pool); /* other jobs of its plugin may run now */
    end_turn(pool, job, end);
}

/* Note how long a thread was busy with a job that has just ended. */
static void note_run(struct pool_thread *thread, const struct job *job) {
    uint64_t from_ns = thread->from_ns > job->queued_ns ? thread->from_ns : job->queued_ns;
    registration_note_run(job->tool->reg, job->ended_ns - from_ns <= QUICK_NS);
    thread->from_ns = job->ended_ns;
}

/* Run a job. Returns how it has ended. */
static enum job_end run_tool(struct job *job) {
    if (!job_begin(job, JOB_READY)) {
        return JOB_WAS_OVER;
    }
    struct toolrack_result *result = NULL;
    struct toolrack_error error; /* large, and written if the call fails */
    pool_running = job;
    int code = call_run(&job->call, job->arguments, job->length, &result, &error);
    pool_running = NULL;
    return job_finish(job, code, result, &error);
}

/* A thread does not run a job any more. */
static void note_ended(struct pool *pool, struct pool_thread *thread, const struct job *job,
                       bool by_thread) {
    queue_leave(&pool->queue, job);
    pool->progress++;
    if (by_thread) {
        note_run(thread, job);
    }
}

/* Run a job, wait for its copy or ask about it; the reference is released, or queued again with the
 * job.
 * @param ret_waited  receives the job, unless it was NULL, for which note_ended() and
 *                    job_hand_back() are still to be called: a caller waits for it
 * @return false: this thread was given up and is to end */
static bool run_job(struct pool *pool, struct pool_thread *thread, struct job *job,
                    struct job **ret_waited) {
    if (job->name != NULL) {
        copy_for(pool, job);
        return true;
    }
    if (job->asks) {
        ask_about(pool, job);
        return true;
    }
    enum job_end end = run_tool(job);
    if (end == JOB_LOST) {
        come_back(pool, job);
        return false;
    }
    if (end == JOB_ENDED && job->done == NULL) {
        *ret_waited = job;
        return true;
    }
    lock_take(&pool->lock);
    note_ended(pool, thread, job, end == JOB_ENDED);
    if (job->done != NULL) {
        begin_soon(pool); /* another job may run now; this thread delivers first */
    }
    end_turn(pool, job, end);
    return true;
}

/* The next job to run, or to ask about. Caller holds pool->lock. */
static struct job *take_job(struct pool *pool, const struct pool_thread *thread) {
    struct job *job = may_run(pool) ? queue_take(&pool->queue, &thread->own) : NULL;
    if (job != NULL && job_asks_next(job)) {
        pool->nesting++; /* this thread will wait; another may take its place */
    }
    return job;
}

/* Release the lock, and hand the thread's last job back, if a caller waits for it: not before,
 * since a caller that calls again at once shall find the thread in `idle` and the lock free. */
static void release_and_hand_back(struct pool *pool, struct job **waited) {
    struct job *job = STEAL(*waited);
    pool_check(pool);
    pool_release(pool);
    if (job != NULL) {
        job_hand_back(job);
    }
}

/* Take what a source has. Caller holds pool->lock, which is released meanwhile. */
static void serve(struct pool *pool, struct pool_thread *thread, struct pool_source *source,
                  struct job **waited) {
    source->is_served = true;
    thread->source = source;
    begin_soon(pool); /* another source may be free */
    release_and_hand_back(pool, waited);
    pool_serving = thread;
    bool goes_on = source->take(source->user);
    pool_serving = NULL;
    uint64_t now = clock_now_ns();
    lock_take(&pool->lock);
    source->is_served = false;
    source->free_ns = thread->from_ns = now;
    pool->progress++;
    if (!goes_on || source->is_ended) {
        source->is_ended = true;
        (void)pthread_cond_broadcast(&pool->quiet); /* it may be gone from here on */
    }
}

/* Wait until there may be something to do. Caller holds pool->lock, which is released.
 * @return the job that the thread was given; NULL: it is to look, and has the lock again */
static struct job *rest(struct pool *pool, struct pool_thread *thread, struct job **waited,
                        bool spins) {
    wakeup_reset(&thread->wakeup);
    thread->idle_next = pool->idle;
    pool->idle = thread;
    pool->idle_count++;
    (void)pthread_cond_broadcast(&pool->quiet);
    release_and_hand_back(pool, waited);
    if (spins && spin_worthwhile(&pool->job_spin) &&
        !atomic_exchange_explicit(&pool->spinning, true, memory_order_relaxed)) {
        (void)spin_while(&pool->job_spin, &thread->wakeup.word, WAKEUP_NONE);
        atomic_store_explicit(&pool->spinning, false, memory_order_relaxed);
    }
    (void)wakeup_wait(&thread->wakeup, 0);
    thread->from_ns = clock_now_ns();
    if (thread->given == NULL) {
        lock_take(&pool->lock);
        pool->waking = false;
    }
    return thread->given;
}

/* The next job of a thread; NULL: the pool is closed.
 * @param waited  that it has just run, as from run_job(); NULL: none */
static struct job *next_job(struct pool *pool, struct pool_thread *thread, struct job *waited) {
    lock_take(&pool->lock);
    if (waited != NULL) {
        note_ended(pool, thread, waited, true);
        pool_leave_live(pool, waited);
    }
    if (thread->is_new) {
        thread->is_new = false;
        pool->waking = false;
    }
    pool->busy -= thread->is_busy;
    thread->is_busy = false;
    bool spins = true; /* once: it found nothing when it spun last */
    struct job *job;
    while ((job = take_job(pool, thread)) == NULL && !pool->closing) {
        struct pool_source *source = next_source(pool, thread);
        if (source != NULL) {
            serve(pool, thread, source, &waited);
            spins = true;
        } else if ((job = rest(pool, thread, &waited, spins)) != NULL) {
            return job;
        } else {
            spins = false;
        }
    }
    if (job != NULL) {
        note_begun(pool, thread, job);
    }
    release_and_hand_back(pool, &waited);
    return job;
}

static void *thread_main(void *argument) {
    struct pool_thread *thread = argument;
    struct pool *pool = thread->pool;
    struct job *waited = NULL;
    struct job *job;
    while ((job = next_job(pool, thread, STEAL(waited))) != NULL) {
        if (!run_job(pool, thread, job, &waited)) {
            free(thread);
            break;
        }
    }
    return NULL;
}
