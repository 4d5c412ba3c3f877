/* Fault: is linked with -z nodelete: it is never unloaded. */
#include "zoo.h"

static tr_status zoo_nodelete(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_nodelete)
ZOO_PLUGIN(zoo_nodelete)
