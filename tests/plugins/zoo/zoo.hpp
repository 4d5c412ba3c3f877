// zoo.hpp - the plugin record of the fixtures in C++, where the macros of the SDK do not work.
#pragma once

#include <toolrack/plugin.h>

// A fixture of one fault: its tool and the sound one, which gives 42.
#define ZOO_PLUGIN(function_)                                                        \
    static tr_status function_##_ok(tr_call *call) {                                 \
        return tr_reply_json(call, "42");                                            \
    }                                                                                \
    static constexpr tr_tool zoo_fault = zoo_tool(#function_, function_);            \
    static constexpr tr_tool zoo_sound = zoo_tool(#function_ "_ok", function_##_ok); \
    static constexpr const tr_tool *zoo_tools[] = {&zoo_fault, &zoo_sound};          \
    constexpr tr_plugin toolrack_plugin = zoo_plugin(#function_, zoo_tools);

constexpr tr_tool zoo_tool(const char *name, tr_status (*run)(tr_call *)) {
    tr_tool tool{};
    tool.size = sizeof(tr_tool);
    tool.name = name;
    tool.description = "Commits its fault, or gives 42";
    tool.schema = R"({"type": "object"})";
    tool.run = run;
    return tool;
}

constexpr tr_plugin zoo_plugin(const char *id, const tr_tool *const (&tools)[2]) {
    tr_plugin plugin{};
    plugin.magic = TR_MAGIC;
    plugin.size = sizeof(tr_plugin);
    plugin.abi_major = TR_ABI_MAJOR;
    plugin.abi_minor = TR_ABI_MINOR;
    plugin.id = id;
    plugin.version = "1.0.0";
    plugin.tool_count = 2;
    plugin.tool_size = sizeof(tr_tool);
    plugin.tools = tools;
    return plugin;
}
