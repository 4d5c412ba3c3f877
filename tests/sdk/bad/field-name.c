/* expect: no member named */
#include <toolrack/plugin.h>
struct point {
    double x;
    float y;
};
TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "x"), (TR_F32, z, "z"))
static struct point same(struct point p) {
    return p;
}
TR_TOOL(same, "Same", TR_STRUCT(point), (TR_STRUCT(point), p, "point"))
TR_PLUGIN("point", "1.0.0", same)
