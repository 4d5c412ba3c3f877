/* The command line itself: verbs, options, help, version, and where output goes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"

static void without_a_verb_it_says_how(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, NULL), 2, "", "usage: toolrack VERB *tools:\n  list *");
    EXPECT_JSON(RUN_WITH({.bare = true}, "--json"), 2, "/error/type", "\"Usage\"");
}

static void help_comes_from_the_tables(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, "help"), 0,
           "usage: toolrack VERB *\n\nsettings:\n  enable *  priority *  --plugins DIR *exit "
           "codes:\n  0  success\n*  7 *",
           "");
    EXPECT(RUN_WITH({.bare = true}, "--help"), 0, "usage: toolrack VERB *", "");
    EXPECT(RUN_WITH({.bare = true}, "help", "call"), 0,
           "usage: toolrack call [options] NAME[@VERSION] [JSON|-]\n*--arg NAME=VALUE*--json*", "");
    static const char *const verbs[] = {"list",     "show",    "call",   "enable",  "disable",
                                        "priority", "grant",   "revoke", "grants",  "approvals",
                                        "why",      "release", "check",  "version", "help"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        EXPECT(RUN_WITH({.bare = true}, verbs[i], "--help"), 0, "usage: toolrack *", "");
        EXPECT_JSON(RUN_WITH({.bare = true}, "--json", "--help", verbs[i]), 0, "/help", "\"*\"");
    }
    EXPECT_JSON(RUN_WITH({.bare = true}, "help", "--json"), 0, "/verbs/0/name", "\"list\"",
                "/verbs/2/options/0/name", "\"arg\"", "/options/0/name", "\"config\"",
                "/verbs/0/group", "\"tools\"", "/verbs/2/group", "\"tools\"");
    EXPECT(RUN_WITH({.bare = true}, "help", "cal"), 2, "",
           "toolrack: there is no verb \"cal\"; did you mean \"call\"?\n");
}

static void version_is_told(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, "version"), 0, "toolrack *.*.*\n", "");
    EXPECT(RUN_WITH({.bare = true}, "--version"), 0, "toolrack *.*.*\n", "");
    EXPECT_JSON(RUN_WITH({.bare = true}, "--version", "--json"), 0, "/version", "\"*.*.*\"");
    EXPECT_JSON(RUN_WITH({.bare = true}, "version", "--json"), 0, "/name", "\"toolrack\"",
                "/version", "\"*.*.*\"", "/plugin_abi/major", "1");
}

static void wrong_usage_exits_2(void **state) {
    (void)state;
    EXPECT(RUN("lsit"), 2, "", "toolrack: there is no verb \"lsit\"; did you mean \"list\"?\n");
    EXPECT(RUN("list", "--al"), 2, "", "toolrack: list has no option --al; did you mean --all?\n");
    EXPECT(RUN("grants", "more"), 2, "", "toolrack: \"more\" is one argument too many; usage: *\n");
    EXPECT(RUN("show"), 2, "",
           "toolrack: an argument is missing; usage: toolrack show NAME[@VERSION]\n");
    EXPECT(RUN("priority", "add"), 2, "", "toolrack: an argument is missing; usage: *\n");
    EXPECT(RUN("priority", "add", "high"), 2, "",
           "toolrack: a priority must be an integer from *, not \"high\"\n");
    EXPECT(RUN("call", "add", "--arg", "a"), 2, "",
           "toolrack: --arg takes name=value, not \"a\"\n");
    EXPECT(RUN("call", "add", "a=40"), 2, "",
           "toolrack: \"a=40\" is no JSON; give one argument with: --arg a=40\n");
    EXPECT(RUN("call", "add", "{}", "b c=x y"), 2, "", "toolrack: \"b c=x y\" is one argument *");
    EXPECT(RUN("call", "add", "a=4", "b=x y"), 2, "", "*: --arg a=4\n");
    EXPECT(RUN("call", "add", "text=it's"), 2, "", "*: --arg 'text=it'\\''s'\n");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":\"=\"}"), 4, "", "*InvalidArguments*");
    EXPECT(RUN("grant", "launch", "a=40"), 2, "", "toolrack: \"a=40\" is one argument too many; *");
    EXPECT(RUN("call", "add", "--timeout", "0"), 2, "", "toolrack: --timeout takes *\n");
    EXPECT_JSON(RUN("--json", "lsit"), 2, "/error/type", "\"Usage\"", "/error/message",
                "\"there is no verb *list*\"");
}

static void options_stand_before_or_after_the_verb(void **state) {
    (void)state;
    EXPECT_JSON(RUN("--json", "list"), 0, "/0/state", "\"listed\"");
    EXPECT_JSON(RUN_WITH({.bare = true}, "list", "--state=state", "--plugins", e2e_plugins(),
                         "--config", "", "--json"),
                0, "/0/state", "\"listed\"");
    /* Each folder given is scanned, and no other. */
    EXPECT_JSON(RUN_WITH({.bare = true}, "list", "--config", "", "--state", "state", "--plugins",
                         ".", "--plugins", ".", "--json"),
                0, "", "[]");
}

