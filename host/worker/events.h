/* events.h - what of a worker the supervisor's thread waits for. All [supervisor]. */
#pragma once

#include "worker/crew-parts.h"

/* What an event is about stands in the low bits of the worker's address. */
enum event_source { EVENT_DEATH, EVENT_SOCKET, EVENT_STREAM };
#define EVENT_SOURCE_MASK ((uintptr_t)7)

/** Wait for a worker's death, its output, and its socket. False: errno says why. */
bool events_add(struct supervisor *supervisor, struct worker *worker);
/** Wait for its socket, or not any more. A worker that has nothing to say there must not be able to
 * wake the thread again and again. */
void events_listen(struct supervisor *supervisor, struct worker *worker, bool listens);
/** Wait for nothing of it any more. */
void events_remove(struct supervisor *supervisor, struct worker *worker);
/** Wait for a descriptor; `source` comes back with the event. */
bool events_add_fd(struct supervisor *supervisor, int fd, uint64_t source);
/** Not any more; -1 is ignored. */
void events_remove_fd(struct supervisor *supervisor, int fd);
