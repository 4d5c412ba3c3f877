/* pool.h - threads that run calls with a deadline, and calls that were submitted.
 *
 * A call that must end on time cannot run on its caller's thread: nothing can
 * take a thread out of a function that does not return. So it runs on a thread of the pool,
 * and at the deadline that thread is given up: the caller gets Timeout, the
 * plugin is marked stuck, another thread takes the place. When the function returns
 * after all, the mark is taken off and the thread ends.
 *
 * States of a job; the arrows name who makes the transition:
 *
 *     QUEUED --> READY --> LOADING --> READY --> RUNNING --> DONE       the thread
 *        \         \         \           \          \
 *         `---------`---------`-----------`----------`--> GIVEN_UP     the waiter or the watch
 *
 *     QUEUED --> ASKING --> QUEUED, or DONE when it may not run        the thread
 *
 * ASKING comes first for a submitted call that is not free (call.h): somebody is asked whether it
 * may run, who may be a person. That takes as long as it takes: nobody gives it up, its time begins
 * anew with the answer, and meanwhile another thread takes the place of this one. A call that is
 * waited for has been through that on the thread of who waits.
 *
 * AWAY, in place of RUNNING, is with a worker, which ends in time by itself: nobody gives it up.
 * READY parses and checks, and may wait for a plugin that runs one call at a time; LOADING, which
 * only a plugin needs that is not loaded yet, and RUNNING are inside the plugin: in its open() and
 * in the tool. Whoever makes the last transition (DONE or GIVEN_UP) delivers the outcome, so it is
 * delivered exactly once. All transitions are made under the job's gate. */
#pragma once

#include "call/call.h"

struct pool;
struct job;

/* How long a cancelled call that runs may take to end by itself; then it is given up. */
#define POOL_CANCEL_GRACE_MS 1000u
/* How long pool_destroy() waits for running calls after it cancelled them. */
#define POOL_CLOSE_GRACE_MS  1000u
/* Threads that run calls, at most, where the app does not say. */
#define POOL_THREADS_MAX     64u

/* Most submitted calls about which somebody is being asked, or will be. */
#define POOL_ASKING_MAX 64u

/* How deep tools may call each other. */
#define POOL_DEPTH_MAX 16u

/** NULL when out of memory. `host` is borrowed for the pool's life. */
struct pool *pool_create(const struct call_host *host, uint32_t threads_max);

/** Cancel all, wait up to POOL_CLOSE_GRACE_MS, give up the rest; NULL is ignored. Who is being
 * asked is waited for, however long that takes. What a given-up call uses is left to it for the
 * rest of the process.
 * @return whether no call is left that may still look at the pool and its host */
bool pool_destroy(struct pool *pool);

/** Run a call on the pool and wait for its outcome, until its deadline at the latest. It may run:
 * that was settled before.
 * @param arguments  copied */
int pool_call(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
              const struct toolrack_call_options *options, uint32_t deadline_ms,
              struct toolrack_result **ret, struct toolrack_error *err);

/** Run a call on the pool, if it may run; `done` gets its outcome, on a thread of the pool; it may
 * be NULL.
 * @param ret  receives a reference, to be released with job_unref(); may be NULL */
int pool_submit(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
                const struct toolrack_call_options *options, uint32_t deadline_ms,
                toolrack_done *done, void *user, struct job **ret, struct toolrack_error *err);

/** Cancel all submitted jobs that belong to a conversation. */
void pool_cancel_conversation(struct pool *pool, const char *conversation);

void job_cancel(struct job *job);
void job_unref(struct job *job);
