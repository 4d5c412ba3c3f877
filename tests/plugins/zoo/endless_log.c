/* Fault: logs without end. */
#include "zoo.h"

static volatile bool done;

static tr_status zoo_endless_log(struct tr_call *call) {
    for (unsigned line = 0; !done; line++) {
        tr_log(call, TR_LOG_WARNING, "line %u of a log that never ends", line);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_endless_log)
ZOO_PLUGIN(zoo_endless_log)
