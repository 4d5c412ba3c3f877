/* consent.h - one approval for all that a plan does, before its first call.
 *
 * A node needs approval if a call of its tool would ask a person. All such nodes are asked about at
 * once, and the answer is for the hash of the plan, its inputs and its tools (key.h). It covers the
 * calls of a node, or of its fallback, whose arguments the person has seen there: the same
 * arguments at another node are another call. A node whose arguments depend on results is open: its
 * calls ask again, unless the person has said that the tools may run with any arguments. A yes to a
 * tool that is taken back during the run covers nothing any more.
 *
 * All of it is kept with the run, also each yes to a call of an open node: that covers the same
 * call once when the run goes on, as it is made again then. */
#pragma once

#include "permit/permit.h"
#include "plan/run.h"
#include "store/runs.h"

struct plan_consent;

/** Ask about the nodes that have not ended, where it is needed and was not agreed to before.
 *
 * @param store    whose key hashes
 * @param kept     of a run that goes on; or NULL
 * @param agreed   what was agreed to in it before; borrowed until plan_consent_destroy()
 * @param options  of the calls
 * @param ret      receives what was agreed to, to be released by plan_consent_destroy(); NULL if
 *                 nothing had to be
 * @return 0; as permit_check(), also for a tool that no approval lets run; TOOLRACK_E_NO_MEMORY.
 *         [call-thread] */
int plan_consent_ask(struct permit *permit, struct store *store, const struct plan *plan,
                     const struct plan_tools *tools, yyjson_val *inputs,
                     const struct plan_kept *kept, const struct store_run_agreed *agreed,
                     size_t agreed_count, const struct toolrack_call_options *options,
                     struct plan_consent **ret, struct toolrack_error *err);
/** NULL is ignored. */
void plan_consent_destroy(struct plan_consent *consent);

/** What was agreed to now, and not before, to be kept with the run.
 * @param ret_count  receives their number; 0 for NULL
 * @return rows to be released by free(), whose strings live as long as the consent; NULL: no
 * memory. [any-thread] */
struct store_run_agreed *plan_consent_rows(const struct plan_consent *consent, size_t *ret_count);

/** Who has agreed to a call that is made now; NULL: nobody has. Lives as long as the consent.
 * @param consent  NULL: nothing is agreed to. [call-thread] */
const char *plan_consent_covers(struct plan_consent *consent, struct permit *permit,
                                const struct plan_call *call);

/** A call that asks by itself, as it is to be kept if a person agrees to it: all but who does.
 * @param ret  its strings are those of the tool
 * @return as permit_standing(). [any-thread] */
int plan_consent_of_call(struct permit *permit, struct store *store, const struct plan_call *call,
                         struct store_run_agreed *ret, struct toolrack_error *err);
