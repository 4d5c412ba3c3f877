/* events.h - the events of a worker that the supervisor's thread waits for. All [supervisor]. */
#pragma once

#include "worker/crew-parts.h"

/* The source of an event is stored in the low bits of the worker's address. */
enum event_source { EVENT_DEATH, EVENT_OUTPUT, EVENT_CLONE };
#define EVENT_SOURCE_MASK ((uintptr_t)7)

/** Wait for a worker's death and its output. False: errno says why. */
bool events_add(struct supervisor *supervisor, struct worker *worker);
/** Stop waiting for any event of it. */
void events_remove(struct supervisor *supervisor, struct worker *worker);
/** Wait for a descriptor; `source` comes back with the event. */
bool events_add_fd(struct supervisor *supervisor, int fd, uint64_t source);
/** Stop waiting for a descriptor; -1 is ignored. */
void events_remove_fd(struct supervisor *supervisor, int fd);
