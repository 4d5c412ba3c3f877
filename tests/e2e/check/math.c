#include <toolrack/plugin.h>
static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, ("Add two numbers", TR_EXAMPLES(TR_EXAMPLE("{\"a\": 1, \"b\": 2}", "3"))), TR_F64,
        (TR_F64, a, "first addend"), (TR_F64, b, "second addend"))
TR_PLUGIN(("math", .license = "MIT"), "1.0.0", add)
