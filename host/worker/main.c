/* toolrack-worker - runs one plugin for a host that started it. See child.h. */
#include "base/sanitizer.h"
#include "worker/child.h"

#if SANITIZER_ADDRESS
/* Crashes are told by the worker's own handler; and to look for leaks at its end it would trace
 * itself, which the sandbox refuses. The runtime asks for this by its name. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:handle_abort=0:"
           "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_sigtrap=0";
}
#endif

int main(void) {
    child_main();
}
