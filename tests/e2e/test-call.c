/* call: arguments in, results and errors out. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "e2e.h"

/* --------------------------------------------------------------- arguments */

static void arguments_come_as_json_by_option_or_by_input(void **state) {
    (void)state;
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    EXPECT(RUN("call", "add", "--arg", "a=1", "--arg", "b=2"), 0, "3.0\n", "");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}", "--arg", "b=5"), 0, "6.0\n", "");
    EXPECT(RUN_WITH({.input = "{\"a\":1,\n\"b\":2}\n"}, "call", "add", "-"), 0, "3.0\n", "");
    EXPECT(RUN_WITH({.input = "{\"a\":1}"}, "call", "add", "-", "--arg", "b=5"), 0, "6.0\n", "");
    EXPECT(RUN_WITH({.input = ""}, "call", "nothing", "-"), 0, "null\n", "");
    EXPECT(RUN("call", "nothing"), 0, "null\n", "");
    EXPECT(RUN("call", "total", "--arg", "numbers=1", "--arg", "numbers=2"), 0, "3\n", "");
    EXPECT(RUN("call", "total", "--arg", "numbers=[1,2,3]"), 0, "6\n", "");
}

/* As with a read-only disk, and for a user without a home. */
static void a_state_folder_that_cannot_be_made_stops_no_call(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, "--config", "", "--state", "/proc/none", "--plugins",
                    e2e_plugins(), "call", "nothing"),
           0, "null\n",
           "*cannot make the folder /proc/none/images*copied into a temporary folder*");
}

static void arg_takes_its_type_from_the_schema(void **state) {
    (void)state;
    EXPECT(RUN("call", "echo", "--arg", "s=5", "--arg", "n=5", "--arg", "i=7", "--arg", "b=true",
               "--arg", "z=null", "--arg", "a=1", "--arg", "a=x", "--arg", "o.s=2", "--arg",
               "new=6", "--arg", "word=six"),
           0,
           "{\"s\":\"5\",\"n\":5,\"i\":7,\"b\":true,\"z\":null,\"a\":[\"1\",\"x\"],"
           "\"o\":{\"s\":\"2\"},\"new\":6,\"word\":\"six\"}\n",
           "");
}

static void wrong_arguments_exit_4(void **state) {
    (void)state;
    EXPECT(RUN("call", "add", "--arg", "a=one", "--arg", "b=2"), 4, "",
           "toolrack: InvalidArguments: /a: *number*\n");
    EXPECT(RUN("call", "add", "{\"a\":1}"), 4, "", "toolrack: InvalidArguments: *b*\n");
    EXPECT(RUN("call", "add", "{\"a\":"), 4, "", "toolrack: InvalidArguments: *\n");
    EXPECT(RUN("call", "add", "[1,2]"), 4, "", "toolrack: InvalidArguments: *object*\n");
    EXPECT(RUN("call", "add", "{\"a\":", "--arg", "b=1"), 4, "",
           "toolrack: InvalidArguments: the arguments are not JSON: *\n");
    EXPECT(RUN("call", "add", "--arg", "a=1", "--arg", "a=2"), 4, "",
           "toolrack: InvalidArguments: /a: is given twice, and is not an array\n");
    EXPECT(RUN("call", "picky"), 4, "", "toolrack: InvalidArguments: *amount: must be a prime\n");
    EXPECT(RUN_WITH(HOW(.input = "{}\0{}", .input_length = 5), "call", "nothing", "-"), 4, "",
           "toolrack: InvalidArguments: *zero byte\n");
    EXPECT_JSON(RUN("call", "greet", "--json", "--arg", "name=far too long a name"), 4,
                "/error/type", "\"InvalidArguments\"", "/error/field", "\"/name\"",
                "/error/tool_name", "\"greet\"", "/error/message", "\"*\"", "/error/signal", "");
    EXPECT_JSON(RUN("call", "add", "--json", "--arg", "a=1", "--arg", "a=2"), 4, "/error/tool_name",
                "\"add\"", "/error/field", "\"/a\"");
}

static void too_much_input_is_refused(void **state) {
    (void)state;
    size_t length = 64u * 1024 * 1024 + 1;
    char *input = malloc(length);
    assert_non_null(input);
    memset(input, ' ', length);
    EXPECT(RUN_WITH(HOW(.input = input, .input_length = length), "call", "nothing", "-"), 4, "",
           "toolrack: InvalidArguments: standard input has more than 67108864 bytes, *\n");
    free(input);
}

/* ------------------------------------------------------------------ results */

