/* cpu.h - the CPU time of a worker: what a call may use, and what may be used between calls.
 *
 * During calls the kernel limits it (RLIMIT_CPU); this signal can be ignored, so the supervisor
 * compares too. Between calls the supervisor looks at the worker's clock once a second. While the
 * clock stands still the pause doubles, up to CPU_PAUSE_NS_MAX: a worker that does nothing is
 * hardly looked at, and not at all after it has been idle for idle_ms and was ended. */
#pragma once

#include "worker/crew-parts.h"

/* CPU time used between calls counts over so much time between calls. */
#define CPU_WINDOW_NS     (10u * (uint64_t)CLOCK_NS_PER_S)
/* Between two looks; while more is used than allowed, so that also a worker with many calls is seen
 * between two of them; and at most, while nothing is used. */
#define CPU_PAUSE_NS      (1u * (uint64_t)CLOCK_NS_PER_S)
#define CPU_PAUSE_NS_BUSY (100u * (uint64_t)CLOCK_NS_PER_MS)
#define CPU_PAUSE_NS_MAX  (32u * (uint64_t)CLOCK_NS_PER_S)
/* What a process counts as that is started, beside what it uses: the kernel tells nothing of one
 * that ends between two looks and is waited for by nobody. */
#define CPU_PROCESS_NS    (1u * (uint64_t)CLOCK_NS_PER_MS)

/** A call begins: make sure that it has its full CPU time. [the lane's caller] */
void cpu_renew(struct worker *worker);
/** What the worker has used since it had used `from_ns`, such as the last cpu_used_ns; UINT64_MAX:
 * that cannot be read. [any-thread] */
uint64_t cpu_since(const struct worker *worker, uint64_t from_ns);

/** Look at a READY worker if that is due; may kill it. The caller holds crew->lock, which is
 * released for a moment: the worker stays valid. [supervisor] */
void cpu_look(struct worker *worker, uint64_t now_ns);
