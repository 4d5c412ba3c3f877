/* Fault: forks, and each process that it makes forks too, until there are no more to be had. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zoo.h"

/* In each process: forks until it cannot or enough are there, and stays. */
static void multiply(atomic_int *count) {
    while (atomic_fetch_add(count, 1) < ZOO_PROCESSES_MAX) {
        if (fork() != 0) {
            break;
        }
    }
    (void)sleep(ZOO_CHILD_S_MAX); /* no alarm: signals may be blocked */
    _exit(0);
}

static tr_status zoo_fork_bomb(struct tr_call *call) {
    atomic_int *count =
            mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count == MAP_FAILED) {
        return tr_fail(call, TR_FAILED, NULL, "no shared memory: %s", strerrorname_np(errno));
    }
    pid_t child = fork();
    if (child < 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot fork: %s", strerrorname_np(errno));
    }
    if (child == 0) {
        multiply(count);
    }
    while (atomic_load(count) < ZOO_PROCESSES_MAX && !tr_cancelled(call)) {
        (void)usleep(1000);
    }
    return tr_reply_textf(call, "%d processes", atomic_load(count));
}
ZOO_FAULT(zoo_fork_bomb)
ZOO_PLUGIN(zoo_fork_bomb)
