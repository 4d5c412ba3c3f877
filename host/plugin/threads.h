/* threads.h - whether threads of this process run in a piece of its memory.
 *
 * A library that is unmapped under a running thread takes the process down, and the C library
 * does not look. We look at /proc: a thread that was started there, or was called into it, has an
 * address of that memory on its stack. */
#pragma once

#include <stdint.h>

enum threads_answer {
    THREADS_NONE,
    THREADS_SOME,   /* also when leftovers on a stack only look like it */
    THREADS_UNKNOWN /* there is no /proc, or it is out of reach */
};

/* How often, with a millisecond between, a thread is asked that was found running: only of one
 * that waits does the kernel say where its stack is. One that never waits counts as found. */
#define THREADS_LOOKS_MAX 20u

/* Most of one stack that is read, from where the thread is upwards. */
#define THREADS_STACK_MAX (8u * 1024 * 1024)

/** A moment for threads_in(). [any-thread] */
uint64_t threads_moment(void);

/** Whether another thread, started since the moment (or, the kernel's clock of threads being
 * coarse, some ten milliseconds before), has something of [begin, end) on its stack. [any-thread]
 */
enum threads_answer threads_in(uintptr_t begin, uintptr_t end, uint64_t since);
