/* log, statistics: what earlier runs did. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"

static void call_some(void) {
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    EXPECT(RUN("call", "add", "{\"a\":\"x\"}"), 4, "", NULL);
    EXPECT(RUN("call", "greet", "--arg", "name=x"), 0, NULL, "");
}

static void calls_are_in_the_log(void **state) {
    (void)state;
    EXPECT(RUN("log"), 0, "", "toolrack: no matching calls in the log\n");
    call_some();
    EXPECT_JSON(RUN("log", "--json"), 0, "/0/tool", "\"add\"", "/0/ok", "true", "/0/channel",
                "\"cli\"", "/0/result", "\"3.0\"", "/1/ok", "false", "/1/error/type",
                "\"InvalidArguments\"", "/2/tool", "\"greet\"", "/3", "");
    EXPECT_JSON(RUN("log", "--json", "--errors"), 0, "/0/tool", "\"add\"", "/1", "");
    EXPECT_JSON(RUN("log", "--json", "--tool", "greet"), 0, "/0/tool", "\"greet\"", "/1", "");
    EXPECT_JSON(RUN("log", "--json", "--limit", "1"), 0, "/0/tool", "\"greet\"", "/1", "");
    EXPECT_JSON(RUN("log", "--json", "--since", "1h"), 0, "/2/tool", "\"greet\"");
    EXPECT_JSON(RUN("log", "--json", "--since", "2100-01-01"), 0, "", "[]");
    EXPECT(RUN("log", "--errors"), 0,
           "ID  TIME*TOOL*RESULT*DURATION*IN*OUT*DETAIL\n*add@*InvalidArguments*\n", "");
}

static void filters_of_the_log(void **state) {
    (void)state;
    call_some();
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":1e3}", "--caller", "ada", "--conversation", "c1"), 0,
           "1001.0\n", "");
    EXPECT(RUN("call", "asleep"), 5, "", NULL);
    EXPECT_JSON(RUN("log", "--json", "--caller", "ada"), 0, "/0/id", "4", "/1", "");
    EXPECT_JSON(RUN("log", "--json", "--conversation", "c1"), 0, "/0/id", "4", "/1", "");
    EXPECT_JSON(RUN("log", "--json", "--exit", "ok"), 0, "/0/id", "1", "/1/id", "3", "/2/id", "4",
                "/3", "");
    EXPECT_JSON(RUN("log", "--json", "--exit", "InvalidArguments,Timeout"), 0, "/0/id", "2", "/1",
                "");
    EXPECT_JSON(RUN("log", "--json", "--exit", "5"), 0, "/0/error/type", "\"Disabled\"", "/1", "");
    EXPECT_JSON(RUN("log", "--json", "--exit", "failed"), 0, "/0/id", "2", "/1/id", "5", "/2", "");
    EXPECT(RUN("log", "--exit", "badly"), 2, "", "toolrack: --exit takes ok, *not \"badly\"\n");
    /* The field of an error, and a number as it was written. */
    EXPECT(RUN("log", "--exit", "4"), 0, "ID *\n2 *  /a: must be a number, *\n", "");
    EXPECT(RUN("log", "--caller", "ada"), 0, "ID *  {\"a\":1,\"b\":1e3}\n", "");
}

static void one_call_of_the_log(void **state) {
    (void)state;
    call_some();
    for (int i = 4; i <= 12; i++) {
        EXPECT(RUN("call", "nothing"), 0, NULL, "");
    }
    EXPECT(RUN("log", "2"), 0,
           "call 2 of add 1.0.0\n\ntime *\nplugin       kit\n*outcome      InvalidArguments\n"
           "field        /a\nerror        must be a number, *\n*arguments    {\"a\":\"x\"}\n",
           "");
    EXPECT_JSON(RUN("log", "2", "--json"), 0, "/id", "2", "/error/field", "\"/a\"");
    /* 1 is an id, and also the beginning of others. */
    EXPECT_JSON(RUN("log", "1", "--json"), 0, "/id", "1");
    EXPECT(RUN("log", "99"), 3, "", "toolrack: NotFound: there is no call 99 in the log*\n");
    EXPECT(RUN("log", "one"), 2, "",
           "toolrack: the id of a call is a number, not \"one\"; see the calls and their ids: "
           "toolrack *log\n");
    EXPECT(RUN("log", "1", "--follow"), 2, "", "toolrack: --follow takes no id\n");
    /* Without call 1 its digit means those that begin with it. */
    EXPECT(RUN("log", "1", "--tool", "nothing"), 3, "", NULL);
}

static void decisions_are_listed(void **state) {
    (void)state;
    EXPECT(RUN("decisions", "--tool", "launch"), 0, "", "toolrack: no matching decisions\n");
    EXPECT(RUN("grant", "launch"), 0, NULL, "");
    EXPECT(RUN("call", "launch"), 0, NULL, "");
    EXPECT(RUN("call", "erase"), 5, "", NULL);
    /* The newest first. */
    EXPECT_JSON(RUN("decisions", "--json", "--tool", "launch"), 0, "/0/tool", "\"launch\"",
                "/0/decision", "\"allowed\"", "/1/decision", "\"*\"");
    EXPECT_JSON(RUN("decisions", "--json", "--limit", "1"), 0, "/0/tool", "\"erase\"",
                "/0/decision", "\"refused\"", "/1", "");
    EXPECT_JSON(RUN("decisions", "--json", "--plugin", "kit"), 0, "/0/plugin", "\"kit\"");
    EXPECT_JSON(RUN("decisions", "--json", "--plugin", "another"), 0, "", "[]");
    EXPECT_JSON(RUN("decisions", "--json", "--since", "2100-01-01"), 0, "", "[]");
    EXPECT(RUN("decisions", "--tool", "launch"), 0,
           "TIME *DECISION *TOOL *PLUGIN *WHO *WHY\n*allowed *launch@1.0.0 *kit *\n*granted *", "");
    EXPECT(RUN("decisions", "--since", "soon"), 2, "", "toolrack: --since takes *");
}

