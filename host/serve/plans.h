/* plans.h - plans of a principal: what is not shown to it is in no plan of it, and what it may not
 * call is not run for it, whatever protocol it speaks. */
#pragma once

#include "base/buf.h"
#include "serve/subset.h"
#include "toolrack/plan.h"

/** Read and check a plan beside the tools that a principal is shown: as toolrack_plan_open(). */
int plans_open(const struct subset *subset, const struct principal *principal, const char *text,
               size_t length, struct toolrack_findings **ret_findings, struct toolrack_plan **ret,
               struct toolrack_error *err);

/** Whether a principal is shown each tool of a plan that was opened for somebody, or before. */
bool plans_shows(const struct subset *subset, const struct principal *principal,
                 const struct toolrack_plan *plan);

/** Whether a principal may call all tools of a plan.
 * @param ret_missing  receives the first permission that it has not */
bool plans_has_scopes(const struct principal *principal, const struct toolrack_plan *plan,
                      enum toolrack_permission *ret_missing);

/** What every call of a run is made with: nobody is asked, but approvals wait for a person. */
void plans_call_options(const struct principal *principal, const char *channel, const char *trace,
                        struct toolrack_call_options *ret);

/** Append findings as a JSON array.
 * @param has_lines  the client has the text as it was read, so that lines mean something to it */
void plans_add_findings(struct buf *out, const struct principal *principal,
                        const struct toolrack_findings *findings, bool has_lines);

/** Append what has happened to a node as members of a JSON object, without braces: node, event,
 * state, attempts, and delay_ms, or duration_ms and error or fallback. */
void plans_add_event(struct buf *out, const struct principal *principal,
                     const struct toolrack_plan *plan, const struct toolrack_plan_event *event);
