/* supervisor.h - one thread of the host, for all its crews: it starts workers, learns of their
 * deaths, collects what they print, and holds the clock for whatever must end: starts, graces, idle
 * times, back-off. It never waits for a worker. */
#pragma once

#include "worker/crew-types.h"

/** Start the thread. NULL with err set: no memory, no thread, no descriptors. */
struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct toolrack_error *err);
/** End all workers, the idle ones by asking, the busy ones by killing, and the thread. No call is
 * in a crew any more. NULL is ignored. Afterwards no process of it is left; crews that are still
 * referenced refuse every call. */
void supervisor_destroy(struct supervisor *supervisor);
