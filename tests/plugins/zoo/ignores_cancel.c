/* Fault: works for an hour in short steps, and never asks whether anybody still waits. */
#include <time.h>

#include "zoo.h"

#define STEPS 360000

static tr_status zoo_ignores_cancel(struct tr_call *call) {
    for (int i = 0; i < STEPS; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 10 * 1000000}, NULL);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_ignores_cancel)
ZOO_PLUGIN(zoo_ignores_cancel)
