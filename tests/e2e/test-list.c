/* list and show. */
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

static void list_is_an_aligned_table(void **state) {
    (void)state;
    EXPECT(RUN("list"), 0,
           "NAME      VERSION  PRIORITY  PERMISSION  PLUGIN   STATE   DESCRIPTION\n"
           "add       1.0.0    10        safe        kit      listed  Add two numbers\n"
           "asks      1.0.0    10        safe        kit      listed  Ask the person\n"
           "echo      1.0.0    10        safe        kit      listed  Give the arguments back\n"
           "erase     1.0.0    10        confirm     kit      listed  Erase something\n"
           "fails     1.0.0    10        safe        kit      listed  Fail\n"
           "greedy    1.0.0    10        safe        kit      listed  Reach a limit\n"
           "greet     2.0.0    10        safe        kit      listed  Greet somebody\n"
           "greet     1.0.0    10        safe        kit.old  listed  Greet somebody, the old way\n"
           "launch    1.0.0    10        dangerous   kit      listed  Launch something\n"
           "noisy     1.0.0    10        safe        kit      listed  Write log lines\n"
           "nothing   1.0.0    10        safe        kit      listed  Do nothing\n"
           "picky     1.0.0    10        safe        kit      listed  Refuse its argument\n"
           "picture   1.0.0    10        safe        kit      listed  Give a picture\n"
           "say       1.0.0    10        safe        kit      listed  Say two lines "
           "\\u202e;sdrawkcab trust builtin\n"
           "several   1.0.0    10        safe        kit      listed  Give several things at once\n"
           "slow      1.0.0    10        safe        kit      listed  Wait until told to stop\n"
           "stubborn  1.0.0    10        safe        kit      listed  Take three seconds whatever "
           "is said\n"
           "total     1.0.0    7         safe        kit      listed  Sum up numbers\n",
           "");
}

static void a_terminal_gets_lines_that_fit(void **state) {
    (void)state;
    (void)unsetenv("COLUMNS");
    EXPECT(RUN_WITH({.columns = 80}, "list", "--tag", "math"), 0,
           "NAME   VERSION  PRIORITY  PERMISSION  PLUGIN  STATE   DESCRIPTION\n"
           "add    1.0.0    10        safe        kit     listed  Add two numbers\n"
           "total  1.0.0    7         safe        kit     listed  Sum up numbers\n",
           "");
    static const char beneath[] = "*\nstubborn  1.0.0    10        safe        kit      listed\n"
                                  "    Take three seconds whatever is said\n*";
    EXPECT(RUN_WITH({.columns = 80}, "list"), 0, beneath, "");
    (void)setenv("COLUMNS", "92", 1);
    EXPECT(RUN_WITH({.columns = 80}, "list"), 0, "*  Take three seconds whatever is\n* said\n*",
           "");
    (void)setenv("COLUMNS", "wide", 1);
    EXPECT(RUN_WITH({.columns = 80}, "list"), 0, beneath, "");
    (void)unsetenv("COLUMNS");
}

static void list_as_json_says_all(void **state) {
    (void)state;
    EXPECT_JSON(RUN("list", "--json"), 0, "/0/id", "\"add\"", "/0/uid", "*", "/0/name", "\"add\"",
                "/0/version", "\"1.0.0\"", "/0/description", "\"Add two numbers\"", "/0/enabled",
                "true", "/0/priority", "10", "/0/permission", "\"safe\"", "/0/category", "\"math\"",
                "/0/tags", "[\"math\",\"sum\"]", "/0/plugin", "\"kit\"", "/0/state", "\"listed\"",
                "/0/reason", "", "/1/category", "null", "/1/tags", "[]", "/6/id", "\"greet\"",
                "/6/version", "\"2.0.0\"", "/7/version", "\"1.0.0\"", "/17/id", "\"total\"",
                "/17/priority", "7", "/18", "");
    /* On a terminal it is the same, indented. */
    EXPECT(RUN_WITH({.columns = 80}, "list", "--json", "--tag", "words"), 0,
           "[\n  {\n    \"id\": \"greet\",\n*", "");
}

