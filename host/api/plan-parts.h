/* plan-parts.h - a plan of the API, and the runs of a host by their ids: what plan.c and runs.c
 * share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "plan/journal.h"
#include "plan/memory.h"
#include "plan/schedule.h"
#include "toolrack/plan.h"

#define PLAN_MAGIC 0x6e616c70u

struct toolrack_plan {
    uint32_t magic;
    struct toolrack *host;
    struct plan *plan;
    struct plan_tools tools;
    struct lock lock; /* guards the next */
    struct plan_run *run;

    /* A run of it that was kept and goes on, or that is being run. */
    char id[STORE_RUN_ID_SIZE];   /* "": none */
    bool reopened;                /* its run is taken, and not begun yet */
    struct journal_kept kept;     /* of a run that goes on */
    const struct plan_kept *ago;  /* of each node of it; in the arena of `kept` */
    struct toolrack_plan *next;   /* among those of the host; guarded by its lock */
    bool (*unwanted)(void *user); /* of struct plan_run_options; NULL: none */
    void *unwanted_user;
    const char *owner; /* of the run; borrowed from who runs it, or from `kept` */
};

/* The runs of a host. */
struct runs {
    struct lock lock;         /* guards what follows */
    pthread_cond_t ended;     /* a started run has */
    struct toolrack_plan *at; /* those that have an id and run, or are taken */
    struct started *started;  /* runs on threads of their own */
    bool closing;
    uint64_t running;                       /* calls of plan_run_all() that begin nodes */
    uint64_t over[STORE_RUN_CANCELLED + 1]; /* those that are over, by how */
    /* Nodes that have ended, by how; not guarded. */
    atomic_uint_fast64_t nodes[SCHEDULE_CANCELLED + 1];
    struct plan_memory memory; /* what all runs have in memory */
};

void runs_init(struct runs *runs);
void runs_finish(struct runs *runs);
/** Cancel those that were started, wait for them, and start no more. */
void runs_stop(struct runs *runs);

/** Let a plan be known by its id. @return false: another one is */
bool runs_add(struct runs *runs, struct toolrack_plan *plan);
void runs_remove(struct runs *runs, struct toolrack_plan *plan);
/** Let a run that was taken be cancelled as one that runs. */
void runs_begin(struct runs *runs, struct toolrack_plan *plan);
/** How a run finds which other ones were interrupted. */
struct store_runs_others runs_others(struct toolrack *host);
/** Whether the host is being closed. */
bool runs_are_closing(struct runs *runs);

/** Whose share a run takes; NULL: nobody's. */
static inline const char *runs_party(const struct toolrack_plan_options *options,
                                     const struct toolrack_call_options *call) {
    return call->party != NULL      ? call->party
           : options->owner != NULL ? options->owner
                                    : call->caller;
}

/** A run begins nodes; and does so no more: the next call of it. */
void runs_count_begin(struct runs *runs);
void runs_count_end(struct runs *runs, enum store_run_state state);

/** As toolrack_plan_run(). @param begun  called once with `begun_user`, when the first nodes begin;
 * after that the run has an id, if it is kept. May be NULL */
int plan_run_all(struct toolrack_plan *plan, const struct toolrack_plan_options *options,
                 void (*begun)(void *user), void *begun_user, struct toolrack_text **ret,
                 struct toolrack_error *err);

/** Give back a run that was taken and not begun. */
void runs_release(struct toolrack_plan *plan);
