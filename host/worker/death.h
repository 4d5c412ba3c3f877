/* death.h - a worker's cause of death, as text. */
#pragma once

#include <signal.h>

#include "worker/crew-parts.h"

/** Set worker->death. `status` is from waitid(), NULL if it returned none; `state` and `end` are
 * from before the death. [supervisor] */
void death_describe(struct worker *worker, const siginfo_t *status, enum worker_state state,
                    enum worker_end end);

/** The error of a call whose process has died so. Returns its code. Caller holds the crew's lock.
 */
int death_set_error(const struct death *death, struct toolrack_error *err);
