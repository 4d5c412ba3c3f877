/* A shared object in which something goes wrong, for the tests of crash records. The functions that
 * crash are static: without .symtab they have no names. */
#include "crasher.h"

static volatile int *volatile nowhere; /* volatile: the compiler is not to see what it does */
static volatile int sink;

CRASHER static void static_null_deref(void) {
    *nowhere = 1;
    sink = 2; /* something is left to do, so that the calls do not become jumps */
}

CRASHER static void static_between(void) {
    static_null_deref();
    sink = 3;
}

#ifdef CRASHER_CONSTRUCTOR
__attribute__((constructor)) static void static_constructor(void) {
    static_between();
    sink = 4;
}
#endif

__attribute__((visibility("default"))) int crasher_run(int how) {
    if (how > 0) {
        static_between();
    }
    sink = 5;
    return sink;
}
