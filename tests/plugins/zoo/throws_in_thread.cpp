// Fault: lets an exception leave a thread that it started.
#include <stdexcept>
#include <thread>

#include "zoo.hpp"

static volatile bool sound;

static tr_status zoo_throws_in_thread(tr_call *call) {
    std::thread thread([] {
        if (!sound) {
            throw std::runtime_error("nobody catches this either");
        }
    });
    thread.join();
    return tr_reply_json(call, "42");
}
ZOO_PLUGIN(zoo_throws_in_thread)
