/* A new content of a plugin file that crashes in its first minute: the content before serves again,
 * as long as the file holds the one that crashed. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"
#include "patience.h"

#define V1  "build"               /* version 1.0.0 */
#define V2  "build-2"             /* version 2.0.0 */
#define BAD BUILD_EXAMPLE_CRASHES /* the tool `sane` of such a build crashes */

/* ------------------------------------------------------------------------ clock */

static atomic_long ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    int code = __real_clock_gettime(clock, ret);
    if (clock == CLOCK_REALTIME) {
        ret->tv_sec += atomic_load(&ahead_s);
    }
    return code;
}

/* ------------------------------------------------------------------------- steps */

static int setup(void **state) {
    atomic_store(&ahead_s, 0);
    return builds_setup(state);
}

static void crash(struct toolrack *host, const char *tool) {
    struct toolrack_error err = {0};
    assert_int_equal(builds_call(host, tool, &err), TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(err.message, "SIGABRT"));
}

static void await_build(struct toolrack *host, long number) {
    struct toolrack_error err;
    AWAIT(builds_call(host, "build", &err) == number);
}

/* Version 1 serves, then the file is updated to a version 2 that crashes. */
static void update(struct builds *builds) {
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, BAD);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", BAD);
}

/* The rule by which the file is refused; NULL: it is not. */
static void expect_refusal(struct toolrack *host, const char *rule) {
    struct toolrack_refusals *refusals = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_refused(host, &refusals, &err), 0);
    const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, 0);
    assert_int_equal(toolrack_refusals_count(refusals), rule != NULL);
    if (rule != NULL) {
        assert_string_equal(refusal->rule, rule);
        assert_non_null(
                strstr(refusal->reason, "it crashed within the first 60 s that it served: "));
        assert_non_null(strstr(refusal->reason, "SIGABRT"));
        assert_non_null(strstr(refusal->fix, " reload /"));
    }
    toolrack_refusals_free(refusals);
}

static bool serves_version(struct toolrack *host, const char *version) {
    struct toolrack_tool *tool = toolrack_get(host, "sane");
    bool is_it = tool != NULL && strcmp(toolrack_tool_version(tool), version) == 0;
    toolrack_tool_unref(tool);
    return is_it;
}

/* How many decisions of the host there are to go back. */
static size_t count_decisions(struct toolrack *host) {
    struct toolrack_decisions_filter filter = TOOLRACK_DECISIONS_FILTER_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    size_t count = 0;
    assert_int_equal(toolrack_decisions(host, &filter, &text, &err), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    size_t at;
    size_t max;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, max, row) {
        if (yyjson_equals_str(yyjson_obj_get(row, "decision"), "rolled-back")) {
            assert_true(yyjson_equals_str(yyjson_obj_get(row, "who"), "host"));
            assert_true(yyjson_equals_str(yyjson_obj_get(row, "plugin"), "test.build"));
            const char *why = yyjson_get_str(yyjson_obj_get(row, "why"));
            assert_non_null(strstr(why, "SIGABRT"));
            assert_non_null(strstr(why, "version 1.0.0 serves in its place"));
            count++;
        }
    }
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return count;
}

static void expect_gone_back(struct builds *builds) {
    await_build(builds->host, 1);
    for (int round = 0; round < 2; round++) {
        expect_refusal(builds->host, "crashed-early");
        assert_true(builds_warned(builds, "its last good content, version 1.0.0, serves in "
                                          "its place"));
        builds_expect_why(builds->host, "build", "/refused/0/reason", "SIGABRT");
        builds_expect_why(builds->host, "build", "/rolled_back", "true");
        builds_expect_why(builds->host, "build", "/history", "not used any more: it crashed");
        builds_expect_why(builds->host, "build", "/history", "rolled-back");
        assert_int_equal(count_decisions(builds->host), 1);
        builds_reopen(builds);
        builds_expect(builds->host, "build", 1);
    }
}

/* -------------------------------------------------------------------------- back */

static void what_crashes_when_new_is_gone_back_from(void **state) {
    struct builds *builds = *state;
    update(builds);
    crash(builds->host, "sane");
    expect_gone_back(builds);
}

/* As the command does: the host is closed as soon as the call has failed. */
static void a_host_that_ends_at_once_goes_back_too(void **state) {
    struct builds *builds = *state;
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_close(builds);
    builds_put(builds, V2, BAD); /* while no host runs */
    builds_open(builds);
    crash(builds->host, "sane");
    builds_close(builds);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    expect_gone_back(builds);
}

static void one_host_serves_it_and_another_sees_the_crash(void **state) {
    struct builds *builds = *state;
    update(builds);
    builds_reopen(builds); /* since when it serves is known by the store */
    crash(builds->host, "sane");
    expect_gone_back(builds);
}

static atomic_uint refused_events;

static void note_event(void *user, const struct toolrack_event *event) {
    (void)user;
    if (event->kind == TOOLRACK_EVENT_REFUSED && event->message != NULL &&
        strstr(event->message, "it crashed within the first") != NULL &&
        strstr(event->message, "version 1.0.0, serves in its place") != NULL) {
        atomic_fetch_add(&refused_events, 1);
    }
}

