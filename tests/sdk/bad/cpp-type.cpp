/* expect: no JSON is known for this type */
#include <toolrack/plugin.hpp>
static long double twice(long double a) {
    return 2 * a;
}
constexpr auto twice_tool = tr::tool<twice>("twice", "Double", tr::param("a", "a number"));
TR_PLUGIN(tr::plugin("math", "1.0.0"), twice_tool)
