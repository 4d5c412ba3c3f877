/* A test finds no configuration and no state of whoever runs it, and leaves none there: meson sees
 * to that (tests/meson.build), and this does for a program that is run by hand. It would leave
 * notes of its hosts in the state folder of a person (config/elsewhere.h). */
#include <stdlib.h>

__attribute__((constructor)) static void leave_home(void) {
    if (getenv("MESON_TEST_ITERATION") == NULL) {
        (void)setenv("HOME", TEST_HOME, 1);
        (void)unsetenv("XDG_CONFIG_HOME");
        (void)unsetenv("XDG_DATA_HOME");
        (void)unsetenv("XDG_STATE_HOME");
    }
}
