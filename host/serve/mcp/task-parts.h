/* task-parts.h - what the files of tasks share.
 *
 * Invariants of struct task, guarded by the lock of its request:
 *
 *  (1) In TASK_IS the row exists, `id` is its key, and the request is answered by the task, or
 *      about to be. The state is final, as TASK_SETTLED is.
 *
 *  (2) `call` is the handle of the call in TASK_IS; before that it is the request's.
 *
 *  (3) `inputs` is not NULL while the thread of the tool waits in task_input(); `open` counts those
 *      that are not answered.
 *
 * A task is in the list of the server from before its answer until its call has ended; the call has
 * a reference to the request as long. Whoever changes the row after that lets the subscriptions be
 * told. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "serve/mcp/request.h"
#include "toolrack/serving.h"

CLEANUP_DEFINE(struct toolrack_error, toolrack_error_free)

/* When a call that is expected to take long becomes a task: time enough to refuse wrong arguments,
 * and to ask in the way of a call. */
#define TASK_EXPECTED_AFTER_MS 250u

enum task_state { TASK_CALL, TASK_ASKING, TASK_MAKING, TASK_IS, TASK_SETTLED };

/* In the arena of its request. */
struct task {
    struct request *request;
    enum task_state state;
    struct timer timer; /* until it becomes one; with a reference to the request */
    enum timer_line line;
    struct timer tell; /* the subscriptions; likewise */
    char id[TOOLRACK_TASK_ID_ROOM];
    struct task *next; /* in the list of the server, guarded by its lock */
    struct task *prev;
    bool stopping; /* likewise: task_stop() has seen it */
    struct toolrack_call *call;
    bool cancelled; /* nobody wants its end any more */
    bool ended;     /* the call has: set before it leaves the list */
    bool stopped;   /* the row says already how it ended */
    struct toolrack_input *inputs;
    bool *waits; /* of each of them, whether it is open */
    size_t count;
    size_t open;
    uint64_t expires_ns; /* 0: never */
    uint64_t told_ns;    /* when the message of the status was set */
};

/** The task that runs here with this id: a reference to its request, or NULL. */
struct request *task_find(struct mcp *mcp, const char *id);

/** A task begins to run: it is in the list of the server until task_end(). */
void task_link(struct task *task);

/** Let a call end that nobody wants; nothing for NULL. Takes the handle. Without the lock of the
 * request: the end may be told on this thread. */
void task_drop_call(struct toolrack_call *call);

/** Guards that the row of a task which goes on says what it does now: whoever finds out whether it
 * asks holds this until the row is set. Taken before the lock of the request. */
struct lock *task_rows(struct mcp *mcp);

/** Set the row, and let that be told. A task that has ended keeps its end. */
int task_set_row(struct task *task, const char *status, const char *message, const char *result,
                 const char *failure, const char *inputs);

/** It is a call: no timer makes it a task any more. Caller holds the lock of the request.
 * @return whether the timer was set: then its reference is to be released */
bool task_settle(struct task *task);

/** Show what is open; nothing if nothing is. */
void task_show_open(struct task *task);
