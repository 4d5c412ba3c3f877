// An inline variable that everybody sees: there is one in the whole process, which keeps the
// library that it came from mapped for ever.
#include "one-tool.hpp"

struct __attribute__((visibility("default"))) counter {
    static inline int unique_count = 0;
};

static tr_status count(tr_call *call) noexcept {
    counter::unique_count++;
    return call == nullptr ? TR_OK : tr_reply_text(call, "counted");
}

constexpr tr_tool count_tool = make_one_tool("count", count);
constexpr const tr_tool *tools[] = {&count_tool};
constexpr tr_plugin toolrack_plugin = make_one_tool_plugin("test.unique", tools);
