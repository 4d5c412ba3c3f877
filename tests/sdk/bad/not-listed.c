/* expect: tr_tool_twice */
#include <toolrack/plugin.h>
static double add(double a, double b) {
    return a + b;
}
static double twice(double a) {
    return 2 * a;
}
TR_TOOL(add, "Add", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
TR_TOOL(twice, "Double", TR_F64, (TR_F64, a, "number"))
TR_PLUGIN("math", "1.0.0", add)
