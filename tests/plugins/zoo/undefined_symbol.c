/* Fault: calls a function that no library has. */
#include "zoo.h"

int toolrack_nowhere_to_be_found(void);

static tr_status zoo_undefined_symbol(struct tr_call *call) {
    return toolrack_nowhere_to_be_found() == 42 ? zoo_survived(call) : TR_FAILED;
}
ZOO_FAULT(zoo_undefined_symbol)
ZOO_PLUGIN(zoo_undefined_symbol)
