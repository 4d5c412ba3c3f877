#include "files/wait.h"

void wait_written(struct wait *wait, uint64_t now_ns) {
    wait->waiting = true;
    wait->writing = true;
    wait->last_ns = now_ns;
}

void wait_ended(struct wait *wait, const struct wait_times *times, uint64_t now_ns) {
    if (!wait->ended) {
        wait->ended = true;
        wait->first_ns = now_ns;
    }
    wait->waiting = true;
    wait->writing = false;
    wait->overdue = now_ns - wait->first_ns >= times->starve_ns;
    wait->last_ns = now_ns;
}

uint64_t wait_due_ns(const struct wait *wait, const struct wait_times *times) {
    if (!wait->waiting) {
        return WAIT_NEVER;
    }
    if (wait->overdue) {
        return wait->first_ns + times->starve_ns;
    }
    if (wait->writing) {
        return wait->last_ns + times->settle_ns;
    }
    uint64_t settled = wait->last_ns + times->debounce_ns;
    uint64_t starved = wait->first_ns + times->starve_ns;
    return settled < starved ? settled : starved;
}

void wait_told(struct wait *wait) {
    bool again = wait->overdue && wait->writing;
    *wait = (struct wait){.waiting = again, .writing = again, .last_ns = wait->last_ns};
}
