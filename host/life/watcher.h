/* watcher.h - the threads that notice that plugin files change, and reload them.
 *
 * One thread has the watch of the folders and says which files to look at; up to
 * WATCHER_THREADS_MAX others look, each at another file, so that one which takes long (a slow
 * start, an example that does not return) does not keep the others waiting. */
#pragma once

#include "toolrack/toolrack.h"

struct life;
struct watcher;

#define WATCHER_THREADS_MAX 4u

/* A file that is being written when it is looked at is looked at again so much later, so often; one
 * that is gone once more. */
#define WATCHER_RETRY_MS  100u
#define WATCHER_TRIES_MAX 50u

/** Watch the folders of the host. What has changed in them since they were scanned is found too,
 * and what is in them is copied, so that it can be called and gone back to when it is exchanged.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. */
int watcher_start(struct life *life, struct toolrack_error *err);
/** End the threads and wait for them; NULL is ignored. */
void watcher_stop(struct watcher *watcher);
