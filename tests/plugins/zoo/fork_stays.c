/* Fault: forks and returns, and the child stays, in a session of its own. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

static tr_status zoo_fork_stays(struct tr_call *call) {
    pid_t child = fork();
    if (child < 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot fork: %s", strerrorname_np(errno));
    }
    if (child == 0) {
        (void)setsid();
        (void)sleep(ZOO_CHILD_S_MAX); /* no alarm: signals may be blocked */
        _exit(0);
    }
    return tr_reply_text(call, "forked");
}
ZOO_FAULT(zoo_fork_stays)
ZOO_PLUGIN(zoo_fork_stays)
