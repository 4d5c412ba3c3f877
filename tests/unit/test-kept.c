/* Kept versions: after an update in place the version before it stays callable by its number. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"
#include "patience.h"

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

static void expect_absent(struct toolrack *host, const char *tool, const char *part) {
    struct toolrack_error err = {0};
    assert_int_equal(builds_call(host, tool, &err), TOOLRACK_E_NOT_FOUND);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" says nothing of \"%s\"", err.message, part);
    }
}

/* Serve version 1, then update the file to version 2. */
static void update(struct builds *builds) {
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
}

static void the_version_before_answers_to_its_number(void **state) {
    struct builds *builds = *state;
    update(builds);
    for (int round = 0; round < 2; round++) { /* and after a restart */
        expect_tools(builds->host, 6, 3);
        builds_expect(builds->host, "build", 2);
        builds_expect(builds->host, "build@2.0.0", 2);
        builds_expect(builds->host, "build@1.0.0", 1);
        builds_expect(builds->host, "build@^1", 1);
        builds_expect(builds->host, "build@>=1", 2);
        builds_reopen(builds);
    }
}

static void it_is_never_the_default(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    update(builds);
    assert_int_equal(toolrack_set_enabled(builds->host, "build@2.0.0", false, NULL, &err), 0);
    assert_int_equal(builds_call(builds->host, "build", &err), TOOLRACK_E_DISABLED);
    builds_expect(builds->host, "build@1.0.0", 1);
    assert_int_equal(toolrack_set_enabled(builds->host, "build@2.0.0", true, NULL, &err), 0);
    assert_int_equal(toolrack_set_default(builds->host, "build", "1.0.0", NULL, &err),
                     TOOLRACK_E_REFUSED);
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
    assert_int_equal(toolrack_set_default(builds->host, "build", "1.0.0", NULL, &err), 0);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    assert_true(builds_warned(builds, "is kept from an earlier content"));
    builds_expect_why(builds->host, "build", "/default/reason", "is kept from an earlier content");
}

/* A tool that the new version does not have any more. */
static void a_tool_that_left_answers_to_its_version_only(void **state) {
    struct builds *builds = *state;
    update(builds);
    builds_put(builds, V3, 3);
    builds_reload(builds->host, NULL, "reloaded");
    expect_absent(builds->host, "sane@1.0.0", "2.0.0"); /* one version is kept */
    expect_absent(builds->host, "hold", "hold@2.0.0");
    expect_tools(builds->host, 5, 3);
    builds_reopen(builds);
    expect_tools(builds->host, 5, 3);
    builds_expect(builds->host, "build@2.0.0", 2);
    expect_absent(builds->host, "build@1.0.0", "2.0.0");
}

static void the_policy_says_how_many(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"keep\": 0, \"policies\": {\"test.build\": {\"keep\": 2}}}");
    update(builds);
    builds_put(builds, V3, 3);
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        expect_tools(builds->host, 8, 6);
        builds_expect(builds->host, "build@1.0.0", 1);
        builds_expect(builds->host, "build@2.0.0", 2);
        builds_reopen(builds);
    }
    builds_configure(builds, "{\"keep\": 1}");
    builds_reopen(builds);
    expect_tools(builds->host, 5, 3);
    builds_expect(builds->host, "build@2.0.0", 2);
    builds_configure(builds, "{\"keep\": 0}");
    builds_reopen(builds);
    expect_tools(builds->host, 2, 0);
    builds_put(builds, V1, 4);
    builds_reload(builds->host, NULL, "reloaded");
    expect_tools(builds->host, 3, 0);
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
    assert_int_equal(toolrack_rollback(builds->host, "test.build", NULL, &err), 0);
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

static void updated_while_no_host_ran(void **state) {
    struct builds *builds = *state;
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_close(builds);
    builds_put(builds, V2, 2);
    builds_open(builds);
    expect_tools(builds->host, 6, 3);
    builds_expect(builds->host, "build@1.0.0", 1);
    builds_expect(builds->host, "build", 2);
}