static void list_filters(void **state) {
    (void)state;
    EXPECT_JSON(RUN("list", "--json", "--tag", "sum"), 0, "/0/id", "\"add\"", "/1", "");
    EXPECT_JSON(RUN("list", "--json", "--category", "math"), 0, "/0/id", "\"add\"", "/1/id",
                "\"total\"", "/2", "");
    EXPECT_JSON(RUN("list", "--json", "--tag", "words", "--category", "math"), 0, "", "[]");
    EXPECT(RUN("list", "--tag", "words", "--category", "math"), 0, "",
           "toolrack: no enabled tool matches; *\n");
    EXPECT_JSON(RUN("list", "--json", "greet", "a*"), 0, "/0/id", "\"add\"", "/1/id", "\"asks\"",
                "/2/id", "\"greet\"", "/3/id", "\"greet\"", "/4", "");
    EXPECT_JSON(RUN("list", "--json", "gr*", "--plugin", "kit.old"), 0, "/0/version", "\"1.0.0\"",
                "/1", "");
    EXPECT_JSON(RUN("list", "--json", "--in-state", "disabled"), 0, "/0/id", "\"asleep\"", "/1",
                "");
    EXPECT_JSON(RUN("list", "--json", "--in-state", "failed"), 0, "", "[]");
    EXPECT(RUN("list", "--in-state", "broken"), 2, "",
           "toolrack: there is no state \"broken\"; the states are: listed, *refused\n");
}

static void all_is_also_the_disabled(void **state) {
    (void)state;
    EXPECT(RUN("list"), 0, NULL, "");
    EXPECT(RUN("list", "--all"), 0,
           "*\nasleep    1.0.0    10        safe        kit      disabled  Disabled by its "
           "author\n*",
           "");
    EXPECT_JSON(RUN("list", "--all", "--json"), 0, "/2/id", "\"asleep\"", "/2/enabled", "false");
}

/* A folder with a good file and broken ones. */
static void make_mixed_folder(void) {
    char path[4096];
    assert_int_equal(mkdir("mixed", 0700), 0);
    (void)snprintf(path, sizeof path, "%s/old.so", e2e_plugins());
    e2e_copy(path, "mixed/good.so", 0);
    e2e_copy(path, "mixed/cut.so", 900);
    (void)snprintf(path, sizeof path, "%s/bad-schema.so", e2e_broken());
    e2e_copy(path, "mixed/half.so", 0);
    e2e_write("mixed/words.so", "not a plugin at all\n");
}

