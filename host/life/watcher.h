/* watcher.h - the threads that notice changes of plugin files and reload them.
 *
 * One thread has the watch of the folders and queues files; up to WATCHER_THREADS_MAX other threads
 * look at them, each at another file, so that a slow file (a slow start, an example that does not
 * return) does not delay the others. */
#pragma once

#include "toolrack/toolrack.h"

struct life;
struct watcher;

#define WATCHER_THREADS_MAX 4u

/* After how long, and how often, a file that is being written is looked at again. */
#define WATCHER_RETRY_MS  100u
#define WATCHER_TRIES_MAX 50u

/** Watch the folders of the host from now on, on a thread of its own: for a folder of which the
 * kernel has many names in memory, as often /tmp, that takes milliseconds. Nothing is done about
 * changes before watcher_begin().
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. */
int watcher_start(struct life *life, struct toolrack_error *err);
/** The files are registered: look at what has changed since they were read, and at each change. The
 * files are copied, so that they can be called, and rolled back to, after they are exchanged.
 * @return 0, once each folder is watched; otherwise as above. */
int watcher_begin(struct watcher *watcher, struct toolrack_error *err);
/** End the threads and wait for them; NULL is ignored. */
void watcher_stop(struct watcher *watcher);
