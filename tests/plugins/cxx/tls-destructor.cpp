// A thread-local variable with a destructor: on each thread that has used it the library is needed
// until that thread ends. The tool may be called without a call, by tests of loading alone.
#include "one-tool.hpp"

namespace {

int living = 0;

struct guard {
    guard() {
        living++;
    }
    ~guard() {
        living--;
    }
};

thread_local guard guarded;

tr_status use(tr_call *call) noexcept {
    const guard *volatile used = &guarded;
    (void)used;
    return call == nullptr ? TR_OK : tr_reply_text(call, "used");
}

constexpr tr_tool use_tool = make_one_tool("use", use);
constexpr const tr_tool *tools[] = {&use_tool};

} // namespace

constexpr tr_plugin toolrack_plugin = make_one_tool_plugin("test.tls_destructor", tools);
