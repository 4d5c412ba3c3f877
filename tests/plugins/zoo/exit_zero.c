/* Fault: ends its process with status 0, as if all were well. */
#include <stdlib.h>

#include "zoo.h"

static volatile bool sound;

static tr_status zoo_exit_zero(struct tr_call *call) {
    if (!sound) {
        exit(0);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_exit_zero)
ZOO_PLUGIN(zoo_exit_zero)
