/* toolrack-worker - runs one plugin for a host that started it. See child.h. */
#include "worker/child.h"

int main(void) {
    child_main();
}
