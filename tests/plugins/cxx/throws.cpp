// An exception leaves the tool, which C code called: of a class with what(), or a number.
#include "one-tool.hpp"

#include <stdexcept>

static tr_status throws(tr_call *call) {
    if (tr_get_bool(call, "number", false)) {
        throw 42;
    }
    throw std::runtime_error("the bridge is out");
}

constexpr tr_tool throws_tool = make_one_tool("throws", throws);
constexpr const tr_tool *tools[] = {&throws_tool};
constexpr tr_plugin toolrack_plugin = make_one_tool_plugin("throws", tools);
