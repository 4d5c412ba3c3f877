/* threads.h - whether threads of this process run in a piece of its memory.
 *
 * Unmapping a library in which a thread runs crashes the process, and the C library does not check
 * that. These functions read /proc: a thread that was started in that memory, or has called into
 * it, has an address of it on its stack. */
#pragma once

#include <stdint.h>

enum threads_answer {
    THREADS_NONE,
    THREADS_SOME,   /* or a stale value on a stack looks like it */
    THREADS_UNKNOWN /* /proc does not exist or is not readable */
};

/* How often a running thread is checked, a millisecond apart: the kernel shows the stack pointer
 * only of a thread that waits. A thread that is never seen waiting counts as found. */
#define THREADS_LOOKS_MAX 20u

/* Most bytes of one stack that are read, from the stack pointer upwards. */
#define THREADS_STACK_MAX (8u * 1024 * 1024)

/** The present time for threads_in(). [any-thread] */
uint64_t threads_moment(void);

/** Whether another thread, started after `since` (or up to ten milliseconds before, since the
 * kernel's clock of thread starts is coarse), has an address of [begin, end) on its stack.
 * [any-thread] */
enum threads_answer threads_in(uintptr_t begin, uintptr_t end, uint64_t since);
