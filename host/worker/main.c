/* toolrack-worker - runs one plugin for a host that started it. See child.h. */
#include "base/sanitizer.h"
#include "worker/child.h"

#if SANITIZER_ADDRESS
/* To look for leaks at its end it would trace itself, which the sandbox refuses. The runtime asks
 * for this by its name. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

int main(void) {
    child_main();
}
