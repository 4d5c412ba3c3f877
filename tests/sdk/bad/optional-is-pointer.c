/* expect: the C function add and its TR_TOOL list differ in a type or in the number of parameters */
#include <toolrack/plugin.h>
static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add", TR_F64, (TR_OPTIONAL(TR_F64), a, "first"), (TR_F64, b, "second"))
TR_PLUGIN("math", "1.0.0", add)
