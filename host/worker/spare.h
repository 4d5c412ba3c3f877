/* spare.h - one process of the worker program that is started ahead, and nobody's yet.
 *
 * Nearly half of the time from a worker's start to its first call goes into starting the program:
 * 0.6 ms with a spare process, 1.0 without, where posix_spawn() of a program that does nothing
 * takes 0.5. The rest is the sandbox and the plugin. A process that has been started waits for
 * both, so it can become the worker of any plugin; it is used once, as a worker never gets a second
 * plugin.
 *
 * Every host has one for its first worker (supervisor_prepare()): it starts while the host copies
 * the plugin's file and asks its store about the plugin. With it `toolrack call` takes 6.2 ms
 * instead of 6.7, on two CPUs. */
#pragma once

#include "worker/crew-parts.h"

/** Whether a crew's worker can be a process that was started without knowing the crew. */
bool spare_fits(const struct crew *crew, bool may_start_others);
/** Give away the spare process, if there is one that lives. [supervisor] */
bool spare_take(struct supervisor *supervisor, struct process *ret);
/** Start one in its place, if that is wanted by now. It is no failure if that fails: workers are
 * then started when they are needed. [supervisor] */
void spare_renew(struct supervisor *supervisor);
