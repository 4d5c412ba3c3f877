/* Three versions of a tool in three plugins: which is called, and who may say so. And what a call
 * says of itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"

#define WEATHER(...)    RUN_WITH({.plugins = getenv("E2E_VERSIONS")}, __VA_ARGS__)
#define CALL(name, ...) WEATHER("call", name, "--yes", "--arg", "city=Bonn", __VA_ARGS__)
#define DAYS            "--arg", "days=1"
#define INCOMPATIBLE                                                                         \
    "toolrack: warning: weather.1.2.0: Tool 'weather' 1.2.0 is not compatible with 1.0.0, "  \
    "although its version promises it: /days: parameter 'days' is new and required; /unit: " \
    "parameter "                                                                             \
    "'unit' was removed\n"

static void a_version_is_called_by_name_number_or_range(void **state) {
    (void)state;
    EXPECT(CALL("weather", DAYS), 0, "1.2.0\n", INCOMPATIBLE);
    EXPECT(CALL("weather@1.0.0", "--json"), 0, "\"1.0.0\"\n", NULL);
    EXPECT(CALL("weather@^1", DAYS), 0, "1.2.0\n", NULL);
    EXPECT(CALL("weather@~1.0", "--json"), 0, "\"1.0.0\"\n", NULL);
    EXPECT(CALL("weather@<1.2 || 7", "--json"), 0, "\"1.0.0\"\n", NULL);
    EXPECT(CALL("weather@^2.0.0-rc", "--json"), 0, "\"2.0.0-rc.1 *\n", NULL);
}

static void what_is_no_version_of_it(void **state) {
    (void)state;
    EXPECT(CALL("weather@^2", "--json"), 3, NULL, NULL);
    EXPECT(WEATHER("call", "weather@^2"), 3, "",
           "*toolrack: NotFound: Tool 'weather' has no version in the range '^2'; it has "
           "2.0.0-rc.1, 1.2.0, 1.0.0\n");
    EXPECT(WEATHER("show", "weather@newest"), 3, "",
           "*toolrack: NotFound: Tool 'weather' has no version 'newest', which is neither a "
           "version "
           "such as 1.2.0 nor a range such as ^1; it has *\n");
    EXPECT(WEATHER("disable", "weather@^1"), 2, "",
           "*toolrack: 'weather@^1' is a range of versions, *\n");
    EXPECT(WEATHER("priority", "weather@^1", "3"), 2, "",
           "*toolrack: 'weather@^1' is a range of versions, *\n");
    EXPECT(WEATHER("grant", "weather@1.x"), 2, "",
           "*toolrack: 'weather@1.x' is a range of versions, *\n");
    EXPECT_JSON(WEATHER("call", "wether", "--json"), 3, "/error/type", "\"NotFound\"",
                "/error/message", "\"Tool 'wether' not found; did you mean 'weather'?\"",
                "/error/tool_name", "\"wether\"", "/error/is_recoverable", "false");
    EXPECT_JSON(WEATHER("call", "", "--json"), 3, "/error/tool_name", "\"<unnamed>\"",
                "/error/message", "\"Tool '<unnamed>' not found*");
}

static void a_default_is_set_for_every_later_run(void **state) {
    (void)state;
    EXPECT(WEATHER("default", "weather"), 0,
           "the default of weather is 1.2.0, the highest version\n", NULL);
    EXPECT(WEATHER("default", "weather", "1.0.0"), 0, "the default of weather is 1.0.0, as set\n",
           NULL);
    EXPECT(CALL("weather", "--json"), 0, "\"1.0.0\"\n", NULL);
    EXPECT_JSON(WEATHER("show", "weather", "--json"), 0, "/version", "\"1.0.0\"", "/default",
                "\"1.0.0\"", "/set_default", "true");
    EXPECT(WEATHER("show", "weather@1.2.0"), 0,
           "*versions     2.0.0-rc.1, 1.2.0, 1.0.0 (default, set)\n*", NULL);
    EXPECT(WEATHER("default", "weather", "--reset"), 0,
           "the default of weather is 1.2.0, the highest version\n", NULL);
    EXPECT_JSON(WEATHER("default", "weather", "2.0.0-rc.1", "--json"), 0, "",
                "{\"name\":\"weather\",\"default\":\"2.0.0-rc.1\",\"set\":true,\"hosts\":0,"
                "\"silent\":0}");
    EXPECT(WEATHER("default", "weather", "3.0.0"), 3, "", "*toolrack: NotFound: *\n");
    EXPECT(WEATHER("default", "weather", "^1"), 2, "", "*toolrack: *^1*\n");
    EXPECT(WEATHER("default", "weather", "1.0.0", "--reset"), 2, "",
           "*toolrack: --reset takes no version\n");
    EXPECT(WEATHER("default", "wether", "--reset"), 3, "", "*did you mean 'weather'?\n");
}

static void take_plugin(const char *folder, const char *name) {
    char from[4096];
    char to[64];
    (void)snprintf(from, sizeof from, "%s/%s.so", folder, name);
    (void)snprintf(to, sizeof to, "some/%s.so", name);
    e2e_copy(from, to, 0);
}

/* The plugin of the version that was set is taken away. */
static void a_default_that_is_gone_is_not_called(void **state) {
    (void)state;
    assert_int_equal(mkdir("some", 0700), 0);
    take_plugin(getenv("E2E_VERSIONS"), "weather-1");
    take_plugin(getenv("E2E_VERSIONS"), "weather-2");
    EXPECT(RUN_WITH({.plugins = "some"}, "default", "weather", "1.0.0"), 0, NULL, NULL);
    assert_int_equal(unlink("some/weather-1.so"), 0);
    EXPECT(RUN_WITH({.plugins = "some"}, "call", "weather", "--arg", "city=Bonn", DAYS), 0,
           "1.2.0\n",
           "toolrack: warning: registry: version 1.0.0, the default of 'weather', is not "
           "registered: its calls go to 1.2.0 until it is back; give that default up: toolrack "
           "*default --reset weather\n");
    EXPECT(RUN_WITH({.plugins = "some"}, "why", "weather"), 0,
           "*default      1.2.0; 1.0.0 was set but is not registered\n*", NULL);
    take_plugin(getenv("E2E_VERSIONS"), "weather-1");
    EXPECT(RUN_WITH({.plugins = "some"}, "call", "weather", "--arg", "city=Bonn", "--json"), 0,
           "\"1.0.0\"\n", NULL);
}