static void a_wrong_configuration_fails(void **state) {
    (void)state;
    e2e_write("bad.json", "{ \"plugins\": ");
    EXPECT(RUN_WITH({.bare = true}, "list", "--config", "bad.json", "--state", ""), 1, "",
           "toolrack: Invalid: *bad.json*\n");
    EXPECT_JSON(RUN_WITH({.bare = true}, "list", "--config", "none.json", "--state", "", "--json"),
                3, "/error/type", "\"NotFound\"");
    EXPECT(RUN_WITH({.bare = true}, "list", "--config", "/tmp", "--state", ""), 1, "",
           "toolrack: Invalid: the configuration /tmp is a folder; name a file, *\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "."), 3, "",
           "toolrack: NotFound: the folder . has no plugin: no file in it ends in .so, nor in its "
           "build or target/release; build it first\n");
}

static void output_that_cannot_be_written_is_a_failure(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.no_output = true}, "version"), 1, "",
           "toolrack: cannot write to standard output: Bad file descriptor\n");
    EXPECT(RUN_WITH({.no_output = true}, "list"), 1, "", "toolrack: cannot write to *\n");
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    EXPECT(RUN_WITH(HOW(.output = full), "list", "--json"), 1, "",
           "toolrack: cannot write to standard output: No space left on device\n");
    (void)close(full);
    int broken[2];
    assert_int_equal(pipe2(broken, O_CLOEXEC), 0);
    (void)close(broken[0]);
    EXPECT(RUN_WITH(HOW(.output = broken[1]), "list"), 1, "",
           "toolrack: cannot write to standard output: Broken pipe\n");
    (void)close(broken[1]);
}

/* Of two values one would be dropped, so two are an error, unless they are a list. */
static void an_option_has_one_value_or_collects(void **state) {
    (void)state;
    EXPECT(RUN("list", "--plugin", "kit", "--plugin=kit.old"), 2, "",
           "toolrack: --plugin is given twice, and takes one value\n");
    EXPECT(RUN("recommend", "--limit", "1", "--limit", "2"), 2, "",
           "toolrack: --limit is given twice, and takes one value\n");
    EXPECT(RUN("list", "--color=never", "--tag", "math", "--color=never"), 2, "",
           "toolrack: --color is given twice, *\n");
    EXPECT_JSON(RUN("list", "--json", "--tag", "math", "--json"), 0, "/0/name", "\"add\"");
    EXPECT_JSON(RUN("export", "--format", "mcp", "--allow", "add", "--allow", "total,say"), 0,
                "/0/name", "\"add\"", "/1/name", "\"say\"", "/2/name", "\"total\"", "/3", "");
}

