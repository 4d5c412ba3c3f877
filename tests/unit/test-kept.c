/* Kept versions: after an update in place the version before it stays callable by its number. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"

#define V1 "build"   /* version 1.0.0, with the tools build, hold and sane */
#define V2 "build-2" /* version 2.0.0, with the same */
#define V3 "build-3" /* version 3.0.0, without hold */

struct count {
    size_t all;
    size_t kept;
};

static struct count count_tools(struct toolrack *host) {
    struct toolrack_tools *tools = NULL;
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    struct toolrack_error err;
    filter.all = true;
    assert_int_equal(toolrack_list(host, &filter, &tools, &err), 0);
    struct count count = {.all = toolrack_tools_count(tools)};
    for (size_t i = 0; i < count.all; i++) {
        count.kept += toolrack_tool_is_kept(toolrack_tools_get(tools, i));
    }
    toolrack_tools_free(tools);
    return count;
}

static void expect_tools(struct toolrack *host, size_t all, size_t kept) {
    struct count count = count_tools(host);
    assert_int_equal(count.all, all);
    assert_int_equal(count.kept, kept);
}

/* Serve version 1, then update the file to version 2. */
static void update(struct builds *builds) {
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
}

static void it_is_never_the_default(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    update(builds);
    assert_int_equal(toolrack_set_enabled(builds->host, "build@2.0.0", false, &err), 0);
    assert_int_equal(builds_call(builds->host, "build", &err), TOOLRACK_E_DISABLED);
    builds_expect(builds->host, "build@1.0.0", 1);
    assert_int_equal(toolrack_set_enabled(builds->host, "build@2.0.0", true, &err), 0);
    assert_int_equal(toolrack_set_default(builds->host, "build", "1.0.0", &err),
                     TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "rollback"));
    builds_expect(builds->host, "build", 2);
    /* A file that goes back to a lower version serves that one. */
    builds_put(builds, V1, 3);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 3);
    builds_expect(builds->host, "build@2.0.0", 2);
    expect_tools(builds->host, 6, 3);
}

static void a_default_set_before_waits(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(toolrack_set_default(builds->host, "build", "1.0.0", &err), 0);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    assert_non_null(strstr(builds->warnings, "is kept from an earlier content"));
    builds_expect_why(builds->host, "build", "/default/reason", "is kept from an earlier content");
}

static void the_same_version_with_another_content_is_not_kept(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V1, 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_tools(builds->host, 3, 0);
    builds_expect(builds->host, "build@1.0.0", 2);
    assert_int_equal(toolrack_rollback(builds->host, "test.build", &err), 0);
    builds_expect(builds->host, "build@1.0.0", 1);
    expect_tools(builds->host, 3, 0);
}

static void a_removed_file_takes_them_along(void **state) {
    struct builds *builds = *state;
    update(builds);
    assert_int_equal(unlink(builds->file), 0);
    builds_reload(builds->host, NULL, "removed");
    expect_tools(builds->host, 0, 0);
    /* What comes later under that name is a new beginning. */
    builds_put(builds, V3, 3);
    builds_reload(builds->host, NULL, "added");
    expect_tools(builds->host, 2, 0);
    builds_reopen(builds);
    expect_tools(builds->host, 2, 0);
}

static void removed_while_no_host_ran(void **state) {
    struct builds *builds = *state;
    update(builds);
    builds_close(builds);
    assert_int_equal(unlink(builds->file), 0);
    builds_open(builds);
    expect_tools(builds->host, 0, 0);
    builds_close(builds);
    builds_put(builds, V3, 3);
    builds_open(builds);
    expect_tools(builds->host, 2, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, builds_setup, builds_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(it_is_never_the_default),
            TEST(a_default_set_before_waits),
            TEST(the_same_version_with_another_content_is_not_kept),
            TEST(a_removed_file_takes_them_along),
            TEST(removed_while_no_host_ran),
    };
    return cmocka_run_group_tests_name("kept", tests, NULL, NULL);
}
