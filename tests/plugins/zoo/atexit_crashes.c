/* Fault: leaves an exit handler behind that crashes. */
#include <stdlib.h>

#include "zoo.h"

static void crash(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static tr_status zoo_atexit_crashes(struct tr_call *call) {
    if (atexit(crash) != 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot leave anything behind");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_atexit_crashes)
ZOO_PLUGIN(zoo_atexit_crashes)
