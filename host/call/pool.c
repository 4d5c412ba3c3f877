#include "call/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/spin.h"
#include "base/thread.h"

/* Invariants:
 *
 *  (1) Two queues hold the QUEUED jobs, each with a reference: `asks` those that may not run yet,
 *      `queue` all others. live holds the submitted jobs that are not DONE or GIVEN_UP, each with
 *      a reference.
 *  (2) workers holds the threads that are to be joined; a thread that is given up inside a plugin
 *      leaves it, is detached, counts in `lost` until it returns, and then ends.
 *  (3) Locks are taken in the order pool->lock, then job->gate.lock; callbacks of the app are
 *      called with no lock held.
 *  (4) A plugin's stuck count is the number of its LOADING and RUNNING jobs that became GIVEN_UP
 *      and whose function has not returned.
 *  (5) `runnable` is the number of queued jobs that dequeue() would give out one after the other;
 *      threads may be idle while others wait for a plugin that is busy. To ask needs no plugin.
 *  (6) One idle thread at most spins, with `spinning` set; it looks at the queue under the lock
 *      after that and before it sleeps, so that one job needs no signal. */

/* Longest spin: about what it takes to wake a thread. Twice that, with more tries, took 2 us from
 * every call while the scheduler kept both threads on one CPU. */
#define SPIN_NS_MAX 10000u

enum job_state {
    JOB_QUEUED,
    JOB_ASKING, /* whether it may run */
    JOB_READY,
    JOB_LOADING,
    JOB_RUNNING,
    JOB_AWAY, /* with a worker */
    JOB_DONE,
    JOB_GIVEN_UP
};

struct job {
    atomic_uint refs;
    struct pool *pool;
    struct toolrack_tool *tool; /* a reference */
    struct call call;
    struct call_gate gate;
    enum job_state state; /* guarded by gate.lock, like the outcome */
    pthread_cond_t changed;
    atomic_uint over; /* a hint for who spins, set after the gate is free again: look there */

    toolrack_done *done; /* NULL: somebody waits in pool_call() */
    void *user;
    int give_up_code; /* Timeout, or Cancelled after job_cancel() */

    int code;
    struct toolrack_result *result;
    struct toolrack_error error;

    struct job *queue_next;
    struct job *live_next;
    struct job *live_prev;
    bool live;
    uint64_t watch_ns; /* when the watch gives it up; 0 is never. Guarded by pool->lock */
#define WATCH_NOW 1

    bool asks;             /* it must be permitted before it runs */
    uint32_t deadline_ms;  /* of its deadline from its beginning; 0 is none */
    struct worker *worker; /* who runs it; guarded by pool->lock */
    unsigned depth;        /* of calls that tools made, around this one */
    bool lost;             /* was given up while in its plugin; guarded by gate.lock */
    char *arguments;
    size_t length;
    char *texts; /* copies of the options' texts */
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
};

/* One thread. */
struct worker {
    struct worker *next;
    struct worker *prev;
    struct pool *pool;
    pthread_t thread;
};

/* First come, first served. */
struct job_queue {
    struct job *first;
    struct job *last;
};

struct pool {
    const struct call_host *host;
    uint32_t threads_max;
    struct spin job_spin;     /* of an idle thread for the next job */
    struct spin outcome_spin; /* of a caller for the end of its job */
    atomic_uint offered;      /* a hint for the thread that spins: look at the queue */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;  /* a job was queued, or closing */
    pthread_cond_t watch; /* live changed, or closing */
    pthread_cond_t quiet; /* a thread became idle */
    struct job_queue queue;
    struct job_queue asks;
    uint32_t queued;   /* in both */
    uint32_t runnable; /* of those, whose plugins may hold a thread, and all that ask */
    uint32_t asking;   /* jobs that ask, or wait for that */
    struct job *live;
    struct worker *workers;
    uint32_t threads; /* in workers */
    uint32_t idle;    /* of those */
    uint32_t nesting; /* threads of the pool that wait: for a call that a tool made, for a person */
    bool spinning;    /* one of the idle ones does not sleep yet */
    uint32_t lost;
    uint32_t returning; /* were lost, and are on their way out */
    bool stopping;      /* takes no jobs any more */
    bool closing;       /* its threads end */
    bool watching;      /* the watch thread exists */
    pthread_t watch_thread;
};

/* What this thread, being one of a pool, runs. A tool in it may call another tool. */
static _Thread_local struct job *running;

/* -------------------------------------------------------------------- job */

static struct job *job_ref(struct job *job) {
    atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
    return job;
}

