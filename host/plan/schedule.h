/* schedule.h - which node of a plan is next: a state machine without calls, threads and time.
 *
 *     waiting -> ready -> running -> succeeded
 *        |         |         +-----> failed
 *        |         |         +-----> skipped      its condition does not hold
 *        +---------+---------------> skipped      it needs the result of a node that has none
 *        +---------+---------+-----> cancelled    the run was stopped before it had ended
 *
 * Ready nodes are handed out in the order of the plan, so that the same ends in the same order give
 * the same run. One thread uses a schedule. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"

enum schedule_state {
    SCHEDULE_WAITING,
    SCHEDULE_READY,
    SCHEDULE_RUNNING,
    SCHEDULE_SUCCEEDED,
    SCHEDULE_FAILED,
    SCHEDULE_SKIPPED,
    SCHEDULE_CANCELLED,
};

struct schedule {
    const struct graph *graph; /* borrowed; without a cycle */
    enum schedule_state *states;
    uint32_t *left;  /* needs of each node that have not ended */
    uint32_t *ready; /* heap, the least first */
    uint32_t ready_count;
    uint32_t *ends; /* what the last end has ended: its node, and those that it skipped after it */
    uint32_t end_count;
    uint32_t running;
    uint32_t ended;
};

/** All nodes that need nothing are ready. @return false: no memory */
bool schedule_init(struct schedule *schedule, const struct graph *graph);
void schedule_finish(struct schedule *schedule);

/** Take the first ready node, which runs now. @return false: none is ready */
bool schedule_next(struct schedule *schedule, uint32_t *ret);

/** Say how a running node has ended: SCHEDULE_SUCCEEDED, _FAILED, _SKIPPED or _CANCELLED. What
 * waited for it becomes ready, or is skipped if it needs its result and there is none. */
void schedule_end(struct schedule *schedule, uint32_t node, enum schedule_state state);

/** Say that a running node has not ended as its plan wants, and is to go on in another run: it
 * counts as failed in this one, and what waits for it goes on waiting. */
void schedule_hold(struct schedule *schedule, uint32_t node);

/** End a node as it ended in an earlier run, so that it does not run again, whether it is ready or
 * waits. */
void schedule_resume(struct schedule *schedule, uint32_t node, enum schedule_state state);

/** No further node begins: those that wait or are ready are cancelled. */
void schedule_stop(struct schedule *schedule);

/** Whether all nodes have ended. */
static inline bool schedule_is_done(const struct schedule *schedule) {
    return schedule->ended == schedule->graph->count;
}

/** "waiting", "succeeded" etc. */
const char *schedule_state_name(enum schedule_state state);
