/* Fault: writes over the end of a block into the next, then frees that. */
#include <stdlib.h>

#include "zoo.h"

#define BLOCK      ((size_t)2000) /* too large for the caches whose checks are weaker */
#define BLOCKS_MAX 1000

static tr_status zoo_heap_overrun(struct tr_call *call) {
    volatile char *volatile first = malloc(BLOCK);
    char *volatile second = malloc(BLOCK);
    /* The first blocks may fill gaps between others. */
    for (int i = 0; i < BLOCKS_MAX && (second < first || second > first + BLOCK + 64); i++) {
        first = second;
        second = malloc(BLOCK);
    }
    for (volatile size_t i = 0; i < BLOCK + 64; i++) {
        first[i] = (char)0xff;
    }
    free(second);

    return zoo_survived(call);
}
ZOO_FAULT(zoo_heap_overrun)
ZOO_PLUGIN(zoo_heap_overrun)