static void results_are_text_or_json(void **state) {
    (void)state;
    EXPECT(RUN("call", "say"), 0, "two\nlines \x1b[31m\n", "");
    EXPECT(RUN("call", "say", "--json"), 0, "\"two\\nlines \\u001b[31m\"\n", "");
    EXPECT(RUN("call", "greet", "--arg", "name=x"), 0, "hello\n", "");
    EXPECT(RUN("call", "greet@2.0.0", "--arg", "name=x", "--arg", "loud=true"), 0, "HELLO\n", "");
    EXPECT(RUN("call", "greet@1.0.0", "--arg", "name=x"), 0, "good day\n", "");
    EXPECT_JSON(RUN("call", "picture"), 0, "/content/0/type", "\"image\"", "/content/0/data",
                "\"UE5HIQ==\"", "/content/0/mimeType", "\"image/png\"");
    EXPECT_JSON(RUN("call", "several"), 0, "/content/0/text", "\"caption\"", "/content/1/type",
                "\"image\"", "/structuredContent/count", "2");
}

static void a_terminal_is_sent_no_control_characters(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.columns = 80}, "call", "say"), 0, "two\nlines \\u001b[31m\n", "");
}

static void log_lines_go_to_standard_error(void **state) {
    (void)state;
    EXPECT(RUN("call", "noisy"), 0, "done\n", "toolrack: warning: kit: *something smells\n");
    EXPECT(RUN("call", "noisy", "--verbose"), 0, "done\n",
           "*toolrack: warning: kit: *something smells\ntoolrack: debug: kit: *looking around\n*");
}

/* ------------------------------------------------------------------- errors */

/* What was changed in the arguments goes with a result that has a place for it. */
static void what_was_changed_is_in_the_json(void **state) {
    (void)state;
    e2e_write("lax.json", "{\"arguments\": \"lax\"}");
    EXPECT(RUN("call", "echo", "{\"n\":\"1.50\",\"o\":\"{}\"}", "--json", "--config", "lax.json"),
           0,
           "{\"n\":1.5,\"o\":{},\"_meta\":{\"toolrack/changed\":[{\"field\":\"/n\",\"change\":"
           "\"number-text\"},{\"field\":\"/o\",\"change\":\"json-text\"}]}}\n",
           "");
    EXPECT(RUN("call", "echo", "{\"n\":\"2\"}", "--config", "lax.json"), 0, "{\"n\":2}\n",
           "toolrack: the argument /n was changed to fit: number-text\n");
    EXPECT(RUN("call", "add", "{\"a\":\"2\",\"b\":3}", "--json", "--config", "lax.json"), 0,
           "5.0\n", "toolrack: the argument /a was changed to fit: number-text\n");
    EXPECT(RUN("call", "echo", "{\"n\":1}", "--json", "--config", "lax.json"), 0, "{\"n\":1}\n",
           "");
}

static void each_failure_has_its_exit_code(void **state) {
    (void)state;
    EXPECT(RUN("call", "addd"), 3, "",
           "toolrack: NotFound: Tool 'addd' not found; did you mean 'add'?\n");
    EXPECT(RUN("call", "greet@9.9.9"), 3, "", "toolrack: NotFound: *has no version*2.0.0, 1.0.0\n");
    EXPECT(RUN("call", "asleep"), 5, "", "toolrack: Disabled: *\n");
    EXPECT(RUN("call", "launch"), 5, "", "toolrack: PermissionDenied: *\n");
    EXPECT(RUN("call", "launch", "--yes"), 5, "", "toolrack: PermissionDenied: *\n");
    EXPECT(RUN("call", "erase"), 5, "",
           "toolrack: ConfirmationRequired: *; nobody can be asked here; allow all its calls: "
           "toolrack*grant *; --yes agrees to the call\n");
    EXPECT(RUN("call", "erase", "--yes"), 0, "erased\n", "");
    EXPECT(RUN("call", "fails"), 7, "", "toolrack: ExecutionFailed: *the disk is full\n");
    EXPECT(RUN("call", "greedy"), 1, "", "toolrack: LimitExceeded: *too much\n");
}

static void each_failure_has_its_json(void **state) {
    (void)state;
    EXPECT_JSON(RUN("call", "addd", "--json"), 3, "/error/type", "\"NotFound\"");
    EXPECT_JSON(RUN("call", "asleep", "--json"), 5, "/error/type", "\"Disabled\"",
                "/error/tool_name", "\"asleep\"");
    EXPECT_JSON(RUN("call", "launch", "--json"), 5, "/error/type", "\"PermissionDenied\"");
    EXPECT_JSON(RUN("call", "erase", "--json"), 5, "/error/type", "\"ConfirmationRequired\"",
                "/error/message", "\"*--yes*\"", "/error/tool_name", "\"erase\"");
    EXPECT_JSON(RUN("call", "fails", "--json"), 7, "/error/type", "\"ExecutionFailed\"",
                "/error/tool_name", "\"fails\"", "/error/message", "\"*the disk is full\"");
}

/* A call that is given up keeps its memory, as toolrack_close() says. */
static void no_leak_is_news(void) {
    (void)setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
}

