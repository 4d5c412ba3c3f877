/* listeners.h - functions that receive the events of a host, added and removed while it runs.
 *
 * A listener that was removed is called no more, and listeners_remove() returns when no callback of
 * it runs, except on the thread that removes it. */
#pragma once

#include "base/cleanup.h"
#include "toolrack/toolrack.h"

struct listeners;

/** NULL when out of memory. */
struct listeners *listeners_create(void);
/** No callback may be running. NULL is ignored. */
void listeners_destroy(struct listeners *listeners);
CLEANUP_DEFINE(struct listeners, listeners_destroy)

/** @return 0; TOOLRACK_E_EXISTS; TOOLRACK_E_NO_MEMORY. [any-thread] */
int listeners_add(struct listeners *listeners, toolrack_listener *function, void *user,
                  struct toolrack_error *err);
void listeners_remove(struct listeners *listeners, toolrack_listener *function, void *user);

/** Call all. No lock is held meanwhile. [any-thread] */
void listeners_tell(struct listeners *listeners, const struct toolrack_event *event);
