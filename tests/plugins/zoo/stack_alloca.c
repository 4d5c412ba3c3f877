/* Fault: takes more from the stack than there is, by alloca(). */
#include <alloca.h>

#include "zoo.h"

#define PIECE  ((size_t)4096)
#define PIECES 1000000

static volatile char sum;

static tr_status zoo_stack_alloca(struct tr_call *call) {
    for (int i = 0; i < PIECES; i++) {
        volatile char *piece = alloca(PIECE);
        piece[0] = (char)i; /* no page is left out, so the first one beyond the stack is hit */
        sum = (char)(sum + piece[0]);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_stack_alloca)
ZOO_PLUGIN(zoo_stack_alloca)
