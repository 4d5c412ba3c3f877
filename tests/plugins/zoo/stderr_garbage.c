/* Fault: prints every byte there is on standard error, in lines of all lengths: zeros, control
 * sequences of terminals, and what is no UTF-8. */
#include <unistd.h>

#include "zoo.h"

#define ROUNDS 300

static tr_status zoo_stderr_garbage(struct tr_call *call) {
    unsigned char bytes[257];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    bytes[256] = '\n';
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t from = i % sizeof bytes;
        if (write(STDERR_FILENO, bytes + from, sizeof bytes - from) < 0 ||
            write(STDERR_FILENO, "\033[2J\033]0;zoo\007\r", 14) < 0) {
            return tr_fail(call, TR_FAILED, NULL, "standard error takes no more");
        }
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_stderr_garbage)
ZOO_PLUGIN(zoo_stderr_garbage)
