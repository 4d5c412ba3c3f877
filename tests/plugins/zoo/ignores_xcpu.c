/* Fault: ignores the signal of the limit of CPU time, and never returns. */
#include <signal.h>

#include "zoo.h"

static volatile bool done;

static tr_status zoo_ignores_xcpu(struct tr_call *call) {
    (void)signal(SIGXCPU, SIG_IGN);
    while (!done) {
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_ignores_xcpu)
ZOO_PLUGIN(zoo_ignores_xcpu)
