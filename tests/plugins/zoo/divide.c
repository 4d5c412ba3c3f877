/* Fault: divides by zero. */
#include <signal.h>

#include "zoo.h"

static tr_status zoo_divide(struct tr_call *call) {
    volatile int zero = 0;
    volatile int quotient = 42 / zero;
    (void)quotient;
#if !defined(__x86_64__) && !defined(__i386__)
    (void)raise(SIGFPE); /* other processors give 0 */
#endif
    return zoo_survived(call);
}
ZOO_FAULT(zoo_divide)
ZOO_PLUGIN(zoo_divide)
