/* Fault: crashes in a constructor, before it is loaded. */
#include "zoo.h"

__attribute__((constructor)) static void begin(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static tr_status zoo_constructor_crashes(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_constructor_crashes)
ZOO_PLUGIN(zoo_constructor_crashes)
