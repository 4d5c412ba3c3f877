/* Fault: crashes in close(). */
#include "zoo.h"

static void end(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static tr_status zoo_close_crashes(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_close_crashes)
ZOO_PLUGIN_WITH(zoo_close_crashes, .close = end)
