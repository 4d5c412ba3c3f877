/* pool.h - threads that run calls with a deadline, and calls that were submitted.
 *
 * A call that must end on time cannot run on its caller's thread: nothing can stop a function that
 * does not return. So the call runs on a thread of the pool, and at the deadline that thread is
 * given up: the caller gets Timeout, the plugin becomes stuck, and another thread takes the place.
 * When the function returns after all, the plugin is not stuck any more and the thread ends. job.h
 * draws the states of such a call. */
#pragma once

#include "call/call.h"

struct pool;
struct pool_source;
struct job;

/* Most threads that run calls, if the app does not set it. */
#define POOL_THREADS_MAX 64u

/* Most submitted calls that wait for permission at once. */
#define POOL_ASKING_MAX 64u

/* Most nested calls of tools by tools. */
#define POOL_DEPTH_MAX 16u

/** NULL when out of memory. `host` is borrowed as long as the pool exists. */
struct pool *pool_create(const struct call_host *host, uint32_t threads_max);

/* The end of a pool, in this order: pool_cancel_all(), pool_await_quiet(), pool_stop(), and
 * pool_destroy() once no thread is in a function of the pool any more. */

/** Cancel all calls, and refuse others from now on. */
void pool_cancel_all(struct pool *pool);
/** Wait until no call runs, until a time at most. Returns whether none does. */
bool pool_await_quiet(struct pool *pool, uint64_t until_ns);
/** Give up the calls that still run, and end the threads. A running permission question is waited
 * for without limit. What calls that were given up use is never freed.
 * @return whether none of them may still use the pool and its host */
bool pool_stop(struct pool *pool);
/** Not if pool_stop() returned false. NULL is ignored. */
void pool_destroy(struct pool *pool);

/** Run a call on the pool and wait for its outcome, until its deadline at the latest. The caller
 * has checked that it may run, and call_stage() was called.
 * @param arguments  copied */
int pool_call(struct pool *pool, struct toolrack_tool *tool, const char *arguments, size_t length,
              const struct toolrack_call_options *options, const struct call_time *time,
              struct toolrack_result **ret, struct toolrack_error *err);

/** Refuse a call for its depth. Returns the code of that. */
int pool_too_deep(const struct toolrack_tool *tool, struct toolrack_error *err);

/** Run a call on the pool, if it may run; `done` gets its outcome, on a thread of the pool, and may
 * be NULL.
 * @param name  of the tool, as it was called: see call_stage(). Copied; NULL: only that tool is
 *              wanted
 * @param ret   receives a reference, to be released with job_unref(); may be NULL */
int pool_submit(struct pool *pool, const char *name, struct toolrack_tool *tool,
                const char *arguments, size_t length, const struct toolrack_call_options *options,
                const struct call_time *time, toolrack_done *done, void *user, struct job **ret,
                struct toolrack_error *err);

/** Have threads of the pool serve a source of jobs: toolrack_source_start() says how. */
int pool_source_start(struct pool *pool, toolrack_take *take, void *user, struct pool_source **ret,
                      struct toolrack_error *err);
void pool_source_wait(struct pool_source *source);
/** Before pool_destroy(); NULL is ignored. */
void pool_source_stop(struct pool_source *source);

/** Begin (1) and end (-1) a wait of this thread for calls that a call which it runs has submitted:
 * meanwhile another thread may take its place. Nothing happens on a thread of another kind.
 * [call-thread] */
void pool_nest(struct pool *pool, int by);

/** How many jobs wait for a thread. [any-thread] */
uint32_t pool_waiting(struct pool *pool);

/** Cancel all submitted jobs that belong to a conversation. */
void pool_cancel_conversation(struct pool *pool, const char *conversation);

/** Cancel a job, unless it has ended. It is given up if it does not end by itself within
 * JOB_CANCEL_GRACE_MS. [any-thread] */
void pool_cancel(struct job *job);

/** Release a job of pool_submit(). [any-thread] */
void job_unref(struct job *job);
