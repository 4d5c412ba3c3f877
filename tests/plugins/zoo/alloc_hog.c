/* Fault: takes more of the call's own memory than a call has. */
#include "zoo.h"

#define PIECE  ((uint64_t)16 << 20)
#define PIECES 64

static tr_status zoo_alloc_hog(struct tr_call *call) {
    for (int i = 0; i < PIECES; i++) {
        if (tr_alloc(call, PIECE) == NULL) {
            return TR_FAILED; /* the call fails by itself */
        }
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_alloc_hog)
ZOO_PLUGIN(zoo_alloc_hog)
