/* Fault: takes one huge block, does not look whether it got it, and writes to all of it. */
#include <stdlib.h>

#include "zoo.h"

static tr_status zoo_memory_huge(struct tr_call *call) {
    volatile char *volatile block = malloc(ZOO_MEMORY_MAX);
    for (size_t at = 0; at < ZOO_MEMORY_MAX; at += 4096) {
        block[at] = 1;
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_memory_huge)
ZOO_PLUGIN(zoo_memory_huge)