/* Of two running hosts one has the crash; both go back, and both have the event. */
static void every_running_host_goes_back(void **state) {
    struct builds *builds = *state;
    const char *const dirs[] = {builds->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *other = NULL;
    struct toolrack_error err;
    atomic_store(&refused_events, 0);
    update(builds);
    builds_close(builds);
    options.config_file = "";
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    options.event = note_event;
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    assert_int_equal(toolrack_open(&options, &other, &err), 0);
    builds_expect(builds->host, "build", BAD);
    builds_expect(other, "build", BAD);
    crash(builds->host, "sane");
    await_build(builds->host, 1);
    await_build(other, 1);
    AWAIT(atomic_load(&refused_events) == 2);
    toolrack_close(other);
}

/* ------------------------------------------------------------------ until it is good */

static void it_lasts_while_the_file_has_that_content(void **state) {
    struct builds *builds = *state;
    update(builds);
    crash(builds->host, "sane");
    await_build(builds->host, 1);
    builds_reload(builds->host, NULL, "unchanged");
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, BAD); /* the same bytes once more */
    builds_reload(builds->host, NULL, "unchanged");
    builds_expect(builds->host, "build", 1);
    builds_reopen(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build", 2);
        expect_refusal(builds->host, NULL);
        builds_expect_why(builds->host, "build", "/rolled_back", "false");
        builds_reopen(builds);
    }
}

static void a_reload_by_name_tries_it_again(void **state) {
    struct builds *builds = *state;
    update(builds);
    crash(builds->host, "sane");
    await_build(builds->host, 1);
    builds_reload(builds->host, builds->file, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build", BAD);
        expect_refusal(builds->host, NULL);
        builds_reopen(builds);
    }
    /* It has another first minute. */
    crash(builds->host, "sane");
    await_build(builds->host, 1);
    expect_refusal(builds->host, "crashed-early");
    assert_int_equal(count_decisions(builds->host), 2);
}

/* ---------------------------------------------------------------------- it stays */

/* Closing the host waits for what was begun: what still serves then was not gone back from. */
static void expect_it_stays(struct builds *builds, long number) {
    builds_expect(builds->host, "build", number);
    assert_int_equal(count_decisions(builds->host), 0);
    builds_reopen(builds);
    builds_expect(builds->host, "build", number);
    assert_int_equal(count_decisions(builds->host), 0);
    expect_refusal(builds->host, NULL);
}

static void a_crash_after_a_minute_is_no_fault_of_the_update(void **state) {
    struct builds *builds = *state;
    update(builds);
    atomic_store(&ahead_s, 62);
    crash(builds->host, "sane");
    expect_it_stays(builds, BAD);
    /* A clock that was set back does not make it new. */
    atomic_store(&ahead_s, -3600);
    crash(builds->host, "sane");
    expect_it_stays(builds, BAD);
}

static void the_policy_may_forbid_it(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"go_back\": true, "
                             "\"policies\": {\"test.build\": {\"go_back\": false}}}");
    update(builds);
    crash(builds->host, "sane");
    expect_it_stays(builds, BAD);
    builds_close(builds);
    builds_configure(builds, "{\"go_back\": false}");
    builds_open(builds);
    crash(builds->host, "sane");
    expect_it_stays(builds, BAD);
    builds_close(builds);
    builds_configure(builds, "{\"go_back\": false, "
                             "\"policies\": {\"test.build\": {\"go_back\": true}}}");
    builds_open(builds);
    crash(builds->host, "sane");
    await_build(builds->host, 1);
}

static void the_only_content_stays(void **state) {
    struct builds *builds = *state;
    builds_put(builds, V1, BAD);
    builds_open(builds);
    crash(builds->host, "sane");
    expect_it_stays(builds, BAD);
}

/* The crash of a kept version says nothing of the new content. */
static void a_crash_of_the_version_before_does_not_count(void **state) {
    struct builds *builds = *state;
    builds_put(builds, V1, BAD);
    builds_open(builds);
    builds_expect(builds->host, "build", BAD);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    crash(builds->host, "sane@1.0.0");
    expect_it_stays(builds, 2);
    crash(builds->host, "sane@1.0.0");
    expect_it_stays(builds, 2);
}

/* What was gone back to is not gone back from, new as it may be. */
static void it_goes_back_once(void **state) {
    struct builds *builds = *state;
    update(builds);
    builds_put(builds, V1, BAD);
    builds_reload(builds->host, NULL, "reloaded");
    crash(builds->host, "sane@1.0.0");
    AWAIT(serves_version(builds->host, "2.0.0"));
    for (int round = 0; round < 2; round++) {
        crash(builds->host, "sane@2.0.0");
        builds_reopen(builds);
        assert_true(serves_version(builds->host, "2.0.0"));
    }
}

/* ------------------------------------------------------------------- quarantine */

/* The quarantine is of the content that crashed. */
static void a_quarantine_stays_with_its_content(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"policies\": {\"test.build\": {\"crashes\": 1}}}");
    update(builds);
    crash(builds->host, "sane");
    await_build(builds->host, 1);
    builds_reopen(builds);
    builds_expect(builds->host, "build", 1);
    expect_refusal(builds->host, "crashed-early");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, builds_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(what_crashes_when_new_is_gone_back_from),
            TEST(a_host_that_ends_at_once_goes_back_too),
            TEST(one_host_serves_it_and_another_sees_the_crash),
            TEST(every_running_host_goes_back),
            TEST(it_lasts_while_the_file_has_that_content),
            TEST(a_reload_by_name_tries_it_again),
            TEST(a_crash_after_a_minute_is_no_fault_of_the_update),
            TEST(the_policy_may_forbid_it),
            TEST(the_only_content_stays),
            TEST(a_crash_of_the_version_before_does_not_count),
            TEST(it_goes_back_once),
            TEST(a_quarantine_stays_with_its_content),
    };
    return cmocka_run_group_tests_name("back", tests, NULL, NULL);
}
