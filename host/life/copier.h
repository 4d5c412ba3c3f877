/* copier.h - calls wait here until the file of their plugin is copied, until their deadlines.
 *
 * Copying a large file, or one on a slow file system, may take minutes, and nothing can stop a read
 * that does not return. So no call copies a file itself: a thread of the copier does, once for all
 * calls that need the copy, and goes on when none of them waits any more. Files of any size are
 * copied so: handing the work over costs a fraction of starting a worker, and how fast a file
 * system is cannot be seen from the size of a file.
 *
 *     none --> copying --> done              the file was copied, or could not be
 *                    \--> renewing --> done   it was exchanged before: it is reloaded
 *
 * A copy that failed is not kept: the next call tries again. */
#pragma once

#include <pthread.h>

#include "base/lock.h"
#include "registry/plugin.h"

/* Most files that are copied for calls at once; others wait for their turn. */
#define COPIER_THREADS_MAX 8u

struct copy;
struct staging;

struct copier {
    struct staging *staging;
    /* The copy of a plugin that a call wants by its name has failed. Reload the file if it was
     * exchanged; it is waited for until `until_ns` at most (0: without limit). Returns whether it
     * was reloaded: another plugin may be registered now. */
    bool (*renew)(void *user, struct plugin *plugin, uint64_t until_ns);
    void *user;

    struct lock lock;       /* guards the members below, the copies, and generation.copy */
    pthread_cond_t work;    /* there is a copy to make, or stopping */
    pthread_cond_t changed; /* the state of a copy, a call was cancelled, or stopping */
    struct copy *first;     /* to be made, the oldest first */
    struct copy **end;
    pthread_t threads[COPIER_THREADS_MAX];
    unsigned thread_count;
    unsigned idle;
    bool stopping;
};

/** The caller sets the members before the lock. */
void copier_init(struct copier *copier);
/** End all waits with TOOLRACK_E_CANCELLED, and the threads. staging_stop() was called. Later waits
 * end so too. */
void copier_stop(struct copier *copier);
/** It is stopped, and nobody waits. */
void copier_finish(struct copier *copier);

/** Have the file of a plugin copied unless that is done: plugin_services.stage. [call-thread] */
int copier_wait(struct copier *copier, struct plugin *plugin, const struct plugin_wait *wait,
                bool *ret_renewed, struct toolrack_error *err);
/** A call that may wait was cancelled. [any-thread] */
void copier_wake(struct copier *copier);
