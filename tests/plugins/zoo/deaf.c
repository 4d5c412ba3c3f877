/* Fault: a tool of a thread-safe plugin sees that its call is over, and goes on. Alone it comes to
 * what ignores_cancel comes to; what matters is the call beside it, in the same process. */
#include <stdatomic.h>
#include <time.h>

#include "zoo.h"

/* Longer than the time that a tool has to end: 250 ms. */
#define OUTSTAYED_MS 600

static atomic_bool has_outstayed;

static void pause_ms(long ms) {
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static tr_status zoo_deaf(struct tr_call *call) {
    tr_progress(call, 1, 0, "it runs");
    while (!tr_cancelled(call)) {
        pause_ms(1);
    }
    pause_ms(OUTSTAYED_MS);
    atomic_store(&has_outstayed, true);
    for (int s = 0; s < 3600; s++) {
        pause_ms(1000);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_deaf)

static uint32_t zoo_deaf_neighbour(struct tr_call *call) {
    tr_progress(call, 1, 0, "it runs");
    while (!atomic_load(&has_outstayed) && !tr_cancelled(call)) {
        pause_ms(1);
    }
    return atomic_load(&has_outstayed) ? 42 : 0;
}
TR_TOOL(zoo_deaf_neighbour, "Wait until the other tool has gone on for too long", TR_U32, TR_CALL)

ZOO_SOUND(zoo_deaf)
TR_PLUGIN(("zoo_deaf", .flags = TR_THREAD_SAFE), "1.0.0", zoo_deaf, zoo_deaf_neighbour, zoo_deaf_ok)