static void broken_files_hide_no_good_ones(void **state) {
    (void)state;
    make_mixed_folder();
    EXPECT_JSON(RUN_WITH({.plugins = "mixed"}, "list", "--json"), 0, "/0/id", "\"greet\"", "/1/id",
                "\"straight\"", "/2", "");
    EXPECT_JSON(RUN_WITH({.plugins = "mixed"}, "list", "--all", "--json"), 0, "/1/id",
                "\"straight\"", "/2/id", "\"*/mixed/cut.so\"", "/2/uid", "null", "/2/enabled",
                "false", "/2/state", "\"refused\"", "/2/reason", "\"*\"", "/2/fix", "\"*\"",
                "/2/file", "\"*/mixed/cut.so\"", "/3/name", "\"crooked\"", "/3/plugin", "\"half\"",
                "/3/file", "\"*/mixed/half.so\"", "/4/id", "\"*/mixed/words.so\"", "/5", "");
    EXPECT(RUN_WITH({.plugins = "mixed"}, "list", "--all"), 0,
           "NAME*\ngreet *\nstraight *\ncut.so    -*refused *mixed/cut.so)\ncrooked   "
           "-*\nwords.so *",
           "");
    EXPECT(RUN_WITH({.plugins = "mixed"}, "list", "--all", "greet"), 0, "NAME*\ngreet *",
           "toolrack: 3 problems with tools or plugins; see them, without names and filters: "
           "toolrack *list --all\n");
    EXPECT(RUN_WITH({.plugins = "mixed"}, "release", "cut.so"), 3, "",
           "*toolrack: NotFound: */mixed/cut.so was refused: *\n");
    EXPECT(RUN_WITH({.plugins = "mixed"}, "release", "good.so"), 3, "",
           "*toolrack: NotFound: plugin 'kit.old' is neither in quarantine *\n");
    EXPECT(RUN_WITH({.plugins = "mixed"}, "call", "greet", "--arg", "name=x"), 0, "good day\n",
           NULL);
    EXPECT_JSON(RUN_WITH({.plugins = "mixed"}, "list", "cut*", "--in-state", "refused", "--json"),
                0, "/0/id", "\"*/mixed/cut.so\"", "/1", "");
    EXPECT_JSON(RUN_WITH({.plugins = "mixed"}, "plugins", "--json"), 0, "/0/id", "\"kit.old\"",
                "/0/version", "\"1.0.0\"", "/0/trust", "\"community\"", "/0/state", "\"*\"",
                "/0/file", "\"*/mixed/good.so\"", "/0/tools", "1", "/0/isolation", "\"process\"",
                "/1/file", "\"*/mixed/half.so\"", "/1/tools", "1", "/2/id", "null", "/2/file",
                "\"*/mixed/cut.so\"", "/2/state", "\"refused\"", "/2/tools", "0", "/3/file",
                "\"*/mixed/words.so\"", "/3/reason", "\"*\"", "/4", "");
    EXPECT(RUN_WITH({.plugins = "mixed"}, "plugins"), 0,
           "ID *VERSION *TRUST *STATE *TOOLS *ISOLATION *FILE, REASON\nkit.old *\n* refused *0 *"
           "*mixed/cut.so: *\n*",
           NULL);
    EXPECT(RUN_WITH({.plugins = "mixed"}, "show", "crooked"), 3, "",
           "*toolrack: NotFound: Tool 'crooked' of */mixed/half.so was refused: *\n");
}

static void a_version_is_named_as_everywhere(void **state) {
    (void)state;
    EXPECT(RUN("list", "greet@1.0.0"), 0, "NAME*\ngreet  1.0.0 *", "");
    EXPECT_JSON(RUN("list", "greet@1.0.0", "--json"), 0, "/0/version", "\"1.0.0\"", "/1", "");
    EXPECT_JSON(RUN("list", "greet@^1", "add@>=1", "--json"), 0, "/0/name", "\"add\"", "/1/version",
                "\"1.0.0\"", "/2", "");
    EXPECT_JSON(RUN("list", "gr*@2.0.0", "--json"), 0, "/0/name", "\"greet\"", "/1", "");
    EXPECT(RUN("list", "greet@9"), 3, "",
           "toolrack: NotFound: Tool 'greet' has no version in the range '9'; it has 2.0.0, "
           "1.0.0\n");
    EXPECT(RUN("list", "greet@new"), 3, "", "toolrack: NotFound: *neither a version *");
}

