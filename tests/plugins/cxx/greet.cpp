// A plugin in C++17. The macros of the SDK are C, so the records are filled by hand, in constexpr
// functions: that way they are constant data, which the host reads without running the plugin.
#include <toolrack/plugin.h>

#include <exception>
#include <string>

namespace {

// No exception may leave a tool: the host is C.
tr_status greet(tr_call *call) noexcept {
    try {
        const std::string name = tr_get_string(call, "name", "world");
        const std::string text = "Hello, " + name + "!";
        return tr_reply_text(call, text.c_str());
    } catch (const std::exception &e) {
        return tr_fail(call, TR_FAILED, nullptr, "%s", e.what());
    }
}

constexpr tr_example examples[] = {{R"({"name": "Ada"})", R"("Hello, Ada!")"}, {"{}", nullptr}};

constexpr tr_tool make_greet() {
    tr_tool tool{};
    tool.size = sizeof(tr_tool);
    tool.flags = TR_READ_ONLY | TR_IDEMPOTENT;
    tool.name = "cxx_greet";
    tool.description = "Greet somebody by name";
    tool.schema = R"({
        "type": "object",
        "properties": {"name": {"type": "string", "description": "whom to greet"}}
    })";
    tool.run = greet;
    tool.examples = examples;
    tool.example_count = sizeof examples / sizeof examples[0];
    tool.example_size = sizeof(tr_example);
    return tool;
}

constexpr tr_tool greet_tool = make_greet();
constexpr const tr_tool *tools[] = {&greet_tool};

constexpr tr_plugin make_plugin() {
    tr_plugin plugin{};
    plugin.magic = TR_MAGIC;
    plugin.size = sizeof(tr_plugin);
    plugin.abi_major = TR_ABI_MAJOR;
    plugin.abi_minor = TR_ABI_MINOR;
    plugin.flags = TR_THREAD_SAFE;
    plugin.id = "test.cxx";
    plugin.version = "1.0.0";
    plugin.tool_count = 1;
    plugin.tool_size = sizeof(tr_tool);
    plugin.tools = tools;
    return plugin;
}

} // namespace

// Declared in the header, extern "C" and visible. constexpr: it compiles only if it is constant.
constexpr tr_plugin toolrack_plugin = make_plugin();
