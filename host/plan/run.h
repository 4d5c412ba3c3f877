/* run.h - a run of a plan: the calls, when they are due, and what they gave.
 *
 * One thread runs it, in plan_run(): it alone touches the state of the run. A call that ends on
 * another thread is only noted there, under a lock, and wakes it up. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "plan/check.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "plan/schedule.h"

struct plan_run;

/* What has happened to a node. */
enum plan_event_kind {
    PLAN_NODE_BEGAN, /* the first call of it, or what decides whether there is one */
    PLAN_NODE_RETRIED,
    PLAN_NODE_ENDED, /* the last event of each node, also of one that did not begin */
};

struct plan_event {
    enum plan_event_kind kind;
    uint32_t node;
    enum schedule_state state; /* of the node */
    uint32_t attempt;          /* calls that were made of it, for each item */
    uint32_t delay_ms;         /* RETRIED: until then */
    uint64_t duration_ns;      /* ENDED: since it began; 0: it did not */
    const char *result;        /* ENDED, succeeded: JSON; borrowed until the function returns */
    size_t result_length;
    const struct toolrack_error *err; /* RETRIED, and ENDED as failed; likewise */
    /* ENDED, succeeded by its fallback: the failure in place of which that gave the result. */
    const struct toolrack_error *replaced;
    bool waits;  /* ENDED as failed: for want of an approval, with which it can go on */
    bool called; /* ENDED: a call of it was not refused for that, so it may have had its effect */
};

/* What is kept of a node of a run that began before. */
struct plan_kept {
    enum schedule_state state; /* as it ended; SCHEDULE_WAITING: it has not */
    uint32_t attempts;         /* calls that were made */
    const char *result;        /* JSON, of SCHEDULE_SUCCEEDED; NULL: it is not kept */
    size_t length;
    const struct toolrack_error *err; /* of SCHEDULE_FAILED; or that was replaced */
    bool is_new;                      /* a person has said so now: it is to be kept */
};

/* A call that a run makes; of for_each and of several attempts all are of one node. */
struct plan_call {
    uint32_t node;
    bool is_fallback; /* of what its fallback says */
    struct toolrack_tool *tool;
    const char *arguments;
    size_t length;
    uint32_t deadline_ms; /* 0: the tool's */
};

/* All is borrowed until plan_run_destroy(). */
struct plan_run_options {
    const struct plan *plan;
    const struct plan_tools *tools; /* complete */
    yyjson_val *inputs;             /* an object, checked by plan_take_inputs() */
    uint64_t seed;                  /* of the jitter between attempts */
    struct plan_memory *memory;     /* of the host; NULL: only the limit of a run counts */
    const char *party;              /* whose share of them it takes; NULL: nobody's */
    /* Begin a call, which is borrowed until it returns. `done` is called exactly once, on any
     * thread, unless this fails. */
    int (*submit)(void *user, const struct plan_call *call, toolrack_done *done, void *done_user,
                  struct toolrack_call **ret, struct toolrack_error *err);
    void (*cancel)(void *user, struct toolrack_call *call);
    void (*release)(void *user, struct toolrack_call *call);
    /* On the thread of plan_run(); may call plan_run_cancel(). Nodes that had ended in an earlier
     * part of the run are told first, without a duration. NULL: not told. */
    void (*event)(void *user, const struct plan_event *event);
    /* Keep what has ended since the last time, as `event` told it, and that these nodes begin now:
     * no call of them is made before it returns. A failure stops the run; then they do not begin.
     * On the same thread. NULL: nothing is kept. */
    int (*keep)(void *user, const uint32_t *begun, uint32_t count, struct toolrack_error *err);
    /* Whether nobody wants the run any more: asked from time to time, on the same thread; then it
     * is cancelled. NULL: plan_run_cancel() alone says so. */
    bool (*unwanted)(void *user);
    void *user;
    const struct plan_kept *kept; /* of each node; NULL: the run begins anew */
};

/** @return NULL: no memory. */
struct plan_run *plan_run_create(const struct plan_run_options *options);
/** Not while plan_run() runs; NULL is ignored. */
void plan_run_destroy(struct plan_run *run);

/** Run the plan to its end, once.
 * @param ret  receives the result as JSON, of the plan's "result"
 * @param err  on failure the error of the node that stopped it, with which node it is before its
 *             message
 * @return 0; the code of the node that stopped it; TOOLRACK_E_CANCELLED; TOOLRACK_E_TIMEOUT; that
 *         of `keep`; TOOLRACK_E_REFUSED: a result that is needed was not kept;
 *         TOOLRACK_E_NO_MEMORY. When it returns no call runs any more. [call-thread] */
int plan_run(struct plan_run *run, struct buf *ret, struct toolrack_error *err);

/** Have it end: no node begins any more, and calls are cancelled. [any-thread] */
void plan_run_cancel(struct plan_run *run);

/** How a node has ended, and how many calls were made of it, after plan_run(). */
enum schedule_state plan_run_state(const struct plan_run *run, uint32_t node);
uint32_t plan_run_attempts(const struct plan_run *run, uint32_t node);

/** The inputs of a run, with defaults, checked.
 * @param given  an object, or NULL
 * @param ret    receives a document, to be released by yyjson_doc_free()
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS, with the field; TOOLRACK_E_NO_MEMORY. [any-thread] */
int plan_take_inputs(const struct plan *plan, yyjson_val *given, yyjson_doc **ret,
                     struct toolrack_error *err);
