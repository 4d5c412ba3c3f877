/* again.h - the command becomes itself again: what the loader and the C library read from the
 * environment, they read once, when a process starts. */
#pragma once

#include "base/error.h"

/** Add a value to a variable of the environment, after those that it has and a colon.
 * @return -1: out of memory. [one thread only] */
int again_add_variable(const char *name, const char *value);

/** Start this command again, with its arguments and the environment as it is now. Returns only on
 * failure: TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [one thread only] */
int again_start(struct toolrack_error *err);
