/* wait.h - how long something that changes is left alone before it is told.
 *
 *      written --- closed, renamed, removed, linked ---> settling
 *         ^                                                 |
 *         +--------------- written to, or made -------------+
 *
 *   written   somebody has it open and writes: due `settle_ns` after the last event
 *   settling  due `debounce_ns` after the last event, but no later than `starve_ns` after the first
 *             event that ended in this state; a writer that comes after that moment is too late to
 *             stop it (`overdue`) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct wait_times {
    uint64_t debounce_ns;
    uint64_t starve_ns;
    uint64_t settle_ns;
};

struct wait {
    bool waiting; /* an event came; the rest means nothing without */
    bool writing;
    bool ended; /* an event came after which nobody writes, at first_ns for the first time */
    bool overdue;
    uint64_t first_ns;
    uint64_t last_ns;
};

/** wait_due_ns(): nothing is waited for. */
#define WAIT_NEVER UINT64_MAX

/** An event came that leaves it open for writing, or one that ends in the settling state. */
void wait_written(struct wait *wait, uint64_t now_ns);
void wait_ended(struct wait *wait, const struct wait_times *times, uint64_t now_ns);

/** When it is due, or WAIT_NEVER. */
uint64_t wait_due_ns(const struct wait *wait, const struct wait_times *times);

/** It is told now. What is left to wait for: it may be written to again already. */
void wait_told(struct wait *wait);
