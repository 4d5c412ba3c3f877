/* toolrack-worker - runs one plugin for a host that started it. See child.h. */
#include "base/sanitizer.h"
#include "worker/child.h"

#if SANITIZER_ADDRESS
/* To look for leaks at its end it would stop and trace itself, which the sandbox refuses, and the
 * runtime goes on trying. The runtime asks this, whatever the options in the environment say. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) {
    return 1;
}
#endif

int main(void) {
    child_main();
}
