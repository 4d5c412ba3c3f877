/* Fault: close() never returns. */
#include "zoo.h"

static volatile bool done;

static void end(void) {
    while (!done) {
    }
}

static tr_status zoo_close_hangs(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_close_hangs)
ZOO_PLUGIN_WITH(zoo_close_hangs, .close = end)
