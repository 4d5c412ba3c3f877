/* package-test.h - what the unit tests of packages and downloads share: an error, and a folder of
 * the test's own, in which it runs. Included last: cmocka defines a macro that plugin.h has, too.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "remove-tree.h"

#include <cmocka.h>

static struct toolrack_error err;
static char dir[64];

static inline void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

/* The code, and a part of the message. */
static inline void assert_error(int code, int expected, const char *part) {
    if (code != expected || strstr(err.message, part) == NULL) {
        fail_msg("%s: %s (expected %s with \"%s\")", toolrack_code_name(code), err.message,
                 toolrack_code_name(expected), part);
    }
}

/* Setup and teardown of cmocka. */
static inline int enter_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-package-XXXXXX");
    return mkdtemp(dir) != NULL && chdir(dir) == 0 ? 0 : -1;
}

static inline int leave_folder(void **state) {
    (void)state;
    return chdir("/") == 0 ? remove_tree(dir) : -1;
}
