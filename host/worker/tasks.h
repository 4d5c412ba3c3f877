/* tasks.h - what the processes of a worker are, read from /proc: a host cannot ask them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Count the threads of a process and, with `all`, those of its session, which its children cannot
 * leave (sandbox-filter.c). With `all` this reads the state of each process on the machine. False:
 * /proc cannot be read, the process is gone, or there is no memory. [any-thread] */
bool tasks_count(pid_t leader, bool all, uint32_t *ret_threads);

/** What a session has used of CPU time, as far as it was looked at. Zero before the first look. */
struct task_times {
    struct task *tasks; /* that lived at the last look */
    size_t count;
    uint64_t used_ns; /* never falls */
};

/** Add what a process and its session have used since the last look: what each process that lives
 * has used, and what those had used that ended and were waited for. Of a process that ends and is
 * waited for by nobody in the session (its parent ignores SIGCHLD, or is gone), the kernel tells
 * nothing: it counts until it was last seen. False: as tasks_count(); nothing was added.
 * [any-thread] */
bool tasks_look(struct task_times *times, pid_t leader);
void task_times_finish(struct task_times *times);
