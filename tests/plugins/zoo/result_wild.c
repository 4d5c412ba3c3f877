/* Fault: a typed tool returns a pointer to nothing, which whoever reads the result follows. */
#include "zoo.h"

static const char *zoo_result_wild(void) {
    volatile uintptr_t somewhere = UINT64_C(0xdead000000000000);
    return (const char *)somewhere;
}
TR_TOOL(zoo_result_wild, "Commits its fault", TR_STRING)
ZOO_PLUGIN(zoo_result_wild)
