#include "call/pool-parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "base/thread.h"

/* Longest spin: about what it takes to wake a thread. Twice that, with more tries, took 2 us from
 * every call while the scheduler kept both threads on one CPU. */
#define SPIN_NS_MAX 10000u

static const char no_thread[] = "the host cannot start a thread; the process may have too many";
static const char party_full[] =
        "2048 calls of this caller wait for a thread of the host, and no more "
        "of one caller may; try again later";
/* Half of all, so that there is room for others. */
#define PARTY_QUEUE_MAX (TOOLRACK_QUEUE_MAX / 2)
_Static_assert(PARTY_QUEUE_MAX == 2048, "party_full says the number");
const char pool_asking_full[] = "too many calls wait for somebody to permit them; try again later";

void pool_check(struct pool *pool) {
    LOCK_ASSERT_HELD(&pool->lock);
#ifndef NDEBUG
    const struct job *before = NULL;
    for (const struct job *job = pool->live; job != NULL; job = job->live_next) {
        OBJECT_CHECK(job, JOB_MAGIC);
        assert(job->live && job->live_prev == before && job->pool == pool);
        before = job;
    }
    uint32_t count = 0;
    for (const struct pool_thread *thread = pool->threads; thread != NULL; thread = thread->next) {
        count++;
    }
    assert(pool->thread_count == count);
    assert(pool->idle_count + pool->busy <= count);
    count = 0;
    for (const struct pool_thread *idle = pool->idle; idle != NULL; idle = idle->idle_next) {
        assert(!idle->is_busy);
        count++;
    }
    assert(pool->idle_count == count);
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

/* -------------------------------------------------------------------- inputs */

/* The tool of a job waits for an input, or has ended that: meanwhile another thread may take the
 * place of this one; then its deadline has moved, unless it was cancelled. */
static void note_input(void *user, bool begins) {
    struct job *job = user;
    struct pool *pool = job->pool;
    lock_take(&pool->lock);
    pool->nesting += begins ? 1 : UINT32_MAX; /* wraps: one less */
    if (begins) {
        pool_wake_next(pool);
    } else if (job->done != NULL && !atomic_load(&job->call.cancelled)) {
        pool_watch_from(pool, job, job->call.run.deadline_ns);
    }
    pool_release(pool);
    if (!begins) {
        job_deadline_moved(job);
    }
}

/* ------------------------------------------------------------------ enqueue */

/* Queue a job, or give it to a thread; either has its own reference. */
static int enqueue(struct pool *pool, struct job *job, struct toolrack_error *err) {
    int code = TOOLRACK_E_LIMIT_EXCEEDED;
    const char *reason = NULL;
    lock_take(&pool->lock);
    bool is_watched = job->done == NULL || pool_start_watch(pool);
    bool is_first = pool->thread_count == 0;
    if (pool->stopping) {
        code = TOOLRACK_E_CANCELLED;
        reason = "the host is closing";
    } else if (pool->queue.count >= TOOLRACK_QUEUE_MAX) {
        reason = "too many calls wait for a thread of the host; try again later";
    } else if (job->party != PLUGIN_NOBODY && pool->queue.of[job->party] >= PARTY_QUEUE_MAX) {
        reason = party_full;
    } else if (job->asks && pool->asking >= POOL_ASKING_MAX) {
        reason = pool_asking_full;
    } else if (!is_watched || (is_first && !pool_start_thread(pool))) {
        reason = no_thread;
    } else {
        if (job->asks) { /* else that line of the cache stays unwritten */
            pool->asking++;
        }
        job->live = true;
        job->live_next = pool->live;
        if (pool->live != NULL) {
            pool->live->live_prev = job;
        }
        pool->live = job->done != NULL ? job_ref(job) : job;
        pool->waking |= is_first;
        (void)job_ref(job);
        if (job->done != NULL || !pool_give(pool, job)) {
            pool_put(pool, job);
        }
    }
    pool_check(pool);
    pool_release(pool);
    if (reason == NULL) {
        return 0;
    }
    (void)error_set(err, code, "%s", reason);
    error_set_tool(err, toolrack_tool_name(job->tool));
    return code;
}

uint32_t pool_waiting(struct pool *pool) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    LOCK_SCOPE(&pool->lock);
    return pool->queue.count;
}

/* ------------------------------------------------------------------ sources */

int pool_source_start(struct pool *pool, toolrack_take *take, void *user, struct pool_source **ret,
                      struct toolrack_error *err) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    struct pool_source *source = malloc(sizeof *source);
    if (source == NULL) {
        return error_oom(err);
    }
    *source = (struct pool_source){.magic = SOURCE_MAGIC,
                                   .pool = pool,
                                   .take = take,
                                   .user = user,
                                   .free_ns = clock_now_ns()};
    lock_take(&pool->lock);
    source->next = pool->sources;
    pool->sources = source;
    pool->source_count++;
    bool starts = !pool->stopping && pool_start_watch(pool) && pool_have_thread(pool);
    if (!starts) {
        pool->sources = source->next;
        pool->source_count--;
    }
    pool_check(pool);
    pool_release(pool);
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
    assert(pool_serving == NULL || pool_serving->pool != pool);
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
    struct pool *pool = aligned_alloc(_Alignof(struct pool), sizeof *pool);
    if (pool != NULL) {
        memset(pool, 0, sizeof *pool);
        pool->magic = POOL_MAGIC;
        pool->host = host;
        pool->cpu_count = thread_cpu_count();
        pool->threads_max = threads_max != 0 ? threads_max : POOL_THREADS_MAX;
        spin_init(&pool->job_spin, SPIN_NS_MAX);
        spin_init(&pool->outcome_spin, SPIN_NS_MAX);
        lock_init(&pool->lock);
        clock_cond_init(&pool->watch);
        clock_cond_init(&pool->quiet);
    }
    return pool;
}

