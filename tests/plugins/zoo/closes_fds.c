/* Fault: closes all descriptors, those that are not its own as well. */
#include <unistd.h>

#include "zoo.h"

static tr_status zoo_closes_fds(struct tr_call *call) {
    for (int fd = 0; fd <= 1024; fd++) {
        (void)close(fd);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_closes_fds)
ZOO_PLUGIN(zoo_closes_fds)
