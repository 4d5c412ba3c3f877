/* burial.h - the end of a worker, and what follows from it for its crew. */
#pragma once

#include "worker/crew-parts.h"

/** Its pidfd says that it is dead: bury it and tell everybody. [supervisor] */
void worker_bury(struct worker *worker, uint64_t now_ns);
