/* Fault: writes through a null pointer. */
#include "zoo.h"

static tr_status zoo_null_deref(struct tr_call *call) {
    /* Both volatile: the compiler leaves out what it sees to be a fault. */
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return zoo_survived(call);
}
ZOO_FAULT(zoo_null_deref)
ZOO_PLUGIN(zoo_null_deref)
