/* Fault: a constructor that never returns, so that it is never loaded. */
#include "zoo.h"

static volatile bool done;

__attribute__((constructor)) static void begin(void) {
    while (!done) {
    }
}

static tr_status zoo_constructor_hangs(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_constructor_hangs)
ZOO_PLUGIN(zoo_constructor_hangs)
