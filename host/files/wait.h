/* wait.h - how long a file or folder that changes is waited for before it is reported.
 *
 *      written --- closed, renamed, removed, linked ---> settling
 *         ^                                                 |
 *         +--------------- written to, or made -------------+
 *
 *   written   a process has it open for writing: due `settle_ns` after the last event
 *   settling  due `debounce_ns` after the last event, but no later than `starve_ns` after the first
 *             event that ended in this state; a later writer does not delay it any more (`overdue`)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct wait_times {
    uint64_t debounce_ns;
    uint64_t starve_ns;
    uint64_t settle_ns;
};

struct wait {
    bool waiting; /* an event came; the other members are valid only then */
    bool writing;
    bool ended; /* an event came after which no process writes; first_ns is the time of the first */
    bool overdue;
    uint64_t first_ns;
    uint64_t last_ns;
};

/** wait_due_ns(): not waiting. */
#define WAIT_NEVER UINT64_MAX

/** Record an event that leaves it open for writing, or one that leads to the settling state. */
void wait_written(struct wait *wait, uint64_t now_ns);
void wait_ended(struct wait *wait, const struct wait_times *times, uint64_t now_ns);

/** The time when it is due, or WAIT_NEVER. */
uint64_t wait_due_ns(const struct wait *wait, const struct wait_times *times);

/** It is reported now. If a process already writes to it again, the wait goes on. */
void wait_told(struct wait *wait);
