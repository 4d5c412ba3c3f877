/* expect: const char * */
#include <toolrack/plugin.h>
static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, ("Add", TR_EXAMPLES(TR_EXAMPLE("{\"a\": 1, \"b\": 2}", 3))), TR_F64,
        (TR_F64, a, "first"), (TR_F64, b, "second"))
TR_PLUGIN("math", "1.0.0", add)
