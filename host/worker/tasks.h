/* tasks.h - what the processes of a worker are, read from /proc: a host cannot ask them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** The threads of one or more processes, and the CPU time that they have used. */
struct tasks {
    uint32_t threads;
    uint64_t cpu_ns; /* in steps of a clock tick, 10 ms on most machines */
};

/** Count a process and, with `all`, those of its session, which its children cannot leave
 * (sandbox-filter.c). With `all` this reads the state of each process on the machine. False: /proc
 * cannot be read, or the process is gone. [any-thread] */
bool tasks_count(pid_t leader, bool all, struct tasks *ret);