static void an_old_version_says_what_to_use(void **state) {
    (void)state;
    EXPECT(CALL("weather@1.0.0", "--json"), 0, NULL,
           "*toolrack: warning: weather.1.0.0: Tool 'weather' 1.0.0 is deprecated: use version "
           "1.2\n");
    EXPECT(WEATHER("show", "weather@1.0.0"), 0,
           "*purpose      Know what to wear\n"
           "scenarios    planning a trip, small talk\n"
           "deprecated   use version 1.2\n*",
           NULL);
    EXPECT_JSON(WEATHER("list", "--json", "--scenario", "small talk"), 0, "/0/version", "\"1.0.0\"",
                "/0/deprecated", "\"use version 1.2\"", "/0/scenarios",
                "[\"planning a trip\",\"small talk\"]", "/1", "");
    EXPECT_JSON(WEATHER("list", "--json", "--purpose", "AND WHEN"), 0, "/0/version", "\"1.2.0\"",
                "/0/deprecated", "null", "/0/scenarios", "[]", "/1", "");
    EXPECT_JSON(WEATHER("list", "--json", "--purpose", "swim", "--all"), 0, "", "[]");
}

static void a_broken_promise_is_told(void **state) {
    (void)state;
    EXPECT(WEATHER("list"), 0, NULL, INCOMPATIBLE);
    EXPECT(WEATHER("list"), 0, NULL, ""); /* once */
    EXPECT(WEATHER("why", "weather@1.2.0"), 0,
           "*\nnot compatible with 1.0.0, although its version promises it\n"
           "    /days: parameter 'days' is new and required\n"
           "    /unit: parameter 'unit' was removed\n"
           "* incompatible weather@1.2.0: not compatible with 1.0.0, *",
           NULL);
    EXPECT_JSON(WEATHER("why", "weather@1.2.0", "--json"), 0, "/compatibility/older", "\"1.0.0\"",
                "/compatibility/differences/0/rule", "\"required-added\"");
    EXPECT_JSON(WEATHER("why", "weather@1.0.0", "--json"), 0, "/compatibility", "", "/deprecated",
                "\"use version 1.2\"");
}

