/* Fault: ends its process with status 3. */
#include <stdlib.h>

#include "zoo.h"

static volatile bool sound;

static tr_status zoo_exit(struct tr_call *call) {
    if (!sound) {
        exit(3);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_exit)
ZOO_PLUGIN(zoo_exit)
