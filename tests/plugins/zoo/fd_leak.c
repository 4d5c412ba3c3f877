/* Fault: takes descriptors until there are no more to be had, and keeps them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

static tr_status zoo_fd_leak(struct tr_call *call) {
    for (int count = 0; count < ZOO_DESCRIPTORS_MAX; count++) {
        if (dup(STDERR_FILENO) < 0) {
            return tr_fail(call, TR_FAILED, NULL, "no descriptor after %d: %s", count,
                           strerrorname_np(errno));
        }
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_fd_leak)
ZOO_PLUGIN(zoo_fd_leak)
