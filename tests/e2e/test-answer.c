/* answer: a model's message in, what is to be appended to the conversation out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"

#define CALL(id, name, arguments)                                                                 \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":" \
    "\"" arguments "\"}}"
#define MESSAGE(calls) "{\"role\":\"assistant\",\"tool_calls\":[" calls "]}"

static void a_turn_from_standard_input(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.input = MESSAGE(CALL("a", "add", "{\\\"a\\\":1,\\\"b\\\":2}") "," CALL(
                             "b", "nothing", "") "," CALL("c", "add", "{") "," CALL("d", "nowhere",
                                                                                    "{}"))},
                    "answer", "--format", "openai"),
           0,
           "[{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"3.0\"},"
           "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"null\"},"
           "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"InvalidArguments: the "
           "arguments "
           "are not JSON: *\"},"
           "{\"role\":\"tool\",\"tool_call_id\":\"d\",\"content\":\"NotFound: Tool 'nowhere' not "
           "found*\"}]\n",
           "");
    EXPECT(RUN_WITH({.input = "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":"
                              "\"no\"}}]}"},
                    "answer", "--format", "openai", "-"),
           0, "[]\n", "");
}

static void a_message_that_was_refused_runs_nothing(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.input = "{\"stop_reason\":\"refusal\",\"content\":[{\"type\":\"tool_use\","
                              "\"id\":\"a\","
                              "\"name\":\"say\",\"input\":{}}]}"},
                    "answer", "--format", "anthropic"),
           9, "", "toolrack: Refused: /stop_reason: the model refuses the task, *\n");
}

static void a_turn_from_a_file(void **state) {
    (void)state;
    e2e_write("message.json", "{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"say\","
                              "\"input\":{}}]}");
    EXPECT(RUN("answer", "--format", "anthropic", "message.json"), 0,
           "[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\","
           "\"content\":\"two\\nlines *\"}]}]\n",
           "");
    EXPECT(RUN("answer", "--format", "anthropic", "missing.json"), 3, "",
           "toolrack: NotFound: cannot open missing.json: *\n");
}

/* A pipe in which nobody writes has no end. */
static void what_is_no_file_is_not_waited_for(void **state) {
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    EXPECT(RUN("answer", "--format", "anthropic", "pipe"), 1, "",
           "toolrack: Invalid: pipe is no regular file; *\n");
    EXPECT(RUN("run", "pipe"), 1, "", "toolrack: Invalid: pipe is no regular file; *\n");
    EXPECT(RUN("run", "."), 1, "", "toolrack: Invalid: . is no regular file; *\n");
    EXPECT_JSON(RUN_WITH({.input = "{\"nodes\":[]}"}, "run", "--dry-run", "--json", "/dev/stdin"),
                1, "/findings/0/id", "\"plan-value\"");
}

static void a_picture_reaches_who_can_see_it(void **state) {
    (void)state;
    static const char message[] = "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":"
                                  "\"several\",\"args\":{}}}]}";
    EXPECT_JSON(RUN_WITH({.input = message}, "answer", "--format", "gemini", "--model",
                         "gemini-3-pro-preview"),
                0, "/0/parts/0/functionResponse/name", "\"several\"",
                "/0/parts/0/functionResponse/parts/0/inlineData/mimeType", "\"image/png\"");
    EXPECT(RUN_WITH({.input = message}, "answer", "--format", "gemini"), 0,
           "*(an image, image/png, * bytes: it cannot be shown here)*", "");
    EXPECT_JSON(RUN_WITH({.input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                   "\"params\":{\"name\":\"several\"}}"},
                         "answer", "--format", "mcp"),
                0, "/0/result/content/1/type", "\"image\"", "/0/result/structuredContent/count",
                "2");
}

static void consent_is_given_on_the_command_line(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.input = MESSAGE(CALL("a", "erase", ""))}, "answer", "--format", "openai"), 0,
           "*ConfirmationRequired: *", "");
    EXPECT(RUN_WITH({.input = MESSAGE(CALL("a", "erase", ""))}, "answer", "--format", "openai",
                    "--yes", "--caller", "model", "--conversation", "c1", "--timeout", "20000"),
           0, "[{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"*\"}]\n", "");
}

static void only_offered_tools_run(void **state) {
    (void)state;
    static const char message[] =
            MESSAGE(CALL("a", "add", "{\\\"a\\\":1,\\\"b\\\":2}") "," CALL("b", "say", "{}"));
    EXPECT(RUN_WITH({.input = message}, "answer", "--format", "openai", "--allow", "add,several"),
           0,
           "[{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"*.0\"},{\"role\":\"tool\","
           "\"tool_call_id\":\"b\",\"content\":\"NotFound: Tool 'say' not found; *\"}]\n",
           "");
    EXPECT(RUN_WITH({.input = message}, "answer", "--format", "openai", "--profile", "none"), 2, "",
           "toolrack: *no profile 'none'*\n");
}

static void wrong_use_says_what_to_do(void **state) {
    (void)state;
    EXPECT(RUN("answer"), 2, "", "toolrack: *--format*toolrack help answer*");
    EXPECT(RUN("answer", "--format", "cohere"), 2, "", "toolrack: *'cohere'*openai*mcp*");
    EXPECT(RUN_WITH({.input = "{}"}, "answer", "--format", "openai"), 1, "",
           "toolrack: Invalid: not a message of the format 'openai': *\n");
    EXPECT_JSON(RUN_WITH({.input = "[{\"method\":\"ping\",\"id\":1}]"}, "answer", "--json",
                         "--format", "mcp"),
                1, "/error/type", "\"Invalid\"", "/error/field", "\"/0\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(a_turn_from_standard_input, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(a_message_that_was_refused_runs_nothing, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(a_turn_from_a_file, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(what_is_no_file_is_not_waited_for, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(a_picture_reaches_who_can_see_it, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(consent_is_given_on_the_command_line, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(only_offered_tools_run, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(wrong_use_says_what_to_do, e2e_setup, e2e_teardown),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