/* The same cause has the same exit code, whatever the verb. */
static void causes_have_one_exit_code(void **state) {
    (void)state;
    static const char *const no_format = "toolrack: there is no format *smoke*";
    EXPECT(RUN("export", "--format", "smoke"), 2, "", no_format);
    EXPECT(RUN("answer", "--format", "smoke"), 2, "", no_format);
    EXPECT(RUN("serve", "--listen", "smoke"), 2, "",
           "toolrack: --listen: 'smoke' is no address to listen at; *127.0.0.1:8137*\n");
    EXPECT(RUN("serve", "--listen", "127.0.0.1:9", "--listen", "localhost:9"), 2, "",
           "toolrack: --listen: 'localhost:9' has the port of \"127.0.0.1:9\", *\n");
    EXPECT(RUN("serve", "--socket", ""), 2, "",
           "toolrack: --socket: '' is no path for a socket; *");
    static const char *const no_profile = "toolrack: the configuration has no profile 'smoke'; *";
    EXPECT(RUN("serve", "--profile", "smoke", "--listen", "127.0.0.1:0"), 2, "", no_profile);
    EXPECT(RUN("mcp", "--profile", "smoke"), 2, "", no_profile);
    EXPECT(RUN("mcp", "--install", "cursor", "--profile", "smoke"), 2, "", no_profile);
    EXPECT(RUN("token", "add", "ci", "--profile", "smoke"), 2, "", no_profile);
    EXPECT_JSON(RUN("serve", "--listen", "smoke", "--json"), 2, "/error/type", "\"Usage\"");
    EXPECT(RUN("agent", "--endpoint", "x", "--model", "m", "--format", "smoke", "task"), 2, "",
           no_format);
    EXPECT(RUN_WITH({.bare = true}, "check", "none.so"), 3, "",
           "toolrack: NotFound: cannot read none.so: *");
    EXPECT(RUN("log", "zz"), 2, "", "toolrack: the id of a call is a number*");
    EXPECT(RUN("log", "--tool", "add@^1"), 2, "", "toolrack: 'add@^1' is a range *");
    EXPECT(RUN("decisions", "--tool", "add@^1"), 2, "", "toolrack: 'add@^1' is a range *");
    EXPECT(RUN("grant", "launch@^1"), 2, "", "toolrack: 'launch@^1' is a range *");
    EXPECT(RUN("revoke", "launch@^1"), 2, "", "toolrack: 'launch@^1' is a range *");
    EXPECT(RUN("whitelist"), 0, "", "toolrack: the whitelist is empty\n");
    EXPECT(RUN("answer", "--format", "openai", "none.json"), 3, "", "*cannot open none.json: *");
    EXPECT(RUN_WITH({.bare = true}, "list", "--config", "none.json", "--state", ""), 3, "",
           "toolrack: NotFound: cannot read the configuration none.json: *");
}

static void a_disabled_tool_names_the_verb(void **state) {
    (void)state;
    EXPECT(RUN("call", "asleep"), 5, "",
           "toolrack: Disabled: Tool 'asleep' is disabled; enable it: toolrack *enable asleep\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

/* Verbs about plugins speak of plugins. */
static void an_unknown_plugin_is_told_as_one(void **state) {
    (void)state;
    static const char *const verbs[] = {"why", "release", "reload", "rollback", "adopt"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        EXPECT(RUN(verbs[i], "kit.odl"), 3, "",
               "toolrack: NotFound: Plugin 'kit.odl' not found, nor a tool or a plugin file of "
               "that "
               "name; did you mean 'kit.old'?\n");
        EXPECT(RUN(verbs[i], "greeet"), 3, "", "*did you mean the tool 'greet'?\n");
        EXPECT(RUN(verbs[i], "frobnicate"), 3, "", "*; see which *there are: toolrack *plugins\n");
    }
    EXPECT(RUN("allow", "kit.odl", "read:/srv"), 3, "", "*Plugin 'kit.odl' not found*\n");
    EXPECT(RUN("disallow", "kit.odl", "read:/srv"), 3, "", "*Plugin 'kit.odl' not found*\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(without_a_verb_it_says_how),
            TEST(help_comes_from_the_tables),
            TEST(version_is_told),
            TEST(wrong_usage_exits_2),
            TEST(options_stand_before_or_after_the_verb),
            TEST(a_wrong_configuration_fails),
            TEST(output_that_cannot_be_written_is_a_failure),
            TEST(an_option_has_one_value_or_collects),
            TEST(causes_have_one_exit_code),
            TEST(a_disabled_tool_names_the_verb),
            TEST(an_unknown_plugin_is_told_as_one),
    };
    return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
