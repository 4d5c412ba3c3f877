/* events.h - what happens in the host, told to clients that listen.
 *
 * The last events are kept with their ids: a client that lost its stream comes back with
 * Last-Event-ID and gets what it missed. */
#pragma once

#include "toolrack/toolrack.h"

struct events;

/* Events that are kept. */
#define EVENTS_KEPT 1024u

struct events *rest_events_create(void);
void rest_events_destroy(struct events *events);

/** Tell all who listen. [any-thread] */
void rest_events_tell(struct events *events, const struct toolrack_event *event);
