/* Fault: takes memory and touches it until there is none, and does not look whether it got it. */
#include <stdlib.h>

#include "zoo.h"

#define PIECE ((size_t)1 << 20)

static tr_status zoo_memory_hog(struct tr_call *call) {
    for (size_t taken = 0; taken < ZOO_MEMORY_MAX; taken += PIECE) {
        volatile char *volatile piece = malloc(PIECE);
        for (size_t at = 0; at < PIECE; at += 4096) {
            piece[at] = 1;
        }
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_memory_hog)
ZOO_PLUGIN(zoo_memory_hog)
