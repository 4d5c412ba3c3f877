// Fault: crashes in the destructor of a thread-local object, when the thread of the call ends.
#include "zoo.hpp"

namespace {

struct trap {
    int set = 0;
    ~trap() {
        volatile int *volatile nowhere = nullptr;
        *nowhere = set;
    }
};
thread_local trap here;

} // namespace

static tr_status zoo_tls_destructor(tr_call *call) {
    here.set = 1; // makes it: it is destroyed only where it was used
    return tr_reply_json(call, "42");
}
ZOO_PLUGIN(zoo_tls_destructor)