void job_unref(struct job *job) {
    if (job == NULL || atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    call_finish(&job->call);
    toolrack_result_free(job->result);
    toolrack_tool_unref(job->tool);
    (void)pthread_cond_destroy(&job->changed);
    (void)pthread_cond_destroy(&job->gate.left);
    (void)pthread_mutex_destroy(&job->gate.lock);
    free(job->arguments);
    free(job->texts);
    free(job);
}
CLEANUP_DEFINE(struct job, job_unref)

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *move_text(char **at, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    const char *start = *at;
    *at = stpcpy(*at, text) + 1;
    return start;
}

/* The options' texts must outlive a caller who gave up. */
static bool own_options(struct job *job) {
    struct toolrack_call_options *options = &job->call.options;
    char *at = malloc(size_of(options->caller) + size_of(options->channel) +
                      size_of(options->conversation) + size_of(options->trace) + 1);
    job->texts = at;
    if (at == NULL) {
        return false;
    }
    options->caller = move_text(&at, options->caller);
    options->channel = move_text(&at, options->channel);
    options->conversation = move_text(&at, options->conversation);
    options->trace = move_text(&at, options->trace);
    call_take_context(&job->call);
    return true;
}

static bool take_step(void *user, enum call_step step);

/* Its time begins. */
static void start_clock(struct job *job) {
    job->call.started_ns = clock_now_ns();
    if (job->deadline_ms != 0) {
        job->call.run.deadline_ns =
                job->call.started_ns + (uint64_t)job->deadline_ms * CLOCK_NS_PER_MS;
    }
}

static struct job *job_create(struct pool *pool, struct toolrack_tool *tool, const char *arguments,
                              size_t length, const struct toolrack_call_options *options,
                              uint32_t deadline_ms) {
    struct job *job = malloc(sizeof *job);
    if (job == NULL) {
        return NULL;
    }
    memset(job, 0, offsetof(struct job, memory));
    atomic_init(&job->refs, 1);
    job->pool = pool;
    job->tool = toolrack_tool_ref(tool);
    job->state = JOB_QUEUED;
    job->give_up_code = TOOLRACK_E_TIMEOUT;
    (void)pthread_mutex_init(&job->gate.lock, NULL);
    (void)pthread_cond_init(&job->gate.left, NULL);
    clock_cond_init(&job->changed);
    call_init(&job->call, pool->host, tool, options, job->memory, sizeof job->memory);
    job->call.gate = &job->gate;
    job->call.crew_lock = &job->gate.lock;
    job->call.step = take_step;
    job->call.step_user = job;
    job->deadline_ms = deadline_ms;
    start_clock(job);
    job->arguments = malloc(length + 1);
    if (job->arguments == NULL || !own_options(job)) {
        job_unref(job);
        return NULL;
    }
    if (length > 0) {
        memcpy(job->arguments, arguments, length);
    }
    job->arguments[length] = '\0';
    job->length = length;
    return job;
}

static bool is_over(const struct job *job) {
    return job->state == JOB_DONE || job->state == JOB_GIVEN_UP;
}

static bool is_in_plugin(const struct job *job) {
    return job->state == JOB_LOADING || job->state == JOB_RUNNING;
}

/* READY, LOADING or RUNNING, unless it was given up or cancelled meanwhile. */
static bool take_step(void *user, enum call_step step) {
    static const enum job_state states[] = {[CALL_LOADS] = JOB_LOADING,
                                            [CALL_PREPARES] = JOB_READY,
                                            [CALL_RUNS] = JOB_RUNNING,
                                            [CALL_WAITS] = JOB_AWAY};
    struct job *job = user;
    (void)pthread_mutex_lock(&job->gate.lock);
    bool goes_on = !is_over(job);
    if (goes_on) {
        goes_on = !atomic_load(&job->call.cancelled);
        job->state = goes_on ? states[step] : JOB_READY;
    }
    (void)pthread_mutex_unlock(&job->gate.lock);
    return goes_on;
}

static void tell_plugin(struct job *job, enum toolrack_event_kind kind, const char *message) {
    const struct call_host *host = job->pool->host;
    if (host->event != NULL) {
        host->event(host->user, kind, job->tool->reg->plugin, message);
    }
}

/* ----------------------------------------------------------- the live list */

static void live_add(struct pool *pool, struct job *job) {
    job->live = true;
    job->live_next = pool->live;
    if (pool->live != NULL) {
        pool->live->live_prev = job;
    }
    pool->live = job_ref(job);
}

/* Caller holds pool->lock; the list's reference is given to the caller to release. */
static bool live_remove(struct pool *pool, struct job *job) {
    if (!job->live) {
        return false;
    }
    job->live = false;
    if (job->live_prev != NULL) {
        job->live_prev->live_next = job->live_next;
    } else {
        pool->live = job->live_next;
    }
    if (job->live_next != NULL) {
        job->live_next->live_prev = job->live_prev;
    }
    return true;
}

/* ------------------------------------------------------------------ fairness */

/* A plugin that is slow may not hold all threads: of each, no more jobs run than it can serve at
 * once, and others pass by those that wait. */
static bool may_hold_thread(const struct plugin *plugin) {
    return plugin->pool_running < plugin->calls_max;
}

static uint32_t runnable_of(const struct plugin *plugin) {
    uint32_t room = may_hold_thread(plugin) ? plugin->calls_max - plugin->pool_running : 0;
    return plugin->pool_queued < room ? plugin->pool_queued : room;
}

/* Note a change in how many jobs of a plugin are queued and run. Caller holds pool->lock. */
static void count_jobs(struct pool *pool, struct plugin *plugin, int queued, int begun) {
    pool->runnable -= runnable_of(plugin);
    plugin->pool_queued += (uint32_t)queued;
    plugin->pool_running += (uint32_t)begun;
    pool->runnable += runnable_of(plugin);
    pool->queued += (uint32_t)queued;
}

/* ---------------------------------------------------------------- threads */

static void *worker_main(void *argument);

static void worker_add(struct pool *pool, struct worker *worker) {
    worker->next = pool->workers;
    if (pool->workers != NULL) {
        pool->workers->prev = worker;
    }
    pool->workers = worker;
    pool->threads++;
}

static void worker_remove(struct pool *pool, struct worker *worker) {
    if (worker->prev != NULL) {
        worker->prev->next = worker->next;
    } else {
        pool->workers = worker->next;
    }
    if (worker->next != NULL) {
        worker->next->prev = worker->prev;
    }
    pool->threads--;
}

/* Start a thread when more jobs wait than threads. Caller holds pool->lock. */
static void start_worker(struct pool *pool) {
    if (pool->closing || pool->runnable <= pool->idle ||
        pool->threads >= pool->threads_max + pool->nesting) {
        return;
    }
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        return;
    }
    worker->pool = pool;
    if (thread_start(&worker->thread, worker_main, worker) != 0) {
        free(worker);
        return;
    }
    worker_add(pool, worker);
}

