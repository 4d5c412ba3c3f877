/* expect: the C function add and its TR_TOOL list differ in a type or in the number of parameters */
#include <toolrack/plugin.h>
static double add(const void *a, double b, size_t size) {
    return b + (double)size + (a != NULL);
}
TR_TOOL(add, "Add", TR_F64, (TR_BYTES, a, "first"), (TR_F64, b, "second"))
TR_PLUGIN("math", "1.0.0", add)
