/* Fault: needs a library that is not there, libtoolrack_missing.so.1. */
#include "zoo.h"

int toolrack_missing(void);

static tr_status zoo_missing_library(struct tr_call *call) {
    return toolrack_missing() == 42 ? zoo_survived(call) : TR_FAILED;
}
ZOO_FAULT(zoo_missing_library)
ZOO_PLUGIN(zoo_missing_library)
