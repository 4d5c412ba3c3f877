/* Fault: makes as many pipes as it can, and each as large as it can. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

#define PIPE_SIZE (1 << 20)

static tr_status zoo_pipe_bomb(struct tr_call *call) {
    int pipes = 0;
    int kilobytes = 0;
    const char *refused = "nothing";
    int ends[2];
    while (pipes < ZOO_DESCRIPTORS_MAX && pipe2(ends, O_CLOEXEC) == 0) {
        if (fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE) < 0) {
            refused = strerrorname_np(errno);
        }
        int size = fcntl(ends[1], F_GETPIPE_SZ);
        kilobytes += size > 0 ? size >> 10 : 0;
        pipes++;
    }
    return tr_fail(call, TR_FAILED, NULL, "%d KiB a pipe; refused: %s",
                   pipes > 0 ? kilobytes / pipes : 0, refused);
}
ZOO_FAULT(zoo_pipe_bomb)
ZOO_PLUGIN(zoo_pipe_bomb)
