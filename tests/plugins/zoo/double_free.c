/* Fault: frees a block twice, which the C library notices. */
#include <stdlib.h>

#include "zoo.h"

static tr_status zoo_double_free(struct tr_call *call) {
    void *volatile block = malloc(100); /* volatile: the compiler would warn of what is meant */
    void *volatile same = block;
    free(block);
    free(same);
    return zoo_survived(call);
}
ZOO_FAULT(zoo_double_free)
ZOO_PLUGIN(zoo_double_free)
