/* consent.h - one approval for all that a plan does, before its first call.
 *
 * A node needs approval if a call of its tool would ask a person. All such nodes are asked about at
 * once, and the answer is for the hash of the plan, its inputs and its tools (key.h). It covers the
 * calls of a node, or of its fallback, whose arguments the person has seen there: the same
 * arguments at another node are another call. A node whose arguments depend on results is open: its
 * calls ask again, unless the person has said that the tools may run with any arguments. A yes to a
 * tool that is taken back during the run covers nothing any more. */
#pragma once

#include "permit/permit.h"
#include "plan/run.h"

struct plan_consent;

/** Ask about the nodes that have not ended, where it is needed and was not agreed to before.
 *
 * @param store    whose key hashes
 * @param kept     of a run that goes on; or NULL
 * @param agreed   what was agreed to when it began, by plan_consent_write(); or NULL
 * @param options  of the calls
 * @param ret      receives what was agreed to, to be released by plan_consent_destroy(); NULL if
 *                 nothing had to be
 * @return 0; as permit_check(), also for a tool that no approval lets run; TOOLRACK_E_NO_MEMORY.
 *         [call-thread] */
int plan_consent_ask(struct permit *permit, struct store *store, const struct plan *plan,
                     const struct plan_tools *tools, yyjson_val *inputs,
                     const struct plan_kept *kept, yyjson_val *agreed,
                     const struct toolrack_call_options *options, struct plan_consent **ret,
                     struct toolrack_error *err);
/** NULL is ignored. */
void plan_consent_destroy(struct plan_consent *consent);

/** What was agreed to, to be kept with the run, as JSON: without arguments, of which it has hashes.
 * @return a string to be released by free(); NULL: no memory. [any-thread] */
char *plan_consent_write(const struct plan_consent *consent);

/** Whether a call is agreed to. @param consent  NULL: none is. [any-thread] */
bool plan_consent_covers(const struct plan_consent *consent, struct permit *permit,
                         const struct plan_call *call);
