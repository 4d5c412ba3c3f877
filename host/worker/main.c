/* toolrack-worker - runs one plugin for a host that started it (child.h), or launches a foreign
 * program for it (launch.h). */
#include <malloc.h>
#include <string.h>

#include "base/sanitizer.h"
#include "worker/child.h"
#include "worker/launch.h"

#if SANITIZER_ADDRESS
/* The leak check at exit would stop and trace the process, which the sandbox refuses; the runtime
 * would retry without end. The runtime calls this function whatever the options in the environment
 * say. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) {
    return 1;
}
#endif

/* A call with a large result has several pieces of memory of its size. Taken from the system for
 * each call and given back after it, their pages cost 1.1 of the 8 ms of CPU time that host and
 * worker take to read a file of 1 MiB. A worker that is idle for a while ends, and returns all. */
#define MAPPED_FROM (4 * 1024 * 1024)
#define KEPT_MAX    (16 * 1024 * 1024)

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], LAUNCH_WORD) == 0) {
        launch_main(arguments);
    }
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
    child_main();
}
