#include "life/copier.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "life/generation.h"
#include "life/staging.h"

/* Invariants:
 *
 *  (1) generation.copy is NULL, or the copy that is not DONE. Its thread, or the queue, has a
 *      reference to it, and so has each call that waits.
 *  (2) A copy holds its plugin until it is DONE; a call that waits holds it too.
 *  (3) `idle` threads wait for work; a thread is started when there is more work than that. */

enum copy_state {
    COPY_QUEUED,
    COPY_COPYING,
    COPY_RENEWING, /* it could not be copied: `error` is known */
    COPY_DONE
};

/* Guarded by copier->lock. */
struct copy {
    struct copy *next; /* in the queue */
    unsigned refs;
    struct plugin *plugin; /* a reference; NULL when DONE */
    enum copy_state state;
    bool renews;       /* a call wants the plugin of the new file in place of this one */
    uint64_t until_ns; /* the last deadline of these calls; 0: one has none */
    bool is_renewed;
    int code;
    struct toolrack_error error; /* if code < 0 */
};

void copier_init(struct copier *copier) {
    copier->end = &copier->first;
    lock_init(&copier->lock);
    (void)pthread_cond_init(&copier->work, NULL);
    clock_cond_init(&copier->changed);
}

void copier_finish(struct copier *copier) {
    assert(copier->first == NULL && copier->thread_count == 0);
    (void)pthread_cond_destroy(&copier->work);
    (void)pthread_cond_destroy(&copier->changed);
    lock_finish(&copier->lock);
}

static int closing(struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_CANCELLED, "the host is closing");
}

/* Caller holds the lock, as in the functions below. */
static void copy_unref(struct copy *copy) {
    if (--copy->refs == 0) {
        assert(copy->plugin == NULL && copy->state == COPY_DONE);
        free(copy);
    }
}

static void set_state(struct copier *copier, struct copy *copy, enum copy_state state) {
    LOCK_ASSERT_HELD(&copier->lock);
    copy->state = state;
    (void)pthread_cond_broadcast(&copier->changed);
}

/* ------------------------------------------------------------------------ threads */

/* Make a copy, with the reference of the queue. The lock is released meanwhile. */
static void make(struct copier *copier, struct copy *copy) {
    struct plugin *plugin = copy->plugin;
    struct toolrack_error error;
    set_state(copier, copy, COPY_COPYING);
    lock_release(&copier->lock);
    int code = staging_copy(copier->staging, plugin, &error);
    lock_take(&copier->lock);
    copy->code = code;
    if (code < 0) {
        copy->error = error;
    }
    if (code < 0 && copy->renews && !copier->stopping) {
        uint64_t until_ns = copy->until_ns;
        set_state(copier, copy, COPY_RENEWING);
        lock_release(&copier->lock);
        bool is_renewed = copier->renew(copier->user, plugin, until_ns);
        lock_take(&copier->lock);
        copy->is_renewed = is_renewed;
    }
    generation_of(plugin)->copy = NULL; /* (1) */
    copy->plugin = NULL;
    set_state(copier, copy, COPY_DONE);
    copy_unref(copy);
    lock_release(&copier->lock);
    plugin_unref(plugin); /* perhaps the last reference */
    lock_take(&copier->lock);
}

static void *copier_main(void *argument) {
    struct copier *copier = argument;
    lock_take(&copier->lock);
    for (;;) {
        struct copy *copy = copier->first;
        if (copy != NULL) {
            copier->first = copy->next;
            copier->end = copier->first != NULL ? copier->end : &copier->first;
            make(copier, copy);
        } else if (copier->stopping) {
            break;
        } else {
            copier->idle++;
            lock_wait(&copier->lock, &copier->work);
            copier->idle--;
        }
    }
    lock_release(&copier->lock);
    return NULL;
}

void copier_stop(struct copier *copier) {
    lock_take(&copier->lock);
    copier->stopping = true;
    (void)pthread_cond_broadcast(&copier->work);
    (void)pthread_cond_broadcast(&copier->changed);
    lock_release(&copier->lock);
    /* No thread is started any more. */
    for (unsigned i = 0; i < copier->thread_count; i++) {
        (void)pthread_join(copier->threads[i], NULL);
    }
    copier->thread_count = 0;
}