static void a_wrong_filter_is_wrong_usage(void **state) {
    (void)state;
    EXPECT(RUN("log", "--since", "soon"), 2, "", "*--since takes a duration*\"soon\"*");
    EXPECT(RUN("log", "--limit", "0"), 2, "", "*--limit takes a number from 1*\"0\"*");
}

static void statistics_add_up(void **state) {
    (void)state;
    EXPECT(RUN("statistics"), 0, "", "toolrack: no calls have been made\n");
    call_some();
    call_some();
    EXPECT_JSON(RUN("statistics", "--json"), 0, "/0/tool", "\"add\"", "/0/calls", "4",
                "/0/failures", "2", "/0/success_rate", "0.5", "/0/last_error/type",
                "\"InvalidArguments\"", "/1/tool", "\"greet\"", "/1/calls", "2", "/1/last_error",
                "null", "/2", "");
    EXPECT(RUN("statistics"), 0, "NAME*VERSION*CALLS*SUCCESS*\nadd*4*50.0 %*\ngreet*100.0 %*\n",
           "");
    EXPECT(RUN("stats"), 0, "NAME*VERSION*CALLS*\nadd*4*50.0 %*", ""); /* its other name */
    EXPECT(RUN("statistics", "add"), 0, "add *\ncalls        4, 2 of them failed\n*last error*",
           "");
    EXPECT_JSON(RUN("statistics", "total", "--json"), 0, "", "[]");
    EXPECT(RUN("statistics", "nothing_of_the_kind"), 3, "", "toolrack: NotFound: *");
    EXPECT_JSON(RUN("show", "add", "--json"), 0, "/statistics/calls", "4", "/statistics/failures",
                "2");
}

static void follow_goes_on_until_it_is_told_to_end(void **state) {
    (void)state;
    call_some();
    EXPECT(RUN_WITH(HOW(.wait_for = "Ctrl-C ends", .send = SIGINT), "log", "--follow", "--json",
                    "--tool", "greet"),
           0, "{\"id\":*\"tool\":\"greet\"*}\n", "toolrack: waiting for calls; Ctrl-C ends\n");
}

static void a_damaged_store_refuses_and_says_so(void **state) {
    (void)state;
    assert_int_equal(mkdir("state", 0700), 0);
    e2e_write("state/toolrack.db", "somebody's own words, and no database\n");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 5, "",
           "*PermissionDenied: Tool 'add' is refused, since what was decided cannot be read: "
           "*toolrack.db*");
}

/* Commands find this one first. */
static void spoil_sqlite(void) {
    const char *const searched = getenv("LD_LIBRARY_PATH");
    char folders[4096];
    (void)snprintf(folders, sizeof folders, "lib%s%s", searched != NULL ? ":" : "",
                   searched != NULL ? searched : "");
    assert_int_equal(mkdir("lib", 0700), 0);
    e2e_write("lib/libsqlite3.so.0", "no library\n");
    assert_int_equal(setenv("LD_LIBRARY_PATH", folders, 1), 0);
}

static void without_sqlite_a_store_refuses_and_says_so(void **state) {
    const char *const searched = getenv("LD_LIBRARY_PATH");
    char *kept = searched != NULL ? strdup(searched) : NULL;
    (void)state;
    EXPECT(RUN("disable", "greet"), 0, "*greet*", "");
    spoil_sqlite();
    struct run version = RUN("--version");
    struct run call = RUN("call", "add", "{\"a\":1,\"b\":2}");
    struct run enable = RUN("enable", "greet");
    if (kept != NULL) {
        (void)setenv("LD_LIBRARY_PATH", kept, 1);
    } else {
        (void)unsetenv("LD_LIBRARY_PATH");
    }
    free(kept);
    EXPECT(version, 0, "toolrack *.*.*\n", "");
    EXPECT(call, 5, "",
           "*PermissionDenied: Tool 'add' is refused, since what was decided cannot be read: the "
           "store needs SQLite, which cannot be loaded: *; install Debian's package "
           "libsqlite3-0*");
    EXPECT(enable, 1, "", "*the store needs SQLite, which cannot be loaded: *");
    EXPECT_JSON(RUN("show", "greet", "--json"), 0, "/enabled", "false"); /* nothing was changed */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(calls_are_in_the_log),
            TEST(filters_of_the_log),
            TEST(one_call_of_the_log),
            TEST(decisions_are_listed),
            TEST(a_wrong_filter_is_wrong_usage),
            TEST(statistics_add_up),
            TEST(follow_goes_on_until_it_is_told_to_end),
            TEST(a_damaged_store_refuses_and_says_so),
            TEST(without_sqlite_a_store_refuses_and_says_so),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
