/* rcu.h - reading what a writer replaces: liburcu, the flavour in which any thread may read without
 * being registered first ("bulletproof").
 *
 * A reader brackets its use of the pointer and never waits; a writer publishes another object and
 * waits for the readers of the old one before it frees it. Measured beside plain reference counts
 * on the snapshot: a shared count makes two readers slower together than one alone.
 *
 * ThreadSanitizer cannot see the ordering that the kernel's membarrier gives; the annotations tell
 * it what rcu_synchronize() means: all that a reader did comes before what follows. */
#pragma once

#include "base/sanitizer.h"

#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define RCU_UNDEFINED 1
#endif
#endif

/* Entering and leaving a reader inline: 10 of the 45 ns that a lookup takes otherwise. The macro's
 * name is liburcu's; its header says of these functions that they are short enough to be used by
 * code under any licence. ThreadSanitizer does not understand them, and UBSan finds fault with the
 * alignment of liburcu's own variables: both get the library's. */
#if !SANITIZER_THREAD && !SANITIZER_ADDRESS && !defined(RCU_UNDEFINED)
#define _LGPL_SOURCE
#endif
#include <urcu-bp.h>

#if SANITIZER_THREAD
#include <sanitizer/tsan_interface.h>
extern char rcu_tsan_readers;
#define RCU_TSAN_ACQUIRE() __tsan_acquire(&rcu_tsan_readers)
#define RCU_TSAN_RELEASE() __tsan_release(&rcu_tsan_readers)
#else
#define RCU_TSAN_ACQUIRE() ((void)0)
#define RCU_TSAN_RELEASE() ((void)0)
#endif

static inline void rcu_read_begin(void) {
    urcu_bp_read_lock();
}

static inline void rcu_read_end(void) {
    RCU_TSAN_RELEASE();
    urcu_bp_read_unlock();
}

/** Wait until every reader that may hold an old pointer has ended. Not inside a reader. */
static inline void rcu_synchronize(void) {
    urcu_bp_synchronize_rcu();
    RCU_TSAN_ACQUIRE();
}
