/* Fault: replies what is not JSON. */
#include "zoo.h"

static tr_status zoo_broken_json(struct tr_call *call) {
    (void)tr_reply_json(call, "{\"answer\": 42,");
    return TR_OK;
}
ZOO_FAULT(zoo_broken_json)
ZOO_PLUGIN(zoo_broken_json)