/* ---------------------------------------------------------------- outcome */

/* Hand the outcome of a submitted job to its callback; who waits in pool_call() takes it. Called
 * once, by who ended the job. */
static void deliver(struct job *job) {
    struct pool *pool = job->pool;
    if (job->done == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    bool was_live = live_remove(pool, job);
    if (pool->stopping) {
        (void)pthread_cond_broadcast(&pool->quiet);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    struct toolrack_result *result = job->result;
    job->result = NULL;
    job->done(job->user, result, job->code < 0 ? &job->error : NULL);
    if (was_live) {
        job_unref(job);
    }
}

/* What a call was doing that did not end in time. */
static const char *state_words(const struct job *job) {
    switch (job->state) {
    case JOB_QUEUED:
        return may_hold_thread(job->tool->reg->plugin)
                       ? "; the host was too busy to begin it"
                       : "; its plugin was busy with other calls, as many as it can serve at once";
    case JOB_READY: return "; it had not begun";
    case JOB_LOADING: return "; its plugin is still being loaded";
    default: return "";
    }
}

static void describe_give_up(struct job *job) {
    const char *name = toolrack_tool_name(job->tool);
    job->code = job->give_up_code;
    if (job->code == TOOLRACK_E_CANCELLED) {
        (void)error_set(&job->error, job->code, "the call of '%s' was cancelled%s", name,
                        is_in_plugin(job) ? "; the tool still runs" : "");
    } else {
        (void)call_late(&job->call, state_words(job), &job->error);
    }
    error_set_tool(&job->error, name);
}

/* The thread inside the tool is on its own now; another may take its place. Caller holds
 * pool->lock. */
static void lose_worker(struct pool *pool, struct job *job) {
    job->lost = true;
    count_jobs(pool, job->tool->reg->plugin, 0, -1);
    atomic_fetch_add(&job->tool->reg->plugin->stuck, 1);
    worker_remove(pool, job->worker);
    (void)pthread_detach(job->worker->thread);
    pool->lost++;
    start_worker(pool);
    (void)pthread_cond_signal(&pool->work); /* its plugin may have a job in the queue */
}

/* Until then what the job's owner gave it may be in use. */
static void wait_until_left(struct call_gate *gate) {
    (void)pthread_mutex_lock(&gate->lock);
    while (gate->inside > 0) {
        (void)pthread_cond_wait(&gate->left, &gate->lock);
    }
    (void)pthread_mutex_unlock(&gate->lock);
}

/* Whether a job is one to give up now. Of a submitted one the time may have begun anew since the
 * watch found it to be over. */
static bool may_give_up(const struct job *job) {
    bool is_due = job->done == NULL || atomic_load(&job->call.cancelled) ||
                  (job->call.run.deadline_ns != 0 && clock_now_ns() >= job->call.run.deadline_ns);
    return is_due && !is_over(job) && job->state != JOB_AWAY && job->state != JOB_ASKING;
}

/* End a job that is not over. Returns whether this call ended it: then its outcome is set, and
 * delivering it is the caller's. */
static bool give_up(struct job *job) {
    struct pool *pool = job->pool;
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_mutex_lock(&job->gate.lock);
    bool ends = may_give_up(job);
    if (ends) {
        atomic_store(&job->call.cancelled, true);
        describe_give_up(job);
        (void)call_record(&job->call, job->arguments, job->length, NULL, &job->error, NULL);
        if (is_in_plugin(job)) {
            lose_worker(pool, job);
        }
        job->state = JOB_GIVEN_UP;
        job->gate.closed = true;
        (void)pthread_cond_broadcast(&job->changed);
    }
    bool lost = ends && job->lost;
    (void)pthread_mutex_unlock(&job->gate.lock);
    (void)pthread_mutex_unlock(&pool->lock);
    if (ends) {
        atomic_store_explicit(&job->over, 1, memory_order_release);
        plugin_wake(job->tool->reg->plugin, &job->call, lost);
        wait_until_left(&job->gate);
    }
    if (lost) {
        tell_plugin(job, TOOLRACK_EVENT_STUCK,
                    "a call did not return in time; its thread was given up and still runs");
    }
    return ends;
}

/* ------------------------------------------------------------ running jobs */

/* A tool returned whose call was given up. After the pool was closed its memory, the plugin's and
 * the job's are left as they are: nothing of the host may be touched any more. */
static void come_back(struct pool *pool, struct job *job) {
    (void)pthread_mutex_lock(&pool->lock);
    bool closing = pool->closing;
    if (!closing) {
        pool->lost--;
        pool->returning++; /* closing waits for this thread from here on */
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (closing) {
        return;
    }
    if (atomic_fetch_sub(&job->tool->reg->plugin->stuck, 1) == 1) {
        tell_plugin(job, TOOLRACK_EVENT_RECOVERED, NULL);
    }
    job_unref(job);
    (void)pthread_mutex_lock(&pool->lock);
    pool->returning--;
    (void)pthread_cond_broadcast(&pool->quiet);
    (void)pthread_mutex_unlock(&pool->lock);
}

static bool begin_job(struct job *job) {
    (void)pthread_mutex_lock(&job->gate.lock);
    bool begins = job->state == JOB_QUEUED;
    if (begins) {
        job->state = JOB_READY;
    }
    (void)pthread_mutex_unlock(&job->gate.lock);
    return begins;
}

/* DONE, unless it was given up. Takes the result over. */
static bool end_job(struct job *job, int code, struct toolrack_result *result,
                    const struct toolrack_error *error) {
    (void)pthread_mutex_lock(&job->gate.lock);
    bool ends = job->state != JOB_GIVEN_UP;
    if (ends) {
        uint64_t duration_ns = call_record(&job->call, job->arguments, job->length, result, error,
                                           &job->call.cost);
        if (result != NULL) {
            result->duration_ns = duration_ns;
        }
        job->state = JOB_DONE;
        job->code = code;
        job->result = result;
        if (code < 0) {
            job->error = *error;
        }
        (void)pthread_cond_broadcast(&job->changed);
    }
    (void)pthread_mutex_unlock(&job->gate.lock);
    atomic_store_explicit(&job->over, 1, memory_order_release);
    if (!ends) {
        toolrack_result_free(result);
    }
    return ends;
}

/* The plugin may hold another thread now. */
static void leave_plugin(struct pool *pool, struct job *job) {
    (void)pthread_mutex_lock(&pool->lock);
    if (!job->lost) {
        count_jobs(pool, job->tool->reg->plugin, 0, -1);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

static void ask_for_job(struct pool *pool, struct job *job);

/* Run a job; its reference is released. False: this thread was given up and is to end. */
static bool run_job(struct pool *pool, struct job *job) {
    if (job->asks) {
        ask_for_job(pool, job);
        return true;
    }
    if (begin_job(job)) {
        struct toolrack_result *result = NULL;
        struct toolrack_error error = {0};
        running = job;
        int code = call_run(&job->call, job->arguments, job->length, &result, &error);
        running = NULL;
        bool ends = end_job(job, code, result, &error);
        leave_plugin(pool, job);
        if (ends) {
            deliver(job);
        } else if (job->lost) {
            come_back(pool, job);
            return false;
        }
    } else {
        leave_plugin(pool, job);
    }
    job_unref(job);
    return true;
}

/* Take a job out of a queue, of which `before` is the one before it or NULL. */
static void queue_remove(struct job_queue *queue, struct job *before, struct job *job) {
    *(before != NULL ? &before->queue_next : &queue->first) = job->queue_next;
    if (queue->last == job) {
        queue->last = before;
    }
    job->queue_next = NULL;
}

/* A job that asks. Its thread will wait: another may take the place. Caller holds pool->lock. */
static struct job *dequeue_asking(struct pool *pool) {
    struct job *job = pool->asks.first;
    queue_remove(&pool->asks, NULL, job);
    pool->queued--;
    pool->runnable--;
    pool->nesting++;
    start_worker(pool);
    return job;
}

/* The first job whose plugin may hold one more thread. Caller holds pool->lock. */
static struct job *dequeue(struct pool *pool) {
    if (pool->asks.first != NULL) {
        return dequeue_asking(pool);
    }
    struct job *before = NULL;
    struct job *job = pool->runnable == 0 ? NULL : pool->queue.first;
    while (job != NULL && !may_hold_thread(job->tool->reg->plugin)) {
        before = job;
        job = job->queue_next;
    }
    if (job == NULL) {
        return NULL;
    }
    queue_remove(&pool->queue, before, job);
    count_jobs(pool, job->tool->reg->plugin, -1, +1);
    return job;
}

/* Caller holds pool->lock, which is released meanwhile. */
static void spin_for_job(struct pool *pool) {
    pool->spinning = true;
    atomic_store_explicit(&pool->offered, 0, memory_order_relaxed);
    (void)pthread_mutex_unlock(&pool->lock);
    (void)spin_while(&pool->job_spin, &pool->offered, 0);
    (void)pthread_mutex_lock(&pool->lock);
    pool->spinning = false;
}

static struct job *next_job(struct pool *pool, struct worker *worker) {
    (void)pthread_mutex_lock(&pool->lock);
    struct job *job = dequeue(pool);
    bool has_slept = false;
    while (job == NULL && !pool->closing) {
        pool->idle++;
        (void)pthread_cond_broadcast(&pool->quiet);
        if (!has_slept && !pool->spinning && spin_worthwhile(&pool->job_spin)) {
            spin_for_job(pool);
        }
        if (pool->runnable == 0 && !pool->closing) {
            (void)pthread_cond_wait(&pool->work, &pool->lock);
            has_slept = true;
        }
        pool->idle--;
        job = dequeue(pool);
    }
    if (job != NULL) {
        job->worker = worker;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return job;
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    struct job *job;
    while ((job = next_job(pool, worker)) != NULL) {
        if (!run_job(pool, job)) {
            free(worker);
            break;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- the watch */

/* The next job to give up by now, with a reference; or when to look again (0: when told). Caller
 * holds pool->lock. */
static struct job *expired(struct pool *pool, uint64_t *ret_next_ns) {
    uint64_t now = clock_now_ns();
    *ret_next_ns = 0;
    for (struct job *job = pool->live; job != NULL; job = job->live_next) {
        if (job->watch_ns == 0) {
            continue;
        }
        if (job->watch_ns <= now) {
            job->watch_ns = 0;
            return job_ref(job);
        }
        if (*ret_next_ns == 0 || job->watch_ns < *ret_next_ns) {
            *ret_next_ns = job->watch_ns;
        }
    }
    return NULL;
}

static void *watch_main(void *argument) {
    struct pool *pool = argument;
    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        uint64_t next_ns;
        struct job *job = expired(pool, &next_ns);
        if (job != NULL) {
            (void)pthread_mutex_unlock(&pool->lock);
            if (give_up(job)) {
                deliver(job);
            }
            job_unref(job);
            (void)pthread_mutex_lock(&pool->lock);
        } else if (next_ns == 0) {
            (void)pthread_cond_wait(&pool->watch, &pool->lock);
        } else {
            struct timespec until = clock_timespec(next_ns);
            (void)pthread_cond_timedwait(&pool->watch, &pool->lock, &until);
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Caller holds pool->lock. */
static bool start_watch(struct pool *pool) {
    if (!pool->watching) {
        pool->watching = thread_start(&pool->watch_thread, watch_main, pool) == 0;
    }
    return pool->watching;
}

/* ------------------------------------------------------------------ enqueue */

static int refuse_job(struct toolrack_error *err, struct job *job, int code, const char *reason) {
    (void)error_set(err, code, "%s", reason);
    error_set_tool(err, toolrack_tool_name(job->tool));
    return code;
}

static const char no_thread[] = "the host cannot start a thread; the process may have too many";

/* Why a job is not queued, or NULL. Caller holds pool->lock. */
static const char *reason_to_refuse(struct pool *pool, const struct job *job, int *ret_code) {
    *ret_code = TOOLRACK_E_LIMIT_EXCEEDED;
    if (pool->stopping) {
        *ret_code = TOOLRACK_E_CANCELLED;
        return "the host is closing";
    }
    if (pool->queued >= TOOLRACK_QUEUE_MAX) {
        return "too many calls wait for a thread of the host; try again later";
    }
    if (job->asks && pool->asking >= POOL_ASKING_MAX) {
        return "too many calls wait for somebody to permit them; try again later";
    }
    return job->done != NULL && !start_watch(pool) ? no_thread : NULL;
}

/* Note a change in how many jobs wait in the queue of a job. Caller holds pool->lock. */
static void count_queued(struct pool *pool, const struct job *job, int queued) {
    if (job->asks) {
        pool->queued += (uint32_t)queued;
        pool->runnable += (uint32_t)queued;
        pool->asking += (uint32_t)queued;
    } else {
        count_jobs(pool, job->tool->reg->plugin, queued, 0);
    }
}

/* Put a job, with its reference, into its queue, where it is counted already. Returns whether the
 * thread that spins sees it, once it is told. Caller holds pool->lock. */
static bool queue_add(struct pool *pool, struct job *job) {
    struct job_queue *queue = job->asks ? &pool->asks : &pool->queue;
    *(queue->last != NULL ? &queue->last->queue_next : &queue->first) = job;
    queue->last = job;
    if (job->done != NULL) {
        job->watch_ns = job->call.run.deadline_ns;
        (void)pthread_cond_signal(&pool->watch);
    }
    bool is_seen = pool->spinning && pool->runnable == 1;
    if (!is_seen) {
        (void)pthread_cond_signal(&pool->work);
    }
    return is_seen;
}

static void tell_spinning(struct pool *pool, bool is_seen) {
    if (is_seen) {
        atomic_store_explicit(&pool->offered, 1, memory_order_release);
    }
}

/* Queue a job, with a reference of the queue's own. */
static int enqueue(struct pool *pool, struct job *job, struct toolrack_error *err) {
    int code;
    bool is_seen = false; /* by the thread that spins */
    (void)pthread_mutex_lock(&pool->lock);
    const char *reason = reason_to_refuse(pool, job, &code);
    if (reason == NULL) {
        count_queued(pool, job, +1);
        start_worker(pool);
        if (pool->threads == 0) {
            count_queued(pool, job, -1);
            reason = no_thread;
        }
    }
    if (reason == NULL) {
        if (job->done != NULL) {
            live_add(pool, job);
        }
        is_seen = queue_add(pool, job_ref(job));
    }
    (void)pthread_mutex_unlock(&pool->lock);
    tell_spinning(pool, is_seen);
    return reason == NULL ? 0 : refuse_job(err, job, code, reason);
}

/* ------------------------------------------------------------------ asking */

static bool begin_asking(struct job *job) {
    (void)pthread_mutex_lock(&job->gate.lock);
    bool begins = job->state == JOB_QUEUED;
    if (begins) {
        job->state = JOB_ASKING;
    }
    (void)pthread_mutex_unlock(&job->gate.lock);
    return begins;
}

/* Queued again, as one that may run, with its reference; its time begins anew. */
static void queue_permitted(struct pool *pool, struct job *job) {
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_mutex_lock(&job->gate.lock);
    bool cancelled = atomic_load(&job->call.cancelled);
    job->state = JOB_QUEUED;
    start_clock(job);
    (void)pthread_mutex_unlock(&job->gate.lock);
    job->asks = false;
    count_queued(pool, job, +1);
    bool is_seen = queue_add(pool, job);
    if (cancelled) {
        job->watch_ns = WATCH_NOW; /* just now */
    }
    start_worker(pool);
    (void)pthread_mutex_unlock(&pool->lock);
    tell_spinning(pool, is_seen);
}

/* This thread has not to wait for anybody any more. */
static void leave_asking(struct pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->nesting--;
    pool->asking--;
    (void)pthread_mutex_unlock(&pool->lock);
}

/* End a job that was cancelled while somebody was asked about it. */
static void end_cancelled(struct job *job) {
    (void)pthread_mutex_lock(&job->gate.lock);
    job->state = JOB_QUEUED;
    (void)pthread_mutex_unlock(&job->gate.lock);
    if (give_up(job)) {
        deliver(job);
    }
    job_unref(job);
}

/* End a job that may not run. */
static void end_refused(struct job *job, int code, const struct toolrack_error *error) {
    if (end_job(job, code, NULL, error)) {
        deliver(job);
    }
    job_unref(job);
}

/* Ask whether a job may run; its reference is released, or goes on with it. */
static void ask_for_job(struct pool *pool, struct job *job) {
    struct toolrack_error error = {0};
    bool asks = begin_asking(job);
    int code = asks ? call_permit(pool->host, job->tool, &job->call.options, job->arguments,
                                  job->length, &error)
                    : 0;
    leave_asking(pool);
    if (!asks) {
        job_unref(job); /* it was given up before */
    } else if (atomic_load(&job->call.cancelled)) {
        end_cancelled(job);
    } else if (code < 0) {
        end_refused(job, code, &error);
    } else {
        queue_permitted(pool, job);
    }
}

/* -------------------------------------------------------------------- life */

struct pool *pool_create(const struct call_host *host, uint32_t threads_max) {
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL) {
        pool->host = host;
        pool->threads_max = threads_max != 0 ? threads_max : POOL_THREADS_MAX;
        spin_init(&pool->job_spin, SPIN_NS_MAX);
        spin_init(&pool->outcome_spin, SPIN_NS_MAX);
        (void)pthread_mutex_init(&pool->lock, NULL);
        clock_cond_init(&pool->work);
        clock_cond_init(&pool->watch);
        clock_cond_init(&pool->quiet);
    }
    return pool;
}

static bool belongs_to(const struct job *job, const char *conversation) {
    const char *own = job->call.options.conversation;
    return conversation == NULL || (own != NULL && strcmp(own, conversation) == 0);
}

/* Any submitted job, of a conversation or (NULL) at all, that was not asked to end yet, with a
 * reference; or NULL. */
static struct job *first_uncancelled(struct pool *pool, const char *conversation) {
    (void)pthread_mutex_lock(&pool->lock);
    struct job *job = pool->live;
    while (job != NULL && (atomic_load(&job->call.cancelled) || !belongs_to(job, conversation))) {
        job = job->live_next;
    }
    if (job != NULL) {
        (void)job_ref(job);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return job;
}

static void cancel_live(struct pool *pool, const char *conversation) {
    struct job *job;
    while ((job = first_uncancelled(pool, conversation)) != NULL) {
        job_cancel(job);
        job_unref(job);
    }
}

void pool_cancel_conversation(struct pool *pool, const char *conversation) {
    assert(conversation != NULL);
    cancel_live(pool, conversation);
}

/* Callbacks that submit again are refused, or this would never end. */
static void cancel_all(struct pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    (void)pthread_mutex_unlock(&pool->lock);
    cancel_live(pool, NULL);
}

static void wait_until_quiet(struct pool *pool) {
    uint64_t until_ns = clock_now_ns() + (uint64_t)POOL_CLOSE_GRACE_MS * CLOCK_NS_PER_MS;
    struct timespec until = clock_timespec(until_ns);
    (void)pthread_mutex_lock(&pool->lock);
    while ((pool->queued > 0 || pool->idle < pool->threads || pool->lost > 0) &&
           clock_now_ns() < until_ns) {
        (void)pthread_cond_timedwait(&pool->quiet, &pool->lock, &until);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Let the watch give up what has not ended. */
static void end_all(struct pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    for (struct job *job = pool->live; job != NULL; job = job->live_next) {
        job->watch_ns = WATCH_NOW;
    }
    (void)pthread_cond_signal(&pool->watch);
    while (pool->live != NULL) {
        (void)pthread_cond_wait(&pool->quiet, &pool->lock);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

static void join_workers(struct pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_cond_broadcast(&pool->watch);
    while (pool->returning > 0) {
        (void)pthread_cond_wait(&pool->quiet, &pool->lock);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (pool->watching) {
        (void)pthread_join(pool->watch_thread, NULL);
    }
    while (pool->workers != NULL) {
        struct worker *worker = pool->workers;
        (void)pthread_join(worker->thread, NULL);
        worker_remove(pool, worker);
        free(worker);
    }
}

bool pool_destroy(struct pool *pool) {
    if (pool == NULL) {
        return true;
    }
    cancel_all(pool);
    wait_until_quiet(pool);
    end_all(pool);
    join_workers(pool);
    (void)pthread_mutex_lock(&pool->lock);
    bool abandoned = pool->lost > 0;
    (void)pthread_mutex_unlock(&pool->lock);
    if (abandoned) {
        return false; /* the threads still inside plugins will look at it when they return */
    }
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->watch);
    (void)pthread_cond_destroy(&pool->quiet);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
    return true;
}

/* -------------------------------------------------------------------- calls */

/* Whether it is over by its deadline. */
static bool wait_for(struct job *job) {
    struct spin *spin = &job->pool->outcome_spin;
    if (spin_worthwhile(spin)) {
        (void)spin_while(spin, &job->over, 0);
    }
    struct timespec until = clock_timespec(job->call.run.deadline_ns);
    (void)pthread_mutex_lock(&job->gate.lock);
    int timed_out = 0;
    while (!is_over(job) && timed_out != ETIMEDOUT) {
        timed_out = pthread_cond_timedwait(&job->changed, &job->gate.lock, &until);
    }
    bool over = is_over(job);
    (void)pthread_mutex_unlock(&job->gate.lock);
    return over;
}

static int no_memory_for(const struct toolrack_tool *tool, struct toolrack_error *err) {
    int code = error_oom(err);
    error_set_tool(err, toolrack_tool_name(tool));
    return code;
}

/* A thread that waits for the call of its own tool does nothing else: another may take its place,
 * or the tools called could find no thread to run on. */
static void nest(struct pool *pool, int by) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->nesting += (uint32_t)by;
    (void)pthread_mutex_unlock(&pool->lock);
}

static int run_and_wait(struct pool *pool, struct job *job, struct toolrack_error *err) {
    int code = enqueue(pool, job, err);
    if (code < 0) {
        return code;
    }
    if (!wait_for(job)) {
        (void)give_up(job); /* unless it has come to its end meanwhile */
    }
    if (job->code < 0) {
        *err = job->error;
    }
    return job->code;
}

int pool_call(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
              const struct toolrack_call_options *options, uint32_t deadline_ms,
              struct toolrack_result **ret, struct toolrack_error *err) {
    unsigned depth = running != NULL && running->pool == pool ? running->depth + 1 : 0;
    if (depth > POOL_DEPTH_MAX) {
        int code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "tools call each other deeper than the %u allowed", POOL_DEPTH_MAX);
        error_set_tool(err, toolrack_tool_name(tool));
        return code;
    }
    CLEANUP(job_unrefp)
    struct job *job = job_create(pool, tool, arguments, length, options, deadline_ms);
    if (job == NULL) {
        return no_memory_for(tool, err);
    }
    job->depth = depth;
    if (depth > 0) {
        nest(pool, 1);
    }
    int code = run_and_wait(pool, job, err);
    if (depth > 0) {
        nest(pool, -1);
    }
    if (code == 0) {
        *ret = STEAL(job->result);
    }
    return code;
}

/* For who does not want to know. */
static void drop_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)user;
    (void)err;
    toolrack_result_free(result);
}

int pool_submit(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
                const struct toolrack_call_options *options, uint32_t deadline_ms,
                toolrack_done *done, void *user, struct job **ret, struct toolrack_error *err) {
    CLEANUP(job_unrefp)
    struct job *job = job_create(pool, tool, arguments, length, options, deadline_ms);
    if (job == NULL) {
        return no_memory_for(tool, err);
    }
    job->done = done != NULL ? done : drop_outcome;
    job->user = user;
    job->asks = !call_is_free(tool);
    int code = enqueue(pool, job, err);
    if (code == 0 && ret != NULL) {
        *ret = STEAL(job);
    }
    return code;
}

void job_cancel(struct job *job) {
    struct pool *pool = job->pool;
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_mutex_lock(&job->gate.lock);
    bool over = is_over(job);
    if (!over) {
        job->give_up_code = TOOLRACK_E_CANCELLED;
        atomic_store(&job->call.cancelled, true);
        uint64_t until =
                job->state == JOB_QUEUED
                        ? WATCH_NOW
                        : clock_now_ns() + (uint64_t)POOL_CANCEL_GRACE_MS * CLOCK_NS_PER_MS;
        job->watch_ns = job->watch_ns != 0 && job->watch_ns < until ? job->watch_ns : until;
        call_interrupt(&job->call);
        (void)pthread_cond_signal(&pool->watch);
    }
    (void)pthread_mutex_unlock(&job->gate.lock);
    (void)pthread_mutex_unlock(&pool->lock);
    if (!over) {
        plugin_wake(job->tool->reg->plugin, &job->call, false);
    }
}
