/* runners.h - which hosts of a state folder still run what they have begun.
 *
 * A host that begins something that others ask for (a task) takes a lock on one byte of the file
 * `runners` of the state folder, at a random place, and is known by that place. The kernel releases
 * the lock when the process ends, however it ends: a runner whose byte is not locked has ended. A
 * process that an app forked without exec holds the lock too, until it ends. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct runner;

/* "0123456789abcdef" and a zero. */
#define RUNNER_NAME_ROOM 17u

/** @param state_dir  borrowed; NULL: there are no other hosts
 * @return NULL when out of memory. Nothing is made in the state folder. */
struct runner *runner_create(const char *state_dir);
/** NULL is ignored. The lock is released, if runner_end() has not. */
void runner_destroy(struct runner *runner);

/** Take the lock, if it is not held yet. The state folder exists.
 * @param ret  receives the name, of RUNNER_NAME_ROOM bytes
 * @return 0; TOOLRACK_E_IO. [any-thread] */
int runner_begin(struct runner *runner, char *ret, struct toolrack_error *err);

/** Whether the runner of that name, the own one or another, has not ended. One that cannot be
 * judged has not. [any-thread] */
bool runner_lives(struct runner *runner, const char *name);

/** Release the lock: nothing that this host has begun runs any more. NULL is ignored. [any-thread]
 */
void runner_end(struct runner *runner);
