#include "base/spin.h"

#include "base/clock.h"
#include "base/thread.h"

/* Polls between two readings of the clock, which costs as much as several polls. */
#define LOOKS_BY_CLOCK 16

void spin_init(struct spin *spin, uint32_t ns_max) {
    spin->possible = thread_cpu_count() > 1;
    spin->ns_max = ns_max;
    atomic_init(&spin->credit, SPIN_CREDIT_MAX);
    atomic_init(&spin->skipped, 0);
}

bool spin_worthwhile(struct spin *spin) {
    if (!spin->possible) {
        return false;
    }
    if (atomic_load_explicit(&spin->credit, memory_order_relaxed) > 0) {
        return true;
    }
    return atomic_fetch_add_explicit(&spin->skipped, 1, memory_order_relaxed) % SPIN_PROBE_EACH ==
           SPIN_PROBE_EACH - 1;
}

/* A concurrent change may get lost, which is harmless: credit is only a tendency. */
static void earn(struct spin *spin, int credit) {
    credit += atomic_load_explicit(&spin->credit, memory_order_relaxed);
    credit = credit < 0 ? 0 : credit > SPIN_CREDIT_MAX ? SPIN_CREDIT_MAX : credit;
    atomic_store_explicit(&spin->credit, credit, memory_order_relaxed);
}

/* Tell the CPU that this is a spin; its sibling thread gets the free resources. */
static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

bool spin_while(struct spin *spin, const atomic_uint *word, unsigned value) {
    uint64_t until_ns = 0; /* no reading of the clock if the word changes at once */
    uint64_t now_ns = 0;
    do {
        for (int i = 0; i < LOOKS_BY_CLOCK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) {
                earn(spin, 1);
                return true;
            }
            relax();
        }
        now_ns = clock_now_ns();
        until_ns = until_ns == 0 ? now_ns + spin->ns_max : until_ns;
    } while (now_ns < until_ns);
    earn(spin, -2);
    return false;
}
