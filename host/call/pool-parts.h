/* pool-parts.h - the struct of the pool, for its own files.
 *
 *   pool-calls.c     its life, sources, and calls on their way in
 *   pool-threads.c   the threads: what they do next, and how they do it
 *   pool-watch.c     the thread that gives up what takes too long, and outcomes
 */
#pragma once

#include "base/lock.h"
#include "base/spin.h"
#include "base/wakeup.h"
#include "call/pool.h"
#include "call/queue.h"

/* Invariants, checked by pool_check():
 *
 *  (1) `live` holds the jobs that have not ended. The thread that ends one takes it out. Of a
 *      submitted one the list has a reference, which that thread takes over, and it delivers the
 *      outcome; one for which a caller waits in pool_call() is the caller's.
 *  (2) `threads` holds the threads that are to be joined; a thread that is given up inside a plugin
 *      is removed from it and detached, counts in `lost` until it returns, and then ends.
 *  (3) Locks are taken in the order pool->lock, then job->gate.lock; callbacks of the app are
 *      called with no lock held.
 *  (4) A plugin's stuck count is the number of its LOADING and RUNNING jobs that became GIVEN_UP
 *      and whose function has not returned.
 *  (5) `idle` holds the threads that have nothing to do, the latest first: what it has used is in
 *      the cache of its CPU. Whoever takes one out wakes it up after the lock was released
 *      (`woken`, pool_release()), and may have given it a job, for which the thread does not need
 *      the lock. A thread goes in under the lock under which it found nothing to do, perhaps
 *      before it has handed its last job back: so the next call of the same caller finds it. At
 *      most one of them spins (`spinning`) before it sleeps.
 *  (6) While a job can run or a source is served by nobody, a thread is about to look: it is on its
 *      way (`waking`: it was taken from `idle` or started, and has not looked yet); or all that
 *      may exist are busy; or the watch ticks, and has one more wake up when no job has begun or
 *      ended for a tick. So many short jobs at once cost few wake-ups, and one that takes long
 *      delays no other: by a tick or two if its tool has been quick before, else not at all.
 *  (7) A source is served by one thread at a time, which runs the jobs that it brought before it
 *      serves it again, those of others after them: a short call costs no hand-over to another
 *      thread. For each source there
 *      may be one thread more than run jobs: while all jobs take long, messages are still read. */

struct pool_thread {
    struct pool_thread *next;
    struct pool_thread *prev;
    struct pool_thread *idle_next; /* in pool->idle, or in pool->woken */
    struct wakeup wakeup;          /* sent when it was taken from pool->idle */
    struct job *given;             /* with that, or NULL: it is to look itself */
    struct pool *pool;
    pthread_t thread;
    struct pool_source *source; /* that it has served last; perhaps gone, never looked into */
    struct queue_own own;       /* of the jobs that sources brought while it served them */
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
    bool is_ended;    /* it was said to have ended, or is being stopped */
    uint64_t free_ns; /* since when nobody serves it */
};
#define SOURCE_MAGIC 0x73726331u

/* What each call writes is on two lines of the cache, and on one more while threads spin: what the
 * lock guards and changes with every call is next to it. On six lines, in the order of the
 * subjects, a call with a deadline whose caller and thread have a CPU each took 960 ns where it
 * takes 885. More locks, one for each CPU, would gain nothing that could be measured on two CPUs:
 * two callers take the same 7.0 to 7.4 us of CPU time a call as one, with no switch of threads
 * more, and of that time taking and releasing the mutex is 1.2 %. `unit/lines` counts the lines. */
struct pool {
    uint32_t magic; /* POOL_MAGIC */
    uint32_t threads_max;
    uint32_t cpu_count;
    const struct call_host *host;
    pthread_cond_t watch; /* live changed, or closing */
    pthread_t watch_thread;

    _Alignas(64) struct spin job_spin; /* of an idle thread for the next job */
    struct spin outcome_spin;          /* of a caller for the end of its job */
    atomic_bool spinning;              /* a thread spins for the next job */

