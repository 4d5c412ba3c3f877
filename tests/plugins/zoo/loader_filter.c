/* Fault: names a library that is to be used in its place (DT_FILTER), which is not there. */
#include "zoo.h"

static tr_status zoo_loader_filter(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_loader_filter)
ZOO_PLUGIN(zoo_loader_filter)
