/* job.h - one call that runs on a thread of the pool: its states, and who makes each transition.
 *
 *     QUEUED --> READY --> LOADING --> READY --> RUNNING --> DONE       the thread
 *        \         \         \           \          \
 *         `---------`---------`-----------`----------`--> GIVEN_UP     the waiter or the watch
 *
 *     QUEUED --> ASKING --> QUEUED      the thread: the job may run
 *                      \--> DONE        the thread: the job may not run
 *                       `-> GIVEN_UP    the thread: the job was cancelled meanwhile
 *
 * ASKING comes first for a submitted call that is not free (call.h): somebody is asked whether it
 * may run, who may be a person. That takes as long as it takes: nobody gives the job up, its time
 * begins anew with the answer, and meanwhile another thread takes the place of this one. A call
 * that is waited for has been through that on the thread that waits.
 *
 * AWAY, in place of RUNNING, is with a worker, which ends in time by itself: nobody gives it up.
 * READY parses and checks, and may wait for a plugin that runs one call at a time; LOADING, which
 * only a plugin needs that is not loaded yet, and RUNNING are inside the plugin: in its open() and
 * in the tool. Whoever makes the last transition (DONE or GIVEN_UP) delivers the outcome, so it is
 * delivered exactly once. All transitions are made under the job's gate. */
#pragma once

#include "call/call.h"

struct pool;
struct pool_thread;

/* How long a cancelled call that runs may take to end by itself; then it is given up. */
#define JOB_CANCEL_GRACE_MS 1000u

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
    uint32_t magic; /* JOB_MAGIC */
    atomic_uint refs;
    struct pool *pool;
    struct toolrack_tool *tool; /* a reference */
    struct call call;
    struct call_gate gate;
    enum job_state state;   /* guarded by gate.lock, like the outcome */
    bool is_lost;           /* was given up while in its plugin; likewise */
    pthread_cond_t changed; /* the state is one of the last two */
    atomic_uint over; /* a hint for the thread that spins, set after the gate is free again: look */

    toolrack_done *done; /* NULL: somebody waits in pool_call() */
    void *user;
    bool asks;      /* it must be permitted before it runs */
    unsigned depth; /* of calls that tools made, around this one */

    int code;
    struct toolrack_result *result;
    struct toolrack_error error;

    struct job *queue_next; /* this and what follows is guarded by the pool's lock */
    struct job *live_next;
    struct job *live_prev;
    bool live;
    uint64_t watch_ns;          /* when the watch gives it up; 0 is never */
    struct pool_thread *thread; /* that runs it */

    uint32_t deadline_ms; /* of its deadline from its beginning; 0 is none */
    char *arguments;
    size_t length;
    char *strings; /* copies of the options' strings */
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
};
#define JOB_MAGIC 0x6a6f6221u

/** A job that is QUEUED, and in no queue yet.
 * @param arguments  copied, like the strings of the options
 * @return a reference; NULL when out of memory. [any-thread] */
struct job *job_create(struct pool *pool, const struct call_host *host, struct toolrack_tool *tool,
                       const char *arguments, size_t length,
                       const struct toolrack_call_options *options, uint32_t deadline_ms);
struct job *job_ref(struct job *job);
void job_unref(struct job *job);
CLEANUP_DEFINE(struct job, job_unref)

/** Whether it is DONE or GIVEN_UP. Caller holds gate.lock. */
static inline bool job_is_over(const struct job *job) {
    return job->state == JOB_DONE || job->state == JOB_GIVEN_UP;
}

/** Whether its plugin may hold one more thread of the pool. Caller holds the pool's lock. */
static inline bool job_has_room(const struct job *job) {
    const struct plugin *plugin = job->tool->reg->plugin;
    return plugin->pool_running < plugin->calls_max;
}

/** QUEUED to READY, or to ASKING. False: it was given up before. [call-thread] */
bool job_begin(struct job *job, enum job_state next);

/* What a transition has done to a job. */
enum job_end {
    JOB_GOES_ON, /* nothing; or, when somebody was asked: it is QUEUED again */
    JOB_ENDED,   /* made it end: its outcome is set, and to deliver it is the caller's */
    JOB_WAS_OVER,
    JOB_LOST /* it was given up inside its plugin, where its thread is on its own from then on */
};

/** From ASKING, to what the answer and a cancellation make of it: JOB_GOES_ON or JOB_ENDED.
 * @param code  whether it may run; negative: no, and `error` says why. [call-thread] */
enum job_end job_answer(struct job *job, int code, const struct toolrack_error *error);

/** To DONE, unless it was given up: JOB_ENDED, JOB_WAS_OVER or JOB_LOST. Takes the result over.
 * @param code  negative: it failed, and `error` says how. [call-thread] */
enum job_end job_finish(struct job *job, int code, struct toolrack_result *result,
                        const struct toolrack_error *error);

/** To GIVEN_UP, if it is time for that: JOB_ENDED, JOB_LOST (which ends it too), or JOB_GOES_ON.
 * Caller holds the pool's lock. [any-thread] */
enum job_end job_give_up(struct job *job);

/** After job_give_up() has ended it, without the pool's lock: whoever waits for the turn of its
 * plugin looks again. On return nothing that the caller gave it is in use any more. */
void job_left_behind(struct job *job, bool is_lost);

/** Ask a job to end, unless it is over. Caller holds the pool's lock.
 * @return when it is to be given up if it does not end by itself: at once if it has not begun;
 *         UINT64_MAX: it is over. [any-thread] */
uint64_t job_interrupt(struct job *job);

/** Wait until it is over, or until its deadline. Returns whether it is over. [call-thread] */
bool job_wait(struct job *job);
