/* What bench-scan copies a thousand times, each with other digits in its names. */
#include <toolrack/plugin.h>

static double bench_0000(double a, double b) {
    return a + b;
}
TR_TOOL(bench_0000, "Add two numbers", TR_F64, (TR_F64, a, "first addend of bench_0000"),
        (TR_F64, b, "second addend of bench_0000"))
TR_PLUGIN("bench_0000", "1.0.0", bench_0000)
