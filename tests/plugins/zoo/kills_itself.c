/* Fault: ends its process by a signal that no handler sees. */
#include <signal.h>

#include "zoo.h"

static tr_status zoo_kills_itself(struct tr_call *call) {
    (void)raise(SIGKILL);
    return zoo_survived(call);
}
ZOO_FAULT(zoo_kills_itself)
ZOO_PLUGIN(zoo_kills_itself)
