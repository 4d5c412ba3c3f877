/* Fault: crashes in open(). */
#include "zoo.h"

static tr_status begin(struct tr_host *host) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return tr_host_fail(host, "did not crash");
}

static tr_status zoo_open_crashes(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_open_crashes)
ZOO_PLUGIN_WITH(zoo_open_crashes, .open = begin)
