/* No fault: sleeps, several calls at once in one process. */
#include "nap.h"

static uint32_t zoo_threadsafe_sleep(struct tr_call *call, uint32_t ms) {
    return nap(call, ms);
}
TR_TOOL(zoo_threadsafe_sleep, "Sleep", TR_U32, TR_CALL,
        (TR_U32, ms, "milliseconds", TR_MAXIMUM(60000)))
TR_PLUGIN(("zoo_threadsafe_sleep", .flags = TR_THREAD_SAFE), "1.0.0", zoo_threadsafe_sleep)