/* Cancel all submitted jobs of a conversation, or (NULL) all jobs. */
static void cancel_live(struct pool *pool, const char *conversation) {
    for (;;) {
        lock_take(&pool->lock);
        struct job *job = pool->live;
        for (; job != NULL; job = job->live_next) {
            const char *own = job->call.options.conversation;
            if (!atomic_load(&job->call.cancelled) &&
                (conversation == NULL ||
                 (job->done != NULL && own != NULL && strcmp(own, conversation) == 0))) {
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

void pool_cancel_all(struct pool *pool) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    assert(pool_running == NULL || pool_running->pool != pool);
    assert(pool->sources == NULL);

    /* Callbacks that submit again are refused; otherwise this would never end. */
    lock_take(&pool->lock);
    pool->stopping = true;
    lock_release(&pool->lock);
    cancel_live(pool, NULL);
}

/* Caller holds the lock. */
static bool is_quiet(const struct pool *pool) {
    return pool->queue.count == 0 && pool->idle_count == pool->thread_count && pool->lost == 0;
}

bool pool_await_quiet(struct pool *pool, uint64_t until_ns) {
    const struct timespec until = clock_timespec(until_ns);
    LOCK_SCOPE(&pool->lock);
    while (!is_quiet(pool) && clock_now_ns() < until_ns) {
        (void)lock_wait_until(&pool->lock, &pool->quiet, &until);
    }
    return is_quiet(pool);
}

/* Give up the jobs that have not ended: their callers do, or the watch. Caller holds the lock. */
static void give_up_all(struct pool *pool) {
    for (struct job *job = pool->live; job != NULL; job = job->live_next) {
        if (job->done == NULL) {
            job_hurry(job);
        } else {
            job->watch_ns = POOL_WATCH_NOW;
        }
    }
    (void)pthread_cond_signal(&pool->watch);
    while (pool->live != NULL) {
        lock_wait(&pool->lock, &pool->quiet);
    }
}

bool pool_stop(struct pool *pool) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    assert(pool->stopping);
    lock_take(&pool->lock);
    give_up_all(pool);
    pool->closing = true;
    pool_wake_all(pool);
    pool_wake_woken(pool);
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
    LOCK_SCOPE(&pool->lock);
    while (pool->threads != NULL) {
        struct pool_thread *thread = pool->threads;
        pool_remove_thread(pool, thread);
        free(thread);
    }
    return pool->lost == 0;
}

void pool_destroy(struct pool *pool) {
    if (pool == NULL) {
        return;
    }
    OBJECT_WIPE(pool, POOL_MAGIC);
    (void)pthread_cond_destroy(&pool->watch);
    (void)pthread_cond_destroy(&pool->quiet);
    lock_finish(&pool->lock);
    free(pool);
}

/* -------------------------------------------------------------------- calls */

/* While a thread waits for a call that its tool made, another may take its place: otherwise the
 * called tools might find no thread to run on. */
static void nest(struct pool *pool, int by) {
    lock_take(&pool->lock);
    pool->nesting += (uint32_t)by;
    lock_release(&pool->lock);
}

void pool_nest(struct pool *pool, int by) {
    if (pool_running != NULL && pool_running->pool == pool) {
        nest(pool, by);
    }
}

static int no_memory_for(const struct toolrack_tool *tool, struct toolrack_error *err) {
    int code = error_oom(err);
    error_set_tool(err, toolrack_tool_name(tool));
    return code;
}

int pool_too_deep(const struct toolrack_tool *tool, struct toolrack_error *err) {
    int code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "tools call each other deeper than the %u allowed", POOL_DEPTH_MAX);
    error_set_tool(err, toolrack_tool_name(tool));
    return code;
}

int pool_call(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
              const struct toolrack_call_options *options, const struct call_time *time,
              struct toolrack_result **ret, struct toolrack_error *err) {
    OBJECT_CHECK(pool, POOL_MAGIC);
    assert(time->deadline_ms != 0 && !call_is_isolated(tool));
    unsigned depth =
            pool_running != NULL && pool_running->pool == pool ? pool_running->depth + 1 : 0;
    if (depth > POOL_DEPTH_MAX) {
        return pool_too_deep(tool, err);
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
        struct spin *spin = spin_worthwhile(&pool->outcome_spin) ? &pool->outcome_spin : NULL;
        bool is_back;
        while (!(is_back = job_wait(job, spin)) && !pool_give_up(job)) {
            spin = NULL; /* it has ended meanwhile, or its tool asks for an input */
        }
        if (is_back) {
            job_unref(job); /* in place of its thread */
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
    CALL_HOST_SCOPE(job->call.host);
    struct pool *pool = job->pool;
    lock_take(&pool->lock);
    struct plugin *plugin = job->tool->reg->plugin; /* the job may get another tool */
    uint64_t until_ns = job_interrupt(job);
    if (until_ns != UINT64_MAX && job->done == NULL) {
        job_deadline_moved(job);
    } else if (until_ns != UINT64_MAX) {
        until_ns = until_ns != 0 ? until_ns : POOL_WATCH_NOW;
        if (job->watch_ns == 0 || until_ns < job->watch_ns) {
            pool_watch_from(pool, job, until_ns);
        }
    }
    lock_release(&pool->lock);
    if (until_ns != UINT64_MAX) {
        plugin_wake(plugin, &job->call, false);
    }
}
