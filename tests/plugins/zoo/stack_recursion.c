/* Fault: recursion without an end. */
#include "zoo.h"

static volatile int depth_max = -1; /* volatile: the end that never comes is not to be seen */

static ZOO_APART int deeper(int depth) {
    volatile char room[512];
    room[depth & 511] = (char)depth;
    if (depth == depth_max) {
        return 0;
    }
    return deeper((depth + 1) & 0xffffff) + room[depth & 511];
}

static tr_status zoo_stack_recursion(struct tr_call *call) {
    return deeper(0) == 0 ? TR_FAILED : zoo_survived(call);
}
ZOO_FAULT(zoo_stack_recursion)
ZOO_PLUGIN(zoo_stack_recursion)
