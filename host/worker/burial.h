/* burial.h - the end of a worker, and what follows from it for its crew. */
#pragma once

#include "worker/crew-parts.h"

/** The worker's pidfd reports its death: take it out of the crew and report the death.
 * [supervisor] */
void worker_bury(struct worker *worker, uint64_t now_ns);
