// hello - one line on what the plugin is for.
#include <toolrack/plugin.hpp>
// @if resources@
#include <toolrack/ext/resources.h>
// @end@

// @if typed@
#include <cmath>
// @end@
// @if resources@
#include <cstring>
// @end@
// @if json@
#include <string>
// @end@

// @if typed@
// A typed tool: the types are those of the function.
static double hello_hypotenuse(double a, double b) {
    return std::sqrt(a * a + b * b);
}
constexpr auto hello_hypotenuse_tool =
        tr::tool<hello_hypotenuse>(
                "hello_hypotenuse",
                "Length of the longest side of a right triangle, in the unit of the other two.",
                tr::param("a", "Length of one short side").exclusive_minimum("0").maximum("1e9"),
                tr::param("b", "Length of the other short side").exclusive_minimum("0").maximum("1e9"))
                .category("math")
                .flags(TR_READ_ONLY | TR_IDEMPOTENT)
                .example(R"({"a": 3, "b": 4})", "5");
// @end@
// @if json@
// A JSON tool: brings its schema, reads arguments by path, and may reply several times.
static tr_status hello_greet(tr::call &call) {
    const std::string name(call.get("name", "world"));
    if (name.empty()) {
        throw tr::error(TR_INVALID_ARGUMENTS, "name", "must not be empty");
    }
    return call.reply("Hello, " + name + "!");
}
constexpr auto hello_greet_tool =
        tr::json_tool<hello_greet>("hello_greet", "Greet somebody by name.", R"({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Whom to greet", "default": "world"}
            },
            "additionalProperties": false
        })")
                .flags(TR_READ_ONLY | TR_IDEMPOTENT)
                .example(R"({"name": "Ada"})", R"("Hello, Ada!")");
// @end@
// @if resources@

// Resources: what a person or a model reads by a URI.
static tr_status hello_list(tr_call *call) {
    return tr_reply_json(call, R"({"resources": [
        {"uri": "notes://hello/about", "name": "about", "mimeType": "text/plain"}
    ]})");
}
static tr_status hello_read(tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    if (std::strcmp(uri, "notes://hello/about") != 0) {
        return TR_OK; // not ours: reply nothing
    }
    return tr_reply_resource_text(call, uri, "text/plain", "What the plugin is for.");
}
static const tr_resources hello_resources = {
        sizeof(tr_resources), 0, hello_list, nullptr, hello_read, nullptr, nullptr, nullptr};

static const void *hello_extension(const char *id) {
    return std::strcmp(id, TR_EXT_RESOURCES) == 0 ? &hello_resources : nullptr;
}
// @end@

TR_PLUGIN(tr::plugin("hello", "0.1.0")
                  .description("One line on what the plugin is for")
                  .license("MIT")
// @if resources@
                  .extensions(hello_extension)
                  .flags(TR_THREAD_SAFE | TR_PLUGIN_RESOURCES),
// @else@
                  .flags(TR_THREAD_SAFE),
// @end@
// @if typed@
          hello_hypotenuse_tool)
// @else@
          hello_greet_tool)
// @end@
