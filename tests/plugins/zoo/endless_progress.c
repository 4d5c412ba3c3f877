/* Fault: reports progress without end. */
#include "zoo.h"

static volatile bool done;

static tr_status zoo_endless_progress(struct tr_call *call) {
    for (double step = 0; !done; step += 1) {
        tr_progress(call, step, 0, "nearly there");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_endless_progress)
ZOO_PLUGIN(zoo_endless_progress)
