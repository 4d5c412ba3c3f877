/* No fault: says in which process and on which thread it runs. */
#include <unistd.h>

#include "zoo.h"

static tr_status zoo_pid(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_i64(call, "process", getpid());
    (void)tr_put_i64(call, "thread", gettid());
    return tr_put_end(call);
}
TR_JSON_TOOL(zoo_pid, "Give process id and thread id", ZOO_NO_ARGUMENTS)
TR_PLUGIN("zoo_pid", "1.0.0", zoo_pid)
