/* Fault: a typed tool returns a string that is not UTF-8. */
#include "zoo.h"

static const char *zoo_invalid_string(void) {
    return "caf\xe9";
}
TR_TOOL(zoo_invalid_string, "Commits its fault", TR_STRING)
ZOO_PLUGIN(zoo_invalid_string)