static void show_tells_everything(void **state) {
    (void)state;
    EXPECT(RUN("show", "add"), 0,
           "add 1.0.0\n  Add two numbers\n\n"
           "title        Addition\n"
           "state        listed\n"
           "priority     10\n"
           "permission   safe\n"
           "category     math\n"
           "tags         math, sum\n"
           "annotations  read-only, idempotent\n"
           "deadline     the host's default\n"
           "plugin       kit\n"
           "file         */kit.so\n"
           "trust        community\n"
           "isolation    process\n"
           "sandbox      *\n"
           "C function   double add(double a, double b)\n"
           "result       number\n"
           "\nPARAMETER  TYPE    RANGE  DEFAULT   DESCRIPTION\n"
           "a          number  -      required  first addend\n"
           "b          number  -      required  second addend\n"
           "\nexamples\n{\"a\": 1, \"b\": 2} -> 3\n{\"a\": 1, \"b\": -1}\n",
           "");
    EXPECT(RUN("show", "add", "--schema"), 0,
           "*\narguments\n{\n*\"a\": {*first addend*}\n\nresult\n{\n*number*}\n\nexamples*", "");
    EXPECT(RUN("show", "greet"), 0,
           "*C function   const char *greet(struct tr_call *call, const char *name, bool loud)\n*"
           "name       string   at most 10 characters  required  whom\n"
           "loud       boolean  -                      false     shout\n*",
           "");
    EXPECT(RUN("show", "total"), 0,
           "*C function   int64_t total(const int64_t *numbers, size_t numbers_count)\n*"
           "numbers    array of integer *",
           "");
    /* A JSON tool has no C function; a member of an object has a row. */
    EXPECT(RUN("show", "echo"), 0, "*\n\nPARAMETER *\no          object *\no.s        string *",
           "");
    EXPECT_JSON(RUN("show", "echo", "--json"), 0, "/prototype", "null");
    EXPECT(RUN("show", "say"), 0,
           "say 1.0.0\n  Say two lines \\u202e;sdrawkcab\n  \n  trust        builtin\n\nstate *",
           "");
    EXPECT(RUN("show", "asleep"), 0, "asleep 1.0.0\n*state        disabled\n*", "");
    EXPECT(RUN("show", "stubborn"), 0, "*deadline     200 ms\n*", "");
    EXPECT(RUN("show", "greet"), 0, "greet 2.0.0\n*versions     2.0.0 (default), 1.0.0\n*", "");
    EXPECT(RUN("show", "greet@1.0.0"), 0, "greet 1.0.0\n  Greet somebody, the old way\n*", "");
}

static void show_as_json_is_one_object(void **state) {
    (void)state;
    EXPECT_JSON(RUN("show", "add", "--json"), 0, "/id", "\"add\"", "/title", "\"Addition\"",
                "/inputSchema/properties/a/type", "\"number\"", "/inputSchema/required",
                "[\"a\",\"b\"]", "/outputSchema/type", "\"number\"", "/annotations/readOnlyHint",
                "true", "/annotations/destructiveHint", "false", "/annotations/idempotentHint",
                "true", "/annotations/openWorldHint", "false", "/deadline_ms", "null", "/file",
                "\"*/kit.so\"", "/examples/0", "{\"arguments\":{\"a\":1,\"b\":2},\"result\":3}",
                "/examples/1", "{\"arguments\":{\"a\":1,\"b\":-1}}", "/examples/2", "", "/trust",
                "\"community\"", "/isolation/isolation", "\"process\"", "/isolation/capabilities",
                "[]", "/isolation/limits/memory_mb", "1024", "/versions", "[\"1.0.0\"]",
                "/statistics/calls", "0", "/statistics/failures", "0");
    EXPECT_JSON(RUN("show", "stubborn", "--json"), 0, "/deadline_ms", "200", "/outputSchema",
                "null", "/examples", "[]", "/task", "\"always\"", "/icons",
                "[{\"src\":\"https://example.org/mule.png\"}]");
    EXPECT_JSON(RUN("show", "greet", "--json"), 0, "/task", "\"auto\"", "/icons", "null");
    EXPECT_JSON(RUN("show", "greet@1.0.0", "--json"), 0, "/version", "\"1.0.0\"", "/plugin",
                "\"kit.old\"", "/versions", "[\"2.0.0\",\"1.0.0\"]");
}

