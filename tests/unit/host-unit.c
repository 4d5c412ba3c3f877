#include "host-unit.h"
#include "plain-commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "remove-tree.h"

struct toolrack *host;
struct toolrack_error err;
char dir[64];
char state_dir[80];
char config_file[80];
atomic_int later_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    int failed = __real_clock_gettime(clock, ret);
    if (clock == CLOCK_REALTIME) {
        ret->tv_sec += atomic_load(&later_s);
    }
    return failed;
}

int host_set_up(void) {
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(state_dir, sizeof state_dir, "%s/state", dir);
    (void)snprintf(config_file, sizeof config_file, "%s/toolrack.json", dir);
    host_configure("{}");
    atomic_store(&later_s, 0);
    host = NULL;
    return 0;
}

int host_tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    host = NULL;
    return remove_tree(dir);
}

void host_configure(const char *text) {
    FILE *file = fopen(config_file, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

void assert_error(int code, int expected, const char *part) {
    assert_int_equal(code, expected);
    if (strstr(plain_commands(err.message), part) == NULL) {
        fail_msg("'%s' does not say '%s'", err.message, part);
    }
}

yyjson_doc *host_read_json(struct toolrack_text *text) {
    size_t length = 0;
    const char *data = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(data, length, 0);
    assert_non_null(doc);
    toolrack_text_unref(text);
    return doc;
}
