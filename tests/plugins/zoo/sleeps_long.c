/* Fault: sleeps past every deadline. */
#include <time.h>

#include "zoo.h"

static tr_status zoo_sleeps_long(struct tr_call *call) {
    (void)nanosleep(&(struct timespec){.tv_sec = 3600}, NULL);
    return zoo_survived(call);
}
ZOO_FAULT(zoo_sleeps_long)
ZOO_PLUGIN(zoo_sleeps_long)
