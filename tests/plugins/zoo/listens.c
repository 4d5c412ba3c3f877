/* No fault, but as slow as the one that ignores it: ends when it is cancelled. */
#include <time.h>

#include "zoo.h"

#define STEPS 360000

static tr_status zoo_listens(struct tr_call *call) {
    for (int i = 0; i < STEPS; i++) {
        if (tr_cancelled(call)) {
            return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 10 * 1000000}, NULL);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_listens)
ZOO_PLUGIN(zoo_listens)
