/* expect: prioritty */
#include <toolrack/plugin.h>
static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, ("Add", .prioritty = 5), TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
TR_PLUGIN("math", "1.0.0", add)
