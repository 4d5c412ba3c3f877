/* Fault: open() fails, and says why. */
#include "zoo.h"

static tr_status begin(struct tr_host *host) {
    return tr_host_fail(host, "the cellar is flooded");
}

static tr_status zoo_open_refuses(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_open_refuses)
ZOO_PLUGIN_WITH(zoo_open_refuses, .open = begin)
