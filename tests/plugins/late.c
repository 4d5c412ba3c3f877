/* Tools that do not end after some calls. */
#include <limits.h>
#include <time.h>
#include <toolrack/plugin.h>

/* How long what does not end runs at most. */
#define LONG_MS 4000

static void work(void) {
    const struct timespec nap = {.tv_sec = LONG_MS / 1000};
    (void)nanosleep(&nap, NULL);
}

/* In a worker only, where calls have a deadline. */
static void nap_once(struct tr_call *call) {
    static bool has_napped;
    const struct timespec nap = {.tv_nsec = 40 * 1000000L};
    if (!has_napped && tr_time_left_ms(call) < LONG_MS) {
        (void)nanosleep(&nap, NULL);
    }
    has_napped = true;
}

static int32_t at_bound(struct tr_call *call, int32_t n) {
    nap_once(call);
    if (n == INT32_MAX) {
        work();
    }
    return 1;
}
TR_TOOL(at_bound, "Does not end at the largest number, and takes long at its first call", TR_I32,
        TR_CALL, (TR_I32, n, "a number"))

static int32_t lock(struct tr_call *call, int32_t n) {
    static bool is_locked;
    if (is_locked) {
        work();
    } else if (n < 0) {
        is_locked = true;
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "n", "must not be negative");
    }
    return 1;
}
TR_TOOL(lock, "Keeps its lock where it fails", TR_I32, TR_CALL, (TR_I32, n, "a number"))

TR_PLUGIN("late", "1.0.0", at_bound, lock)
