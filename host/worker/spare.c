#include "worker/spare.h"

#include "base/arena.h"
#include "worker/spawn.h"

bool spare_fits(const struct crew *crew, bool may_start_others) {
    return !crew->has_environment && !may_start_others;
}

bool spare_take(struct supervisor *supervisor, struct process *ret) {
    if (supervisor->spare.pid >= 0 && !process_is_alive(&supervisor->spare)) {
        process_discard(&supervisor->spare);
    }
    if (supervisor->spare.pid < 0) {
        return false;
    }
    *ret = supervisor->spare;
    supervisor->spare = PROCESS_NONE;
    return true;
}

void spare_renew(struct supervisor *supervisor) {
    if (atomic_exchange(&supervisor->prepares, false) && atomic_load(&supervisor->started) == 0) {
        supervisor->wants_spare = true;
    }
    if (!supervisor->wants_spare || supervisor->spare.pid >= 0 ||
        supervisor_is_stopping(supervisor)) {
        return;
    }
    supervisor->wants_spare = false;
    struct arena arena;
    arena_init(&arena, NULL, 0);
    char *const *environment = process_environment(&arena, NULL);
    if (environment != NULL) {
        (void)process_spawn(supervisor->options.worker_program, environment, false,
                            &supervisor->spare, NULL);
    }
    arena_finish(&arena);
}
