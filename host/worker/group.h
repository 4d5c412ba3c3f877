/* group.h - what a process group uses: a program and all that it has started (worker/launch.h keeps
 * them in one group). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct group_usage {
    uint64_t memory; /* bytes; what processes share counts once for each unless it was shared out */
    double cpu_s;    /* of those that run, and of those that these have waited for */
    unsigned processes;
};

/** Measure by /proc, which is read whole.
 * @param shares  share out what several processes have: slower, and exact
 * @return false: /proc cannot be read. [any-thread] */
bool group_measure(pid_t group, bool shares, struct group_usage *ret);
