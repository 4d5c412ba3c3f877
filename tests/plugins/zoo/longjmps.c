/* Fault: jumps into a function that has returned. */
#include <setjmp.h>

#include "zoo.h"

#define ROOM 4096

static jmp_buf gone;

static ZOO_APART int remember(void) {
    return setjmp(gone);
}

/* Deep enough on the stack that nothing but overwrite() reaches it later. */
static ZOO_APART int remember_deep(void) {
    volatile char room[ROOM];
    room[0] = 1;
    return remember() + room[0];
}

/* Where remember() had its frame there are zeros now, so that it returns to nowhere. */
static ZOO_APART void overwrite(void) {
    volatile char room[4 * ROOM];
    for (size_t i = 0; i < sizeof room; i++) {
        room[i] = 0;
    }
}

static tr_status zoo_longjmps(struct tr_call *call) {
    if (remember_deep() == 1) {
        overwrite();
        longjmp(gone, 1);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_longjmps)
ZOO_PLUGIN(zoo_longjmps)
