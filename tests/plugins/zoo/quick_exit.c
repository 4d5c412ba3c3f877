/* Fault: ends its process with status 5 by quick_exit(). */
#include <stdlib.h>

#include "zoo.h"

static volatile bool sound;

static tr_status zoo_quick_exit(struct tr_call *call) {
    if (!sound) {
        quick_exit(5);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_quick_exit)
ZOO_PLUGIN(zoo_quick_exit)
