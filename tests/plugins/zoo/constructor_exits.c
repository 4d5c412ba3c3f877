/* Fault: ends its process with status 6 in a constructor. */
#include <stdlib.h>

#include "zoo.h"

__attribute__((constructor)) static void begin(void) {
    exit(6);
}

static tr_status zoo_constructor_exits(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_constructor_exits)
ZOO_PLUGIN(zoo_constructor_exits)
