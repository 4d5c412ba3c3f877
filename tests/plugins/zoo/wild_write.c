/* Fault: writes to an address at which no process has memory. */
#include "zoo.h"

static tr_status zoo_wild_write(struct tr_call *call) {
    volatile uintptr_t somewhere = UINT64_C(0xdead000000000000);
    *(volatile int *)somewhere = 1;
    return zoo_survived(call);
}
ZOO_FAULT(zoo_wild_write)
ZOO_PLUGIN(zoo_wild_write)