/* What an administrator went back from is not kept. */
static void a_rollback_ends_it(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    update(builds);
    assert_int_equal(toolrack_rollback(builds->host, "test.build", NULL, &err), 0);
    for (int round = 0; round < 2; round++) {
        expect_tools(builds->host, 3, 0);
        builds_expect(builds->host, "build", 1);
        expect_absent(builds->host, "build@2.0.0", "1.0.0");
        builds_reopen(builds);
    }
    builds_put(builds, V3, 3);
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build@1.0.0", 1);
        expect_absent(builds->host, "build@2.0.0", "1.0.0");
        builds_reopen(builds);
    }
}

static bool state_is(struct toolrack *host, const char *name, enum toolrack_tool_state wanted) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    assert_non_null(tool);
    enum toolrack_tool_state state = toolrack_tool_state(tool);
    toolrack_tool_unref(tool);
    return state == wanted;
}

/* Its crashes are its own: the quarantine is of its content. */
static void its_quarantine_is_its_own(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, V1, BUILD_EXAMPLE_CRASHES);
    builds_configure(builds, "{\"policies\": {\"test.build\": {\"crashes\": 1}}}");
    builds_open(builds);
    builds_expect(builds->host, "build", BUILD_EXAMPLE_CRASHES);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    assert_int_equal(builds_call(builds->host, "sane@1.0.0", &err), TOOLRACK_E_EXECUTION_FAILED);
    AWAIT(state_is(builds->host, "sane@1.0.0", TOOLRACK_STATE_QUARANTINED));
    for (int round = 0; round < 2; round++) {
        assert_true(state_is(builds->host, "sane@1.0.0", TOOLRACK_STATE_QUARANTINED));
        assert_false(state_is(builds->host, "sane", TOOLRACK_STATE_QUARANTINED));
        builds_expect(builds->host, "build", 2);
        assert_int_equal(builds_call(builds->host, "build@1.0.0", &err),
                         TOOLRACK_E_EXECUTION_FAILED);
        builds_reopen(builds);
    }
    assert_int_equal(toolrack_release(builds->host, "build@1.0.0", NULL, &err), 0);
    builds_expect(builds->host, "build@1.0.0", BUILD_EXAMPLE_CRASHES);
}

/* Another file that has the same name and version is not refused because of it. */
static void it_gives_way_to_a_file_of_its_own(void **state) {
    struct builds *builds = *state;
    struct toolrack_refusals *refusals = NULL;
    struct toolrack_error err = {0};
    update(builds);
    char other[160];
    (void)snprintf(other, sizeof other, "%s/other.so", builds->plugins);
    builds_put_as(builds, "other", V1, 7);
    builds_reload(builds->host, other, "added");
    builds_expect(builds->host, "build@1.0.0", 7);
    builds_reopen(builds);
    builds_expect(builds->host, "build@1.0.0", 7);
    assert_int_equal(toolrack_refused(builds->host, &refusals, &err), 0);
    assert_int_equal(toolrack_refusals_count(refusals), 0);
    toolrack_refusals_free(refusals);
}

static void in_process_too(void **state) {
    struct builds *builds = *state;
    builds_put(builds, V1, 1);
    builds->host = builds_another(builds, TOOLRACK_ISOLATION_NONE);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    builds_expect(builds->host, "build@1.0.0", 1);
    builds_close(builds);
    builds->host = builds_another(builds, TOOLRACK_ISOLATION_NONE);
    builds_expect(builds->host, "build@1.0.0", 1);
    builds_expect(builds->host, "build", 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, builds_setup, builds_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(the_version_before_answers_to_its_number),
            TEST(it_is_never_the_default),
            TEST(a_default_set_before_waits),
            TEST(a_tool_that_left_answers_to_its_version_only),
            TEST(the_policy_says_how_many),
            TEST(the_same_version_with_another_content_is_not_kept),
            TEST(a_removed_file_takes_them_along),
            TEST(removed_while_no_host_ran),
            TEST(updated_while_no_host_ran),
            TEST(a_rollback_ends_it),
            TEST(its_quarantine_is_its_own),
            TEST(it_gives_way_to_a_file_of_its_own),
            TEST(in_process_too),
    };
    return cmocka_run_group_tests_name("kept", tests, NULL, NULL);
}
