/* secrets.h - the secrets that a run knows: its inputs that are marked (schema/secret.h), what the
 * plan has as it is for parameters that are marked, the marked parts of results, and those of the
 * call that the run is of. They are masked wherever they
 * stand in a call of the run, and in what is kept of it.
 *
 * Used by the thread of the run alone. */
#pragma once

#include "base/buf.h"
#include "plan/run.h"

struct plan_secrets {
    const struct plan *plan; /* borrowed, as the tools */
    const struct plan_tools *tools;
    bool *nodes;       /* of each node, whether its result has secrets */
    struct buf values; /* as those of secret.h */
};

/** @param inputs  with secrets and defaults
 * @param call    whose secrets are the run's, too
 * @return false: no memory. Finish it in any case. */
bool plan_secrets_init(struct plan_secrets *secrets, const struct plan *plan,
                       const struct plan_tools *tools, yyjson_val *inputs,
                       const struct toolrack_call_options *call);
void plan_secrets_finish(struct plan_secrets *secrets);

/** Note the secrets of a node's result, before anything else is done with it. */
void plan_secrets_note(struct plan_secrets *secrets, const struct plan_event *event);

/** Let a call mask them. The options borrow them until the next plan_secrets_note(). */
void plan_secrets_give(const struct plan_secrets *secrets, struct toolrack_call_options *ret);
