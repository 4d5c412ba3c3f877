/* isolation-unit.h - a host with one plugin of tests/plugins/, in its process or in workers. */
#pragma once

#include <stdbool.h>

#include "toolrack/toolrack.h"

/** The state of a test. */
struct isolation_unit {
    char root[64]; /* a folder with the plugin */
    struct toolrack *host;
};

/** Open a host; `keeps`: with a state folder, in `root`. For cmocka's setup: 0, or a failure. */
int isolation_open(void **state, const char *plugin, enum toolrack_isolation isolation, bool keeps);
/** cmocka's teardown. */
int isolation_close(void **state);
