/* mailbox.h - the least that carries bytes to another process and back, and where the two run.
 *
 * A mailbox each way: a number, a length, the bytes; who waits spins when the other side last ran
 * on another CPU and sleeps on a futex after that, as the channel does. It checks nothing, trusts
 * the lengths, and copies as often: in, out, in, out. */
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SMALL      200u
#define LARGE      (1024u * 1024)
#define SPIN_LOOKS 2000

struct box {
    _Alignas(64) atomic_uint number;
    uint32_t size;
    _Alignas(64) atomic_uint sleeps; /* who reads this box */
    _Alignas(64) atomic_int cpu;     /* who writes it */
    _Alignas(64) char bytes[LARGE + 64];
};

struct boxes {
    struct box to_worker;
    struct box to_host;
};

static inline void box_send(struct box *box, const char *bytes, uint32_t size) {
    memcpy(box->bytes, bytes, size);
    box->size = size;
    atomic_store_explicit(&box->cpu, sched_getcpu(), memory_order_relaxed);
    atomic_fetch_add(&box->number, 1);
    if (atomic_load(&box->sleeps) != 0) {
        (void)syscall(SYS_futex, &box->number, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static inline uint32_t box_receive(struct box *box, unsigned seen, bool spins, char *bytes) {
    if (spins && atomic_load_explicit(&box->cpu, memory_order_relaxed) != sched_getcpu()) {
        for (int i = 0;
             i < SPIN_LOOKS && atomic_load_explicit(&box->number, memory_order_acquire) == seen;
             i++) {
            __builtin_ia32_pause();
        }
    }
    while (atomic_load_explicit(&box->number, memory_order_acquire) == seen) {
        atomic_store(&box->sleeps, 1);
        (void)syscall(SYS_futex, &box->number, FUTEX_WAIT, seen, NULL, NULL, 0);
        atomic_store_explicit(&box->sleeps, 0, memory_order_relaxed);
    }
    uint32_t size = box->size;
    memcpy(bytes, box->bytes, size);
    return size;
}

static inline struct boxes *make_boxes(void) {
    struct boxes *boxes =
            mmap(NULL, sizeof *boxes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (boxes == MAP_FAILED) {
        perror("bench-worker: mmap");
        exit(1);
    }
    return boxes;
}

/* Empty, but for the bytes, which have their pages already. */
static inline void clear_boxes(struct boxes *boxes) {
    memset(&boxes->to_worker, 0, offsetof(struct box, bytes));
    memset(&boxes->to_host, 0, offsetof(struct box, bytes));
}

/* ----------------------------------------------------------------- placement */

enum placement { TWO_CPUS, ONE_CPU, ANY_CPU };

/* The host is on the first CPU, but for ANY_CPU. `pid` 0 is the calling thread. */
static inline void place(pid_t pid, enum placement placement, bool is_host) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t cpu = 0; cpu < 2; cpu++) {
        if (placement == ANY_CPU || cpu == (placement == TWO_CPUS && !is_host)) {
            CPU_SET(cpu, &set);
        }
    }
    if (sched_setaffinity(pid, sizeof set, &set) < 0) {
        perror("bench-worker: two CPUs are needed");
        exit(1);
    }
}
