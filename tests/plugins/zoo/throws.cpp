// Fault: lets an exception leave its tool.
#include <stdexcept>

#include "zoo.hpp"

static volatile bool sound;

static tr_status zoo_throws(tr_call *call) {
    if (!sound) {
        throw std::runtime_error("nobody catches this");
    }
    return tr_reply_json(call, "42");
}
ZOO_PLUGIN(zoo_throws)
