/* threads.h - how many threads and processes a worker has.
 *
 * No rlimit bounds the threads of one process: RLIMIT_NPROC counts a user's, and not root's; nor
 * does a system call filter, which has no memory. A control group would, but most hosts may not
 * make one. So the filter of a worker asks the host before each clone(), on a descriptor that the
 * worker sends before it loads the plugin, and the host counts. A worker that starts no thread
 * never asks. */
#pragma once

#include "worker/crew-parts.h"

/** Take over the descriptor with which a worker asks, and wait for it. False: errno says why; the
 * descriptor is closed. [supervisor] */
bool threads_watch(struct worker *worker, int listener);
/** Answer one question. `is_over`: nobody is left who could ask. [supervisor] */
void threads_answer(struct worker *worker, bool is_over, uint64_t now_ns);