static double children_cpu_s(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void a_call_that_takes_too_long_exits_6(void **state) {
    (void)state;
    no_leak_is_news();
    EXPECT(RUN("call", "slow", "--timeout", "50"), 6, "", "*toolrack: Timeout: *\n");
    EXPECT_JSON(RUN("call", "slow", "--timeout", "50", "--json"), 6, "/error/type", "\"Timeout\"",
                "/error/tool_name", "\"slow\"");
    /* By the tool's own word, and although it does not listen. */
    EXPECT(RUN("call", "stubborn"), 6, "", "*toolrack: Timeout: *\n");
    (void)unsetenv("LSAN_OPTIONS");
    /* Three seconds, in which the command sleeps. */
    double before_s = children_cpu_s();
    EXPECT(RUN("call", "stubborn", "--timeout", "60000"), 0, "at last\n", "");
    assert_true(children_cpu_s() - before_s < 1.0);
}

static void ctrl_c_cancels_the_call(void **state) {
    (void)state;
    struct run run =
            RUN_WITH(HOW(.wait_for = "half way", .send = SIGINT), "call", "slow", "--verbose");
    assert_int_equal(run.signal, SIGINT);
    assert_string_equal(run.out, "");
    EXPECT_MATCH(run.err, "*toolrack: slow: 0.5 begun\n*toolrack: slow: 1 of 2 half "
                          "way\n*toolrack: Cancelled: *\n*");
    run_finish(&run);
    run = RUN_WITH(HOW(.wait_for = "half way", .send = SIGINT), "call", "slow", "--verbose",
                   "--json");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.out, "{\"error\":{\"type\":\"Cancelled\",*}}\n");
    run_finish(&run);
}

static void a_terminal_is_asked(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.typed = "\nmain\n\n"}, "call", "asks"), 0, "0 {\"branch\":\"main\"}\n",
           "asks asks: Which branch?\\u001b[31m\nasks asks: branch [text]:   it is required\n"
           "asks asks: branch [text]: Send this answer? [Y/n] ");
    EXPECT(RUN_WITH({.typed = "main\nn\n"}, "call", "asks"), 0, "3 nothing\n", "*[Y/n] ");
    EXPECT(RUN_WITH({.typed = "\x04"}, "call", "asks"), 0, "5 nothing\n", "*[text]: \n");
    EXPECT(RUN_WITH({.typed = "main\n\n"}, "call", "asks", "--json"), 0, "\"7 nothing\"\n", "");
    EXPECT(RUN_WITH({.input = "main\n\n"}, "call", "asks"), 0, "7 nothing\n", "");
}

static void a_terminal_is_asked_by_a_plan(void **state) {
    (void)state;
    static const char *const watched[] = {NULL, "--watch"};
    e2e_write("plan.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"asks\"}]}");
    for (size_t i = 0; i < 2; i++) {
        struct run run = RUN_WITH({.typed = "main\n\n"}, "run", "plan.json", watched[i]);
        assert_int_equal(run.exit, 0);
        EXPECT_MATCH(run.out, "{\"a\":\"0 {\\\"branch\\\":\\\"main\\\"}\"}\n");
        EXPECT_MATCH(run.err, "*a tool of plan.json asks: Which branch?*");
        run_finish(&run);
    }
}

/* The error of a run is that of a node, and says of which. */
static void a_failed_run_names_its_node(void **state) {
    (void)state;
    e2e_write("plan.json",
              "{\"nodes\": [{\"id\": \"good\", \"tool\": \"add\", \"arguments\": {\"a\": "
              "1, \"b\": 2}}, {\"id\": \"bad\", \"tool\": \"fails\", \"depends_on\": "
              "[\"good\"]}]}");
    EXPECT(RUN("run", "plan.json"), 7, "",
           "*toolrack: ExecutionFailed: *node 'bad' (fails): *the disk is full\n");
    struct run run = RUN("run", "plan.json", "--json");
    assert_int_equal(run.exit, 7);
    EXPECT_MATCH(run.out,
                 "*\"event\":\"end\",\"state\":\"failed\",*\"message\":\"node 'bad' (fails): "
                 "*the disk is full\"*");
    run_finish(&run);
}

static void ctrl_c_ends_a_question_too(void **state) {
    (void)state;
    struct run run =
            RUN_WITH(HOW(.typed = "", .wait_for = "[text]: ", .send = SIGINT), "call", "asks");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err, "asks asks: *[text]: \ntoolrack: Cancelled: *\n");
    run_finish(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(arguments_come_as_json_by_option_or_by_input),
            TEST(a_state_folder_that_cannot_be_made_stops_no_call),
            TEST(arg_takes_its_type_from_the_schema),
            TEST(wrong_arguments_exit_4),
            TEST(too_much_input_is_refused),
            TEST(results_are_text_or_json),
            TEST(a_terminal_is_sent_no_control_characters),
            TEST(log_lines_go_to_standard_error),
            TEST(what_was_changed_is_in_the_json),
            TEST(each_failure_has_its_exit_code),
            TEST(each_failure_has_its_json),
            TEST(a_call_that_takes_too_long_exits_6),
            TEST(ctrl_c_cancels_the_call),
            TEST(a_terminal_is_asked),
            TEST(a_terminal_is_asked_by_a_plan),
            TEST(ctrl_c_ends_a_question_too),
            TEST(a_failed_run_names_its_node),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
