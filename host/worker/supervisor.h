/* supervisor.h - one thread of the host, for all its crews: it starts workers, learns of their
 * deaths, collects what they print, and watches all time limits: starts, graces, idle times,
 * back-off. It never waits for a worker. */
#pragma once

#include "worker/crew-types.h"

/** Start the thread. NULL with err set: no memory, no thread, no descriptors. */
struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct toolrack_error *err);
/** End the thread and all workers: those that have started are asked to end, the others are killed.
 * No call may be in a crew. NULL is ignored. Afterwards no process of a crew is left; crews that
 * are still referenced refuse every call. */
void supervisor_destroy(struct supervisor *supervisor);

/** What a supervisor has counted since it was created. */
struct supervisor_counts {
    uint64_t workers;  /* there are, those that start or end among them */
    uint64_t started;  /* were started */
    uint64_t replaced; /* of those, in place of one that died or was killed */
};
/** Have the thread make all calls that workers run, or that wait for one, end early:
 * crew_interrupt_all(). [any-thread] */
void supervisor_interrupt(struct supervisor *supervisor);

/** A worker will be needed soon: unless one has been started, start the spare process that it can
 * be, whether spare processes are kept or not. [any-thread] */
void supervisor_prepare(struct supervisor *supervisor);

/** [any-thread] */
void supervisor_count(const struct supervisor *supervisor, struct supervisor_counts *ret);