static void a_call_says_whose_it_is(void **state) {
    (void)state;
    EXPECT_JSON(CALL("weather@2.0.0-rc.1", "--json", "--caller", "ada", "--conversation", "c-1",
                     "--trace", "t-7"),
                0, "", "\"2.0.0-rc.1 ada cli c-1 t-7\"");
    EXPECT_JSON(CALL("weather@2.0.0-rc.1", "--json", "--caller=ada"), 0, "",
                "\"2.0.0-rc.1 ada cli alone untraced\"");
}

/* Where the process was is for programs, and for who asks why. */
static void a_crash_is_one_line_for_people(void **state) {
    (void)state;
    assert_int_equal(mkdir("some", 0700), 0);
    take_plugin(getenv("E2E_BUILDS"), "granted");
    struct run run = RUN_WITH({.plugins = "some"}, "call", "granted_crash");
    assert_int_equal(run.exit, 7);
    EXPECT_MATCH(run.err, "*toolrack: ExecutionFailed: plugin 'granted' crashed: SIGSEGV*\n");
    assert_null(strstr(run.err, "#1 "));
    run_finish(&run);
    EXPECT_JSON(RUN_WITH({.plugins = "some"}, "call", "granted_crash", "--json"), 7, "/error/type",
                "\"ExecutionFailed\"", "/error/signal", "11", "/error/trace/0", "\"*follow_null*\"",
                "/error/trace/1", "\"*granted_crash*\"", "/error/tool_name", "\"granted_crash\"");
    EXPECT(RUN_WITH({.plugins = "some"}, "why", "granted"), 0, "*backtrace\n*follow_null*", NULL);
}

static void the_log_has_what_a_call_took(void **state) {
    (void)state;
    assert_int_equal(mkdir("some", 0700), 0);
    take_plugin(getenv("E2E_BUILDS"), "granted");
    EXPECT(RUN("call", "total", "{\"numbers\":[1,2]}"), 0, "3\n", "");
    EXPECT(RUN("statistics", "total"), 0,
           "*\ncpu          *s, of 1 call\nmemory       * KiB, of 1 call\nbytes        17 in, 1 "
           "out\n*",
           "");
    EXPECT(RUN("call", "fails"), 7, "", NULL);
    EXPECT(RUN("statistics", "fails"), 0,
           "*\ncpu          *s, of 1 call\nmemory       * KiB, of 1 call\n*", "");
    EXPECT(RUN_WITH({.plugins = "some"}, "call", "granted_crash"), 7, "", NULL);
    EXPECT_JSON(RUN("log", "--json"), 0, "/0/tool", "\"total\"", "/0/bytes_in", "17",
                "/0/bytes_out", "1", "/1/tool", "\"fails\"", "/2/tool", "\"granted_crash\"",
                "/2/error/type", "\"ExecutionFailed\"", "/2/error/signal", "11", "/2/error/trace/0",
                "\"*follow_null*\"", "/2/cpu_ns", "null", "/3", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_version_is_called_by_name_number_or_range),
            TEST(what_is_no_version_of_it),
            TEST(a_default_is_set_for_every_later_run),
            TEST(a_default_that_is_gone_is_not_called),
            TEST(an_old_version_says_what_to_use),
            TEST(a_broken_promise_is_told),
            TEST(a_call_says_whose_it_is),
            TEST(a_crash_is_one_line_for_people),
            TEST(the_log_has_what_a_call_took),
    };
    return cmocka_run_group_tests_name("versions", tests, NULL, NULL);
}
