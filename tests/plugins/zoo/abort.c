/* Fault: aborts, as a failed assertion does. */
#include <stdlib.h>

#include "zoo.h"

static volatile bool sound;

static tr_status zoo_abort(struct tr_call *call) {
    if (!sound) {
        abort();
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_abort)
ZOO_PLUGIN(zoo_abort)
