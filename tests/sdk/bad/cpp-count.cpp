/* expect: the tool has another number of parameters than its function */
#include <toolrack/plugin.hpp>
static double add(double a, double b) {
    return a + b;
}
constexpr auto add_tool = tr::tool<add>("add", "Add", tr::param("a", "first"));
TR_PLUGIN(tr::plugin("math", "1.0.0"), add_tool)