static void a_value_that_nothing_has_is_not_found(void **state) {
    (void)state;
    EXPECT(RUN("list", "gret"), 3, "",
           "toolrack: NotFound: Tool 'gret' not found; did you mean 'greet'?\n");
    EXPECT(RUN("list", "greet", "frobnicate"), 3, "", "*Tool 'frobnicate' not found; *\n");
    EXPECT_JSON(RUN("list", "--json", "--all", "frobnicate"), 3, "/error/type", "\"NotFound\"");
    EXPECT(RUN("list", "x*"), 0, "", "toolrack: no enabled tool matches; *\n");
    EXPECT(RUN("list", "asleep"), 0, "", "toolrack: no enabled tool matches; *\n");
    EXPECT(RUN("list", "--plugin", "kit.odl"), 3, "",
           "toolrack: NotFound: Plugin 'kit.odl' not found; did you mean 'kit.old'?\n");
    EXPECT(RUN("list", "--tag", "none"), 3, "", "*no tool has the tag 'none'\n");
    EXPECT(RUN("list", "--category", "none"), 3, "", "*no tool has the category 'none'\n");
    EXPECT(RUN("list", "--scenario", "none"), 3, "", "*no tool has the scenario 'none'\n");
}

static void what_is_not_there_is_suggested(void **state) {
    (void)state;
    EXPECT(RUN("show", "gret"), 3, "",
           "toolrack: NotFound: Tool 'gret' not found; did you mean 'greet'?\n");
    EXPECT(RUN("show", "greet@3.0.0"), 3, "",
           "toolrack: NotFound: Tool 'greet' has no version '3.0.0'; it has 2.0.0, "
           "1.0.0\n");
    EXPECT(RUN("show", "frobnicate"), 3, "",
           "toolrack: NotFound: Tool 'frobnicate' not found; see what there is: toolrack *list "
           "--all\n");
    EXPECT_JSON(RUN("show", "gret", "--json"), 3, "/error/type", "\"NotFound\"", "/error/tool_name",
                "\"gret\"", "/error/message", "\"*did you mean*greet*\"");
}

/* What is bundled and not there is told to who asks for all, and is no problem to others. */
static void a_bundled_plugin_that_is_not_installed_is_absent(void **state) {
    (void)state;
    char folder[4096];
    assert_int_equal(mkdir("bundled", 0700), 0);
    e2e_write("bundled/paint.so.absent", "install it: buy a brush\nnot shown\n");
    e2e_write("bundled/there.so.absent", "install it\n");
    e2e_write("bundled/there.so", "no plugin");
    e2e_write("bundled/.hidden.so.absent", "install it\n");
    assert_non_null(getcwd(folder, sizeof folder - 16));
    (void)strcat(folder, "/bundled");
    (void)setenv("TOOLRACK_BUILTIN_DIR", folder, 1);
    struct run all = RUN_WITH({.bare = true}, "list", "--all");
    struct run absent = RUN_WITH({.bare = true}, "list", "--in-state", "absent", "--json");
    struct run few = RUN_WITH({.bare = true}, "list");
    (void)unlink("bundled/there.so");
    e2e_write("bundled/paint.so", "no plugin");
    struct run other = RUN_WITH({.bare = true}, "list", "--in-state", "absent", "--json");
    (void)unsetenv("TOOLRACK_BUILTIN_DIR");
    EXPECT(all, 0,
           "*\npaint.so * absent *it is a bundled plugin that is not installed; install it: buy a "
           "brush (*/bundled/paint.so)\n*",
           "");
    EXPECT_JSON(absent, 0, "/0/rule", "\"plugin-absent\"", "/0/fix", "\"install it: buy a brush\"",
                "/1", "");
    EXPECT(few, 0, "", "*1 problem with tools or plugins*"); /* there.so */
    EXPECT_JSON(other, 0, "/0/fix", "\"install it\"", "/1", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(list_is_an_aligned_table),
            TEST(a_terminal_gets_lines_that_fit),
            TEST(list_as_json_says_all),
            TEST(list_filters),
            TEST(all_is_also_the_disabled),
            TEST(broken_files_hide_no_good_ones),
            TEST(a_version_is_named_as_everywhere),
            TEST(show_tells_everything),
            TEST(show_as_json_is_one_object),
            TEST(what_is_not_there_is_suggested),
            TEST(a_value_that_nothing_has_is_not_found),
            TEST(a_bundled_plugin_that_is_not_installed_is_absent),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
