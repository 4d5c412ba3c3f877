/* toolrack-worker - runs one plugin for a host that started it. See child.h. */
#include "base/sanitizer.h"
#include "worker/child.h"

#if SANITIZER_ADDRESS
/* The leak check at exit would stop and trace the process, which the sandbox refuses; the runtime
 * would retry without end. The runtime calls this function whatever the options in the environment
 * say. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) {
    return 1;
}
#endif

int main(void) {
    child_main();
}
