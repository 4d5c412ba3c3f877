/* Fault: prints 8 MB on standard error, all in one line that does not end. */
#include <string.h>
#include <unistd.h>

#include "zoo.h"

#define PIECES 2000

static tr_status zoo_stderr_endless(struct tr_call *call) {
    char piece[4096];
    memset(piece, 'e', sizeof piece);
    for (int i = 0; i < PIECES; i++) {
        if (write(STDERR_FILENO, piece, sizeof piece) < 0) {
            return tr_fail(call, TR_FAILED, NULL, "standard error takes no more");
        }
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_stderr_endless)
ZOO_PLUGIN(zoo_stderr_endless)
