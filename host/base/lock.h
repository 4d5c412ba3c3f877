/* lock.h - a mutex that knows which thread holds it.
 *
 * A function whose comment says "caller holds the lock" asserts it with LOCK_ASSERT_HELD(). A build
 * with NDEBUG stores no holder: there a lock costs as much as a mutex. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/cleanup.h"

struct lock {
    pthread_mutex_t mutex;
#ifndef NDEBUG
    /* 0: none. Each thread writes only its own id and 0, and resets the id before it releases the
     * mutex, so a thread finds its own id here only while it holds the lock. */
    _Atomic(pthread_t) holder;
#endif
};

#define LOCK_INIT \
    { .mutex = PTHREAD_MUTEX_INITIALIZER }

static inline void lock_init(struct lock *lock) {
    *lock = (struct lock)LOCK_INIT;
}

/** The lock must not be held. */
static inline void lock_finish(struct lock *lock) {
    (void)pthread_mutex_destroy(&lock->mutex);
}

/** Whether the calling thread holds it; in a build with NDEBUG always true. For assertions only. */
static inline bool lock_is_mine(struct lock *lock) {
#ifndef NDEBUG
    return atomic_load_explicit(&lock->holder, memory_order_relaxed) == pthread_self();
#else
    (void)lock;
    return true;
#endif
}

#ifndef NDEBUG
#define LOCK_ASSERT_HELD(lock) assert(lock_is_mine(lock))
#else
#define LOCK_ASSERT_HELD(lock) ((void)(lock))
#endif

static inline void lock_note_holder(struct lock *lock, bool is_held) {
#ifndef NDEBUG
    atomic_store_explicit(&lock->holder, is_held ? pthread_self() : 0, memory_order_relaxed);
#else
    (void)lock;
    (void)is_held;
#endif
}

static inline void lock_take(struct lock *lock) {
    assert(!lock_is_mine(lock) && "the thread that holds a lock would wait for itself");
    (void)pthread_mutex_lock(&lock->mutex);
    lock_note_holder(lock, true);
}

static inline void lock_release(struct lock *lock) {
    LOCK_ASSERT_HELD(lock);
    lock_note_holder(lock, false);
    (void)pthread_mutex_unlock(&lock->mutex);
}

/** Wait for a signal of `changed`; the lock is released meanwhile. It may return without a
 * signal. */
static inline void lock_wait(struct lock *lock, pthread_cond_t *changed) {
    LOCK_ASSERT_HELD(lock);
    lock_note_holder(lock, false);
    (void)pthread_cond_wait(changed, &lock->mutex);
    lock_note_holder(lock, true);
}

/** Like lock_wait(), until a time of the condition's clock at most. False: that time was
 * reached. */
static inline bool lock_wait_until(struct lock *lock, pthread_cond_t *changed,
                                   const struct timespec *until) {
    LOCK_ASSERT_HELD(lock);
    lock_note_holder(lock, false);
    int failed = pthread_cond_timedwait(changed, &lock->mutex, until);
    lock_note_holder(lock, true);
    return failed == 0;
}

/** For LOCK_SCOPE(). */
static inline void lock_releasep(struct lock **lock) {
    lock_release(*lock);
}

/** Hold the lock from here to the end of the scope. At most one per function. */
#define LOCK_SCOPE(held)                                         \
    CLEANUP(lock_releasep) struct lock *lock_of_scope_ = (held); \
    lock_take(lock_of_scope_)
