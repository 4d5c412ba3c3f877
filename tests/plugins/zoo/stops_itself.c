/* Fault: stops its process, which then neither answers nor ends. */
#include <signal.h>

#include "zoo.h"

static tr_status zoo_stops_itself(struct tr_call *call) {
    (void)raise(SIGSTOP);
    return zoo_survived(call);
}
ZOO_FAULT(zoo_stops_itself)
ZOO_PLUGIN(zoo_stops_itself)
