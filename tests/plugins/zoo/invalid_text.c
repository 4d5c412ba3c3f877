/* Fault: replies a text that is not UTF-8. */
#include "zoo.h"

static tr_status zoo_invalid_text(struct tr_call *call) {
    (void)tr_reply_text(call, "caf\xe9");
    return TR_OK; /* what the host said of it is ignored as well */
}
ZOO_FAULT(zoo_invalid_text)
ZOO_PLUGIN(zoo_invalid_text)
