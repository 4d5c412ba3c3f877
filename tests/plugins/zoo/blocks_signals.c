/* Fault: blocks all signals, then loops for ever. */
#include <signal.h>

#include "zoo.h"

static volatile bool done;

static tr_status zoo_blocks_signals(struct tr_call *call) {
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    while (!done) {
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_blocks_signals)
ZOO_PLUGIN(zoo_blocks_signals)
