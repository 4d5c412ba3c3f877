/* expect: vendr */
#include <toolrack/plugin.h>
static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
TR_PLUGIN(("math", .vendr = "me"), "1.0.0", add)