    _Alignas(64) struct lock lock; /* guards the members below, and `watch` */
    struct job *live;
    struct pool_thread *idle; /* of `threads`, the idle ones */
    uint32_t idle_count;
    uint32_t busy; /* of `threads`, the ones that have a job */
    /* The second line, up to the first members of the queue. */
    struct pool_thread *woken; /* taken from `idle`; pool_release() wakes them up */
    uint64_t progress;         /* jobs that began or ended, and turns of sources */
    uint32_t thread_count;     /* threads in `threads` */
    bool waking;               /* a thread was woken or started to look, and has not looked yet */
    bool stopping;             /* no job is taken any more */
    bool closing;              /* the threads end */
    bool watching;             /* the watch thread exists */
    struct queue queue;
    pthread_cond_t quiet; /* a thread became idle */
    uint32_t asking;      /* jobs that are ASKING or are queued for it */
    uint32_t nesting;     /* threads of the pool that wait for a call that a tool made, or for
                             permission */
    struct pool_thread *threads;
    struct pool_source *sources;
    uint32_t source_count;
    uint32_t lost;           /* threads given up that are still inside a plugin */
    uint32_t returning;      /* threads given up that have returned and still use the pool */
    unsigned ticks;          /* how often the watch looks and may find nothing to do; 0: it does
                              * not */
    struct job *left;        /* of threads that came back after that: never freed, which is no leak
                              * to be reported */
    uint64_t watch_until_ns; /* when it looks at the jobs again by itself; 0: it looks now */
    uint64_t seen_by_tick;   /* that progress */
};
#define POOL_MAGIC 0x706f6f6cu

/** The job that this thread of a pool runs. Its tool may call another tool. */
extern _Thread_local struct job *pool_running;
/** This thread, while it serves a source; NULL: it does not. */
extern _Thread_local struct pool_thread *pool_serving;

/** Why a job is refused that must be asked about. */
extern const char pool_asking_full[];

/** How long a source waits for the thread that served it last, and a job for a thread that runs
 * short ones before it while a CPU may be idle. */
#define POOL_LATE_NS 1000000u

/** How often the watch looks and finds nothing to do before it stops. */
#define POOL_TICKS_IN_VAIN 5u

/** A time of the monotonic clock that has passed. */
#define POOL_WATCH_NOW 1u

/** Check the invariants, in a debug build. Caller holds pool->lock, as for all of the following
 * that do not say otherwise. */
void pool_check(struct pool *pool);

/* ---------------------------------------------------------- pool-threads.c */

/** Start one more thread. False: none can be started. */
bool pool_start_thread(struct pool *pool);
/** Have a thread that serves a source which was just added: one that sleeps, as of a source that
 * has ended, else one more. Caller holds pool->lock. False: the system has none. */
bool pool_have_thread(struct pool *pool);
/** Take a thread out of those that are to be joined. */
void pool_remove_thread(struct pool *pool, struct pool_thread *thread);
/** Whether there is something to do for one more thread. */
bool pool_has_work(const struct pool *pool);
/** Have one more thread look, if there is something to do and none is on its way already: one that
 * sleeps, else a new one. */
void pool_wake_next(struct pool *pool);
/** Put a job, with its reference, into the queue. */
void pool_put(struct pool *pool, struct job *job);
/** Give a job, with its reference, to an idle thread, if it would be the next one to run anyway.
 * False: it goes into the queue. */
bool pool_give(struct pool *pool, struct job *job);
/** Wake up the threads that were taken from `idle`. With the lock only where that is rare: a thread
 * that runs at once would wait for the lock. */
void pool_wake_woken(struct pool *pool);
/** Take all idle threads from `idle`: the pool is closed. */
void pool_wake_all(struct pool *pool);
/** Release the lock, then do that. */
void pool_release(struct pool *pool);

/* ------------------------------------------------------------ pool-watch.c */

/** Start the watch, unless it was. */
bool pool_start_watch(struct pool *pool);
/** Have the watch look at a job in time. */
void pool_watch_from(struct pool *pool, struct job *job, uint64_t until_ns);
/** Give up a job whose time is over. False: it goes on, or has ended. Called without the lock, as
 * are the next two. */
bool pool_give_up(struct job *job);
/** Pass the outcome of a submitted job to its callback; a thread in pool_call() takes it itself.
 * Called once, by the thread that ended the job. */
void pool_deliver(struct job *job);
/** Before that: take it out of `live`, if it is there. Called with the lock. */
void pool_leave_live(struct pool *pool, struct job *job);
void pool_tell_plugin(struct job *job, enum toolrack_event_kind kind, const char *message);
