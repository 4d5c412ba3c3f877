/* job.h - one call that runs on a thread of the pool: its states, and which thread makes each
 * transition.
 *
 *     QUEUED --> READY --> LOADING --> READY --> RUNNING --> DONE       the thread
 *        \         \         \           \          \
 *         `---------`---------`-----------`----------`--> GIVEN_UP     the waiter or the watch
 *
 *     QUEUED --> COPYING --> QUEUED     the thread: the file of its plugin was copied
 *                       \--> DONE       the thread: it could not be copied, or not in time
 *                        `-> GIVEN_UP   the thread: the job was cancelled meanwhile
 *
 *     QUEUED --> ASKING --> QUEUED      the thread: the job may run
 *                      \--> DONE        the thread: the job may not run
 *                       `-> GIVEN_UP    the thread: the job was cancelled meanwhile
 *
 * COPYING comes first for a submitted call whose plugin was not copied yet: the thread waits for
 * the copy and ends by the deadline by itself, so the job is not given up. The plugin may be
 * exchanged, and the job's tool with it.
 *
 * ASKING comes next for a submitted call that is not free (call.h): the host, perhaps a person, is
 * asked whether it may run. There is no time limit: the job is not given up, the time of the
 * question does not count, and meanwhile another thread takes the place of this one. For a call in
 * pool_call() the waiting thread has done both before.
 *
 * While its tool waits for an input (gate.asks), a job is given up only if it was cancelled.
 *
 * AWAY, in place of RUNNING: a worker runs the call and ends by the deadline by itself: the job is
 * not given up. READY parses and checks, and may wait for a plugin that runs one call at a time;
 * LOADING (only if the plugin is not loaded yet) and RUNNING are inside the plugin: in its open()
 * and in the tool. The thread that makes the last transition (DONE or GIVEN_UP) delivers the
 * outcome, so it is delivered exactly once. All transitions are made under the job's gate. */
#pragma once

#include "base/spin.h"
#include "base/wakeup.h"
#include "call/call.h"

struct pool;
struct pool_thread;
struct queue_own;

/* How long a cancelled call that runs may take to end by itself before it is given up. */
#define JOB_CANCEL_GRACE_MS 1000u

/* Arguments and strings of usual size. */
#define JOB_ROOM 1024u

enum job_state {
    JOB_QUEUED,
    JOB_COPYING, /* the file of its plugin */
    JOB_ASKING,  /* whether it may run */
    JOB_READY,
    JOB_LOADING,
    JOB_RUNNING,
    JOB_AWAY, /* with a worker */
    JOB_DONE,
    JOB_GIVEN_UP
};

/* What a call that succeeds touches is together, before the memory that it may need and the error:
 * with many calls at once that is how much memory they take. */
struct job {
    uint32_t magic; /* JOB_MAGIC */
    atomic_uint refs;
    struct pool *pool;
    struct toolrack_tool *tool;        /* a reference. job_take_tool() changes it under the pool's
                                          lock and the gate's, and keeps the old one */
    struct toolrack_tool *tool_before; /* a reference, or NULL */
    char *name; /* of the tool, as it was called ("": by a reference), if its plugin must be copied
                   first; else NULL.
                   Guarded by the pool's lock once the job is queued */
    struct call call;
    struct call_gate gate;
    enum job_state state; /* guarded by gate.lock, like the outcome */
    bool is_lost;         /* it was given up inside its plugin; guarded likewise */
    uint64_t give_up_ns;  /* when its waiting caller gives it up, since it was cancelled; 0: it was
                             not; guarded likewise */
    struct wakeup ended;  /* for the caller in pool_call(): sent when its thread has ended it and
                             does not use it any more, and when its deadline has moved */

    toolrack_done *done; /* NULL: a thread waits in pool_call() */
    void *user;
    bool asks;      /* it must be permitted before it runs */
    unsigned party; /* whose it is, below PLUGIN_PARTIES */
    unsigned depth; /* of nested calls of tools */

    int code;
    struct toolrack_result *result;

    struct job *queue_next; /* this and the next ten: guarded by the pool's lock */
    struct job *queue_prev;
    struct queue_own *own; /* of the thread that brought it; NULL: none. See queue.h */
    struct job *own_next;
    struct job *own_prev;
    uint64_t queued_ns; /* when it came into the queue */
    struct job *live_next;
    struct job *live_prev;
    bool live;
    uint64_t watch_ns;          /* when the watch gives it up; 0: never */
    struct pool_thread *thread; /* the thread that runs it, or was given it; NULL: none yet */

    struct call_time time;
    uint64_t asked_ns; /* when it became ASKING */
    uint64_t ended_ns; /* set with the outcome */
    char *arguments;
    size_t length;
    char *owned; /* memory of the arguments and the options' strings, if `room` is too small */
    char room[JOB_ROOM];
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    struct toolrack_error error; /* if code < 0 */
};
#define JOB_MAGIC 0x6a6f6221u
static_assert(offsetof(struct job, magic) == 0, "by it a call is told from an offering");

