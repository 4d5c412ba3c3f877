/* runs.h - runs of plans that were begun over REST: they go on without their requests, and end with
 * the token that began them. */
#pragma once

#include "toolrack/plan.h"

struct rest;
struct rest_runs;

/* Most runs at a time: those that the host starts. A party has as many as it leaves to others. */
#define REST_RUNS_MAX TOOLRACK_RUNS_STARTED_MAX

/** NULL: out of memory. */
struct rest_runs *rest_runs_create(struct rest *rest);
/** What still runs goes on without this; toolrack_close() interrupts it. NULL is ignored. */
void rest_runs_close(struct rest_runs *runs);
/** End the runs whose token does not hold any more. On the thread of the ticker. */
void rest_runs_look(struct rest_runs *runs);
