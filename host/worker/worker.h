/* worker.h - one worker of a crew, from its start to the signal that ends it. */
#pragma once

#include "worker/crew-parts.h"

/** Start a worker for a crew that is below its maximum. On failure the reason is stored in the
 * crew. [supervisor] */
void worker_start(struct crew *crew, uint64_t now_ns);
/** Take the frames that the worker sent while it starts or opens a lane. [supervisor] */
void worker_hear(struct worker *worker, uint64_t now_ns);
/** Open another lane of a worker that has an opener. The caller holds crew->lock. [supervisor] */
void worker_open_lane(struct worker *worker);
/** Ask a worker to end. No call may be running in it. The caller holds crew->lock. [supervisor] */
void worker_dismiss(struct worker *worker, uint64_t now_ns);
/** Kill a worker. If called again, the first reason is kept. The caller holds crew->lock.
 * [any-thread] */
void worker_kill(struct worker *worker, enum worker_end end, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
/** Give up the supervisor's reference. [supervisor] */
void worker_release(struct worker *worker);
/** Free a worker whose last reference was released. crew->lock is not held. */
void worker_free(struct worker *worker);

/** Report a failed start to the host. No lock is held. Called before the calls in line fail, as a
 * refused caller may read the state of the plugin at once. [supervisor] */
void worker_tell_refused(const struct crew *crew, const char *reason, bool is_lasting);
/** A start failed and must not be repeated at once: calls in line fail if no other worker could
 * take them. The caller holds crew->lock. */
void worker_refuse_start(struct crew *crew, const struct toolrack_error *err, uint64_t now_ns);
/** Set the back-off after one more failure. The caller holds crew->lock. */
void worker_back_off(struct crew *crew, uint64_t now_ns);
