/* death.h - what a worker died of, in words. */
#pragma once

#include <signal.h>

#include "worker/crew-parts.h"

/** Set worker->death. `status` is what waitid() gave, NULL: nothing; `state` and `end` are those of
 * before it died. [supervisor] */
void death_describe(struct worker *worker, const siginfo_t *status, enum worker_state state,
                    enum worker_end end);
