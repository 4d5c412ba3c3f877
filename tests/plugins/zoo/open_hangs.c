/* Fault: open() never returns. */
#include "zoo.h"

static volatile bool done;

static tr_status begin(struct tr_host *host) {
    while (!done) {
    }
    return tr_host_fail(host, "did not hang");
}

static tr_status zoo_open_hangs(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_open_hangs)
ZOO_PLUGIN_WITH(zoo_open_hangs, .open = begin)
