/* run-plan.h - calls of run_plan: several tools of a principal as one plan.
 *
 * The plan is checked whole, asked about once, and runs on a thread of the host; the call is
 * answered when it has ended. A call that is cancelled ends its run. */
#pragma once

#include <yyjson.h>

struct request;

/* Nodes of which the answer to a plan that failed says how they ended, as bytes of it. */
#define RUN_PLAN_ENDS_MAX 8192u

/** Answer a call of it. */
void run_plan_call(struct request *request, yyjson_val *params, yyjson_val *arguments);
