/* Fault: claims to be thread-safe, and keeps what it works on where all threads see it. */
#include <time.h>
#include <toolrack/plugin.h>

static volatile int32_t current;

static int32_t parallel(int32_t n) {
    const struct timespec nap = {.tv_nsec = 1000000};
    current = n;
    (void)nanosleep(&nap, NULL); /* meanwhile others come */
    return current;
}
TR_TOOL(parallel, "Gives what it is given", TR_I32, (TR_I32, n, "a number"))

TR_PLUGIN(("racy", .flags = TR_THREAD_SAFE), "1.0.0", parallel)
