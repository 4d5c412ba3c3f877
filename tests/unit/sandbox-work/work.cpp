// What the C++ runtime needs of a sandbox: returns 0, or the line where it did not get it.
#include <chrono>
#include <future>
#include <locale>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#define MUST(condition)      \
    do {                     \
        if (!(condition)) {  \
            return __LINE__; \
        }                    \
    } while (false)

static bool throws() {
    try {
        throw std::runtime_error("expected");
    } catch (const std::exception &error) {
        return std::string(error.what()) == "expected";
    }
}

static int work() {
    MUST(std::regex_match("plugin-1.2.3", std::regex(R"(([a-z]+)-(\d+\.){2}\d+)")));
    MUST(throws());
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << 1.5 << ' ' << true;
    MUST(text.str() == "1.5 1");
    std::promise<int> promise;
    std::thread thread([&promise] {
        std::this_thread::sleep_for(std::chrono::microseconds(1));
        promise.set_value(42);
    });
    int promised = promise.get_future().get();
    thread.join();
    MUST(promised == 42);
    MUST(std::async(std::launch::async, [] { return 7; }).get() == 7);
    return 0;
}

extern "C" __attribute__((visibility("default"))) int sandbox_work() {
    return work();
}
