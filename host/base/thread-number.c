/* Apart from thread.c, for a worker needs no thread-local variables and so no function of the
 * loader for them. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/thread.h"

unsigned thread_number(void) {
    static atomic_uint threads;
    static _Thread_local unsigned number;
    if (number == 0) {
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    }
    return number;
}

static atomic_uint_fast64_t slots; /* those that threads have, a bit each */
_Static_assert(THREAD_SLOTS <= 64, "a bit each");
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;
static pthread_key_t slots_key;
static bool has_key;
static _Thread_local unsigned own_slot; /* + 1; 0: it has not asked yet */

/* Called as a thread ends. What it wrote for its slot is there for the next one that has it. */
static void give_slot(void *value) {
    unsigned slot = (unsigned)(uintptr_t)value - 1;
    own_slot = THREAD_SLOTS + 1; /* for what else runs as it ends */
    (void)atomic_fetch_and_explicit(&slots, ~(UINT64_C(1) << slot), memory_order_release);
}

static void make_key(void) {
    has_key = pthread_key_create(&slots_key, give_slot) == 0;
}

/* Threads may end after the library was unloaded. */
__attribute__((destructor)) static void delete_key(void) {
    if (has_key) {
        (void)pthread_key_delete(slots_key);
    }
}

static unsigned take_slot(void) {
    uint_fast64_t taken = atomic_load_explicit(&slots, memory_order_relaxed);
    unsigned slot;
    do {
        if (taken == UINT64_MAX) {
            return THREAD_SLOTS;
        }
        slot = (unsigned)__builtin_ctzll(~taken);
    } while (!atomic_compare_exchange_weak_explicit(&slots, &taken, taken | UINT64_C(1) << slot,
                                                    memory_order_acquire, memory_order_relaxed));
    if (pthread_setspecific(slots_key, (void *)(uintptr_t)(slot + 1)) != 0) {
        give_slot((void *)(uintptr_t)(slot + 1));
        return THREAD_SLOTS;
    }
    return slot;
}

unsigned thread_slot(void) {
    if (own_slot == 0) {
        (void)pthread_once(&slots_once, make_key);
        own_slot = (has_key ? take_slot() : THREAD_SLOTS) + 1;
    }
    return own_slot - 1;
}
