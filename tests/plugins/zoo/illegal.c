/* Fault: runs an instruction that the processor does not have. */
#include <signal.h>

#include "zoo.h"

static tr_status zoo_illegal(struct tr_call *call) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("ud2");
#else
    (void)raise(SIGILL);
#endif
    return zoo_survived(call);
}
ZOO_FAULT(zoo_illegal)
ZOO_PLUGIN(zoo_illegal)
