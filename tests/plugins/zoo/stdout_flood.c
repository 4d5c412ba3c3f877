/* Fault: prints 50 MB on standard output. */
#include <string.h>

#include "zoo.h"

#define LINES 500000

static tr_status zoo_stdout_flood(struct tr_call *call) {
    char line[101];
    memset(line, 'o', sizeof line - 2);
    line[sizeof line - 2] = '\n';
    line[sizeof line - 1] = '\0';
    for (int i = 0; i < LINES; i++) {
        (void)fputs(line, stdout);
    }
    (void)fflush(stdout);
    return zoo_survived(call);
}
ZOO_FAULT(zoo_stdout_flood)
ZOO_PLUGIN(zoo_stdout_flood)
