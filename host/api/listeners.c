#include "api/listeners.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"

struct listener {
    struct listener *next; /* of a greater number */
    uint64_t number;
    toolrack_listener *function;
    void *user;
    unsigned running; /* callbacks, which keep it */
    bool removed;     /* not in the list any more */
    bool orphaned;    /* it was removed by a callback of itself: the last one frees it */
};

struct listeners {
    struct lock lock;    /* guards all listeners */
    pthread_cond_t left; /* a callback of a removed listener has returned */
    struct listener *first;
    uint64_t last_number;
};

/* The callbacks that run on this thread, the innermost first. */
struct telling {
    struct telling *outer;
    const struct listener *listener;
};
static _Thread_local struct telling *telling;

struct listeners *listeners_create(void) {
    struct listeners *listeners = calloc(1, sizeof *listeners);
    if (listeners != NULL) {
        lock_init(&listeners->lock);
        (void)pthread_cond_init(&listeners->left, NULL);
    }
    return listeners;
}

void listeners_destroy(struct listeners *listeners) {
    if (listeners == NULL) {
        return;
    }
    while (listeners->first != NULL) {
        struct listener *next = listeners->first->next;
        free(listeners->first);
        listeners->first = next;
    }
    (void)pthread_cond_destroy(&listeners->left);
    lock_finish(&listeners->lock);
    free(listeners);
}

/* Where a listener is linked, or the end of the list. Caller holds the lock. */
static struct listener **find(struct listeners *listeners, toolrack_listener *function,
                              const void *user) {
    LOCK_ASSERT_HELD(&listeners->lock);
    struct listener **at = &listeners->first;
    while (*at != NULL && ((*at)->function != function || (*at)->user != user)) {
        at = &(*at)->next;
    }
    return at;
}

int listeners_add(struct listeners *listeners, toolrack_listener *function, void *user,
                  struct toolrack_error *err) {
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL) {
        return error_oom(err);
    }
    LOCK_SCOPE(&listeners->lock);
    struct listener **at = find(listeners, function, user);
    if (*at != NULL) {
        free(listener);
        return error_set(err, TOOLRACK_E_EXISTS,
                         "this function receives events with this user pointer already");
    }
    *listener = (struct listener){
            .number = ++listeners->last_number, .function = function, .user = user};
    *at = listener;
    return 0;
}

static unsigned running_here(const struct listener *listener) {
    unsigned count = 0;
    for (const struct telling *at = telling; at != NULL; at = at->outer) {
        count += at->listener == listener;
    }
    return count;
}

void listeners_remove(struct listeners *listeners, toolrack_listener *function, void *user) {
    LOCK_SCOPE(&listeners->lock);
    struct listener **at = find(listeners, function, user);
    struct listener *listener = *at;
    if (listener == NULL) {
        return;
    }
    *at = listener->next;
    listener->removed = true;
    unsigned own = running_here(listener);
    while (listener->running > own) {
        lock_wait(&listeners->lock, &listeners->left);
    }
    if (own == 0) {
        free(listener);
    } else {
        listener->orphaned = true;
    }
}

/* The listener after a number. Caller holds the lock. */
static struct listener *next_after(struct listeners *listeners, uint64_t number) {
    LOCK_ASSERT_HELD(&listeners->lock);
    struct listener *at = listeners->first;
    while (at != NULL && at->number <= number) {
        at = at->next;
    }
    return at;
}

static void tell_one(struct listeners *listeners, struct listener *listener,
                     const struct toolrack_event *event) {
    struct telling here = {.outer = telling, .listener = listener};
    listener->running++;
    lock_release(&listeners->lock);
    telling = &here;
    listener->function(listener->user, event);
    telling = here.outer;
    lock_take(&listeners->lock);
    listener->running--;
    if (listener->orphaned && listener->running == 0) {
        free(listener);
    } else if (listener->removed) {
        (void)pthread_cond_broadcast(&listeners->left);
    }
}

void listeners_tell(struct listeners *listeners, const struct toolrack_event *event) {
    LOCK_SCOPE(&listeners->lock);
    for (struct listener *at = listeners->first; at != NULL;) {
        uint64_t number = at->number;
        tell_one(listeners, at, event);
        at = next_after(listeners, number);
    }
}
