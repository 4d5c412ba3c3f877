/* Fault: loops for ever. */
#include "zoo.h"

static volatile bool done;

static tr_status zoo_infinite_loop(struct tr_call *call) {
    while (!done) {
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_infinite_loop)
ZOO_PLUGIN(zoo_infinite_loop)
