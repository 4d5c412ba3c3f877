/* tend.h - what the supervisor's thread does for one crew. */
#pragma once

#include "worker/crew-parts.h"

/** Do what is due for a crew, and set crew->due_ns to the time of the next call. False: the crew
 * has neither references nor workers. [supervisor] */
bool crew_tend(struct crew *crew, uint64_t now_ns);
