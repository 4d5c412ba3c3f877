/* No fault: sleeps as long as it is told, and listens to its host meanwhile. */
#include "nap.h"

static uint32_t zoo_sleep(struct tr_call *call, uint32_t ms) {
    return nap(call, ms);
}
TR_TOOL(zoo_sleep, "Sleep", TR_U32, TR_CALL, (TR_U32, ms, "milliseconds", TR_MAXIMUM(60000)))
TR_PLUGIN("zoo_sleep", "1.0.0", zoo_sleep)
