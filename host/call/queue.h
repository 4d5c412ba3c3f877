/* queue.h - the jobs that wait for a thread of the pool, and which of them is next.
 *
 * A slow plugin must not hold all threads: no more jobs of one plugin run than it can serve at
 * once, and jobs of other plugins overtake those that wait. Nor must one party hold a plugin with
 * what it has queued: the next job of a plugin is of a party of which fewest run, and of several
 * such, of the one whose turn is longest ago. Nor with what it runs: where a plugin has places
 * enough, one party leaves one to the others (job_share()). Of the jobs of that party, a thread
 * takes those first that it has brought itself, if they came soon after: what they need is in the
 * cache of its CPU. The owner's lock guards the queue. */
#pragma once

#include "call/job.h"

/* A job may be overtaken by one of the same plugin and party that came less than this later. */
#define QUEUE_OVERTAKEN_NS 1000000u

/* First come, first served, each party for itself. */
struct queue_line {
    struct job *first;
    struct job *last;
};

/* The jobs in `ready` that one thread has brought, in the order in which they came. */
struct queue_own {
    struct job *first; /* by own_next */
    struct job *last;
};

/* Invariants:
 *
 *  (1) The two lines hold the QUEUED jobs, each with a reference: `asking` those that may not run
 *      yet, `ready` all others. A job that was given up stays until it is taken out.
 *  (2) `count` is the number of jobs in both; a plugin's pool_queued is the number of its jobs in
 *      `ready`, its pool_running the number of its jobs that were taken from there and hold a
 *      thread.
 *  (3) `runnable` is the number of jobs that queue_take() would return in a row: threads may be
 *      idle while jobs wait for a busy plugin. Asking needs no plugin. */
struct queue {
    struct queue_line asking;
    struct queue_line ready;
    uint32_t count;
    uint32_t runnable;
    uint32_t of[PLUGIN_PARTIES]; /* how many of `count` each party has */
};

/** Put a job at the end, with its reference. Caller holds the owner's lock, as below.
 * @param own  of the thread that brings it, or NULL */
void queue_put(struct queue *queue, struct job *job, struct queue_own *own);

/** Take out the next job that a thread may run, or (job_asks_next()) ask about. NULL: there is
 * none.
 * @param own  of that thread, or NULL */
struct job *queue_take(struct queue *queue, const struct queue_own *own);

/** Count a job that begins at once as if it had been put into the queue and taken out. Caller has
 * seen that job_has_room(), and that no job is runnable. */
void queue_pass(struct queue *queue, struct job *job);

/** A thread ends: the jobs that it has brought are anybody's. */
void queue_disown(struct queue_own *own);

/** The job that queue_take() would return next to a thread that has brought none; NULL: it would
 * return none. */
const struct job *queue_first(const struct queue *queue);

/** A job that was taken out to run does not hold its thread any more. */
void queue_leave(struct queue *queue, const struct job *job);

/** Check the invariants, in a debug build. */
void queue_check(const struct queue *queue);
