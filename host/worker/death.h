/* death.h - a worker's cause of death, as text. */
#pragma once

#include <signal.h>

#include "worker/crew-parts.h"

/** Set worker->death. `status` is from waitid(), NULL if it returned none; `state` and `end` are
 * from before the death. [supervisor] */
void death_describe(struct worker *worker, const siginfo_t *status, enum worker_state state,
                    enum worker_end end);