/* --------------------------------------------------------------------------- waits */

/* Whether a thread will make what is queued. */
static bool have_thread(struct copier *copier) {
    LOCK_ASSERT_HELD(&copier->lock);
    unsigned queued = 1;
    for (const struct copy *copy = copier->first; copy != NULL; copy = copy->next) {
        queued++;
    }
    if (queued > copier->idle && copier->thread_count < COPIER_THREADS_MAX &&
        thread_start(&copier->threads[copier->thread_count], copier_main, copier) == 0) {
        copier->thread_count++;
    }
    return copier->thread_count > 0;
}

/* Queue a copy of a plugin's file, which none is made of. */
static int begin(struct copier *copier, struct plugin *plugin, struct copy **ret,
                 struct toolrack_error *err) {
    if (!have_thread(copier)) {
        return error_set(err, TOOLRACK_E_IO,
                         "the host cannot start a thread to copy %s; the process may have too many",
                         plugin->path);
    }
    struct copy *copy = calloc(1, sizeof *copy);
    if (copy == NULL) {
        return error_oom(err);
    }
    copy->refs = 1;
    copy->plugin = plugin_ref(plugin);
    copy->until_ns = 1; /* the earliest time: no call wants it by name yet */
    *copier->end = copy;
    copier->end = &copy->next;
    generation_of(plugin)->copy = copy;
    (void)pthread_cond_signal(&copier->work);
    *ret = copy;
    return 0;
}

static bool is_cancelled(const struct plugin_wait *wait) {
    return wait->cancelled != NULL && atomic_load(wait->cancelled);
}

/* Whether the outcome is known that a call waits for. */
static bool is_known(const struct copy *copy, bool renews) {
    return copy->state == COPY_DONE || (copy->state == COPY_RENEWING && !renews);
}

/* Wait for a copy, with the lock and a reference to the copy. */
static int await(struct copier *copier, const struct copy *copy, const struct plugin_wait *wait,
                 bool *ret_renewed, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&copier->lock);
    struct timespec until = clock_timespec(wait->deadline_ns);
    bool in_time = true;
    while (!is_known(copy, ret_renewed != NULL) && in_time && !copier->stopping &&
           !is_cancelled(wait)) {
        if (wait->deadline_ns == 0) {
            lock_wait(&copier->lock, &copier->changed);
        } else {
            in_time = lock_wait_until(&copier->lock, &copier->changed, &until);
        }
    }
    if (is_known(copy, ret_renewed != NULL)) {
        if (copy->code < 0 && ret_renewed != NULL && copy->is_renewed) {
            *ret_renewed = true;
            return 0;
        }
        if (copy->code < 0 && err != NULL) {
            *err = copy->error;
        }
        return copy->code;
    }
    return copier->stopping ? closing(err)
           : is_cancelled(wait)
                   ? error_set(err, TOOLRACK_E_CANCELLED, "the call was cancelled before it began")
                   : TOOLRACK_E_TIMEOUT;
}

int copier_wait(struct copier *copier, struct plugin *plugin, const struct plugin_wait *wait,
                bool *ret_renewed, struct toolrack_error *err) {
    struct generation *generation = generation_of(plugin);
    LOCK_SCOPE(&copier->lock);
    if (copier->stopping) {
        return closing(err);
    }
    if (atomic_load(&plugin->staged)) {
        return 0;
    }
    struct copy *copy = generation->copy;
    int code = copy == NULL ? begin(copier, plugin, &copy, err) : 0;
    if (code < 0) {
        return code;
    }
    if (ret_renewed != NULL) {
        bool has_limit = wait->deadline_ns != 0 && copy->until_ns != 0;
        copy->renews = true;
        copy->until_ns = !has_limit                           ? 0
                         : wait->deadline_ns > copy->until_ns ? wait->deadline_ns
                                                              : copy->until_ns;
    }
    copy->refs++;
    code = await(copier, copy, wait, ret_renewed, err);
    copy_unref(copy);
    return code;
}

void copier_wake(struct copier *copier) {
    LOCK_SCOPE(&copier->lock);
    (void)pthread_cond_broadcast(&copier->changed);
}