/** Make a job that is QUEUED, and in no queue yet.
 * @param arguments  copied, like the strings of the options
 * @return a reference; NULL when out of memory. [any-thread] */
struct job *job_create(struct pool *pool, const struct call_host *host, struct toolrack_tool *tool,
                       const char *arguments, size_t length,
                       const struct toolrack_call_options *options, const struct call_time *time);
struct job *job_ref(struct job *job);
void job_unref(struct job *job);
CLEANUP_DEFINE(struct job, job_unref)

/** Whether it is DONE or GIVEN_UP. Caller holds gate.lock. */
static inline bool job_is_over(const struct job *job) {
    return job->state == JOB_DONE || job->state == JOB_GIVEN_UP;
}

/** What the pool knows of its party; job_create() has made the table. */
static inline struct plugin_party *job_party(const struct job *job) {
    return &atomic_load_explicit(&job->tool->reg->plugin->pool_of,
                                 memory_order_acquire)[job->party];
}

/** Most calls of a party that may hold a thread for a plugin at once: what one party runs, however
 * long, does not keep the others waiting where there are places enough. */
static inline uint32_t job_share(const struct plugin *plugin, unsigned party) {
    bool leaves_one = party != PLUGIN_NOBODY && plugin->calls_max >= PLUGIN_SHARED_FROM;
    return plugin->calls_max - leaves_one;
}

/** Whether its plugin has a place for it. Caller holds the pool's lock. */
static inline bool job_has_room(const struct job *job) {
    const struct plugin *plugin = job->tool->reg->plugin;
    return plugin->pool_running < plugin->calls_max &&
           job_party(job)->running < job_share(plugin, job->party);
}

/** Whether the thread that takes it from the queue asks about it. Caller holds the pool's lock. */
static inline bool job_asks_next(const struct job *job) {
    return job->asks && job->name == NULL;
}

/** From QUEUED to READY, COPYING or ASKING. False: it was given up before. [call-thread] */
bool job_begin(struct job *job, enum job_state next);

/* The effect of a transition. */
enum job_end {
    JOB_GOES_ON, /* none; after job_take_tool() and job_answer(): it is QUEUED again */
    JOB_ENDED,   /* it has ended: its outcome is set, and the caller delivers it */
    JOB_WAS_OVER,
    JOB_LOST /* it was given up inside its plugin; its thread no longer belongs to the pool */
};

/** Leave COPYING, with the tool to call, whose plugin was copied: JOB_GOES_ON or, after a
 * cancellation, JOB_ENDED. Caller holds the pool's lock. [call-thread] */
enum job_end job_take_tool(struct job *job, struct toolrack_tool *tool);

/** Leave ASKING, after the answer or a cancellation: JOB_GOES_ON or JOB_ENDED.
 * @param code  negative: it may not run, with `error`. [call-thread] */
enum job_end job_answer(struct job *job, int code, const struct toolrack_error *error);

/** Go to DONE, unless it was given up: JOB_ENDED, JOB_WAS_OVER or JOB_LOST. Takes the result over.
 * @param code  negative: it failed, with `error`. [call-thread] */
enum job_end job_finish(struct job *job, int code, struct toolrack_result *result,
                        const struct toolrack_error *error);

/** Go to GIVEN_UP if it is time: JOB_ENDED, JOB_LOST (it has ended too), or JOB_GOES_ON. Caller
 * holds the pool's lock. [any-thread] */
enum job_end job_give_up(struct job *job);

/** Called after job_give_up() has ended it, without the pool's lock: wakes the calls that wait for
 * the turn of its plugin. On return nothing that its caller passed is used any more. */
void job_left_behind(struct job *job, bool is_lost);

/** Ask a job to end, unless it is over. Caller holds the pool's lock.
 * @return when to give it up if it does not end by itself: now, if it has not begun; UINT64_MAX: it
 *         is over. [any-thread] */
uint64_t job_interrupt(struct job *job);

/** Its deadline is another one, or it was cancelled: wake the caller that waits for it, if one
 * does. By the thread that runs it, or with the pool's lock while it is in `live`. */
void job_deadline_moved(struct job *job);

/** Have its waiting caller give it up now, if it was cancelled. Caller holds the pool's lock, and
 * the job is in `live`. [any-thread] */
void job_hurry(struct job *job);

/** The last step of the thread that has ended a job for which a caller waits: after this the job is
 * that caller's alone. [call-thread] */
void job_hand_back(struct job *job);

/** Wait until a job was handed back, or until its deadline, which may move meanwhile, or until it
 * is to be given up since it was cancelled.
 * @param spin  with which to spin first; NULL: do not
 * @return whether it was handed back. [call-thread] */
bool job_wait(struct job *job, struct spin *spin);
