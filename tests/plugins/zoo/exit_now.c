/* Fault: ends its process with status 4, without its exit handlers. */
#include <unistd.h>

#include "zoo.h"

static volatile bool sound;

static tr_status zoo_exit_now(struct tr_call *call) {
    if (!sound) {
        _exit(4);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_exit_now)
ZOO_PLUGIN(zoo_exit_now)
