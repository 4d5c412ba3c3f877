// A plugin with one tool, for fixtures in C++ whose fault is elsewhere. See greet.cpp for how the
// records are filled.
#pragma once

#include <toolrack/plugin.h>

constexpr tr_tool make_one_tool(const char *name, tr_status (*run)(tr_call *)) {
    tr_tool tool{};
    tool.size = sizeof(tr_tool);
    tool.name = name;
    tool.description = "For tests";
    tool.schema = R"({"type": "object"})";
    tool.run = run;
    return tool;
}

constexpr tr_plugin make_one_tool_plugin(const char *id, const tr_tool *const *tools) {
    tr_plugin plugin{};
    plugin.magic = TR_MAGIC;
    plugin.size = sizeof(tr_plugin);
    plugin.abi_major = TR_ABI_MAJOR;
    plugin.abi_minor = TR_ABI_MINOR;
    plugin.id = id;
    plugin.version = "1.0.0";
    plugin.license = "MIT";
    plugin.tool_count = 1;
    plugin.tool_size = sizeof(tr_tool);
    plugin.tools = tools;
    return plugin;
}
