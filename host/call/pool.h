/* pool.h - threads that run calls with a deadline, and calls that were submitted.
 *
 * A call that must end on time cannot run on its caller's thread: nothing can
 * take a thread out of a function that does not return. So it runs on a thread of the pool,
 * and at the deadline that thread is given up: the caller gets Timeout, the
 * plugin is marked stuck, another thread takes the place. When the function returns
 * after all, the mark is taken off and the thread ends.
 * job.h draws the states of such a call. */
#pragma once

#include "call/call.h"

struct pool;
struct job;

/* How long pool_destroy() waits for running calls after it cancelled them. */
#define POOL_CLOSE_GRACE_MS 1000u
/* Threads that run calls, at most, where the app does not say. */
#define POOL_THREADS_MAX    64u

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

/** Cancel one, unless it has ended. It is given up when it does not end by itself within
 * JOB_CANCEL_GRACE_MS. [any-thread] */
void pool_cancel(struct job *job);

/** Release what pool_submit() gave. [any-thread] */
void job_unref(struct job *job);
