/* tend.h - what the supervisor's thread does for one crew. */
#pragma once

#include "worker/crew-parts.h"

/** Do for a crew what is due, and say when something is again (crew->due_ns). False: it is left and
 * has no workers. [supervisor] */
bool crew_tend(struct crew *crew, uint64_t now_ns);
