/* worker.h - one worker of a crew, from its start to the signal that ends it. */
#pragma once

#include "worker/crew-parts.h"

/** Start one for a crew that may have one more. On failure the crew has noted why. [supervisor] */
void worker_start(struct crew *crew, uint64_t now_ns);
/** Take what it sent while it starts or opens a lane. [supervisor] */
void worker_hear(struct worker *worker, uint64_t now_ns);
/** Open another lane of a worker that has an opener. The caller holds crew->lock. [supervisor] */
void worker_open_lane(struct worker *worker);
/** Let it go: no call is in it. The caller holds crew->lock. [supervisor] */
void worker_dismiss(struct worker *worker, uint64_t now_ns);
/** Kill it; what stands first stays the reason. The caller holds crew->lock. [any-thread] */
void worker_kill(struct worker *worker, enum worker_end end, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
/** Give up the supervisor's reference. [supervisor] */
void worker_release(struct worker *worker);
/** What the last reference does, with crew->lock not held. */
void worker_free(struct worker *worker);

/** Tell the host of a start that failed: with no lock held, and before the calls in line are told,
 * as a caller that is refused may look at once what became of the plugin. [supervisor] */
void worker_tell_refused(const struct crew *crew, const char *reason);
/** A start that is not to be tried again at once: calls in line fail where nobody else could take
 * them. The caller holds crew->lock. */
void worker_refuse_start(struct crew *crew, const struct toolrack_error *err, uint64_t now_ns);
/** The back-off after one more failure. The caller holds crew->lock. */
void worker_back_off(struct crew *crew, uint64_t now_ns);
