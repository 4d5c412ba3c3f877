#include "call/spin.h"

#include <sched.h>

#include "base/clock.h"

/* Looks between two looks at the clock, which costs as much as several. */
#define LOOKS_BY_CLOCK 16

void spin_init(struct spin *spin) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    spin->possible = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
    atomic_init(&spin->misses, 0);
}

bool spin_worthwhile(struct spin *spin) {
    if (!spin->possible) {
        return false;
    }
    unsigned misses = atomic_load_explicit(&spin->misses, memory_order_relaxed);
    if (misses < SPIN_MISSES_MAX) {
        return true;
    }
    atomic_store_explicit(&spin->misses, misses + 1, memory_order_relaxed);
    return misses % SPIN_PROBE_EACH == 0;
}

/* Tell the CPU that this is a spin; its sibling gets what this thread does not use. */
static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

bool spin_while_zero(struct spin *spin, const atomic_uint *word) {
    uint64_t until_ns = clock_now_ns() + SPIN_NS_MAX;
    do {
        for (int i = 0; i < LOOKS_BY_CLOCK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != 0) {
                atomic_store_explicit(&spin->misses, 0, memory_order_relaxed);
                return true;
            }
            relax();
        }
    } while (clock_now_ns() < until_ns);
    /* Lost counts of two that miss at once do no harm. */
    unsigned misses = atomic_load_explicit(&spin->misses, memory_order_relaxed);
    if (misses < SPIN_MISSES_MAX) {
        atomic_store_explicit(&spin->misses, misses + 1, memory_order_relaxed);
    }
    return false;
}
