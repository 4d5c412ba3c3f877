/* export. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "e2e.h"

static void each_format_has_its_shape(void **state) {
    (void)state;
    EXPECT_JSON(RUN("export", "--format", "openai", "--allow", "add"), 0, "/0/type", "\"function\"",
                "/0/function/name", "\"add\"", "/0/function/parameters/type", "\"object\"",
                "/0/function/strict", "true", "/1", "");
    EXPECT_JSON(RUN("export", "--format=openai-responses", "--allow", "add"), 0, "/0/type",
                "\"function\"", "/0/name", "\"add\"", "/0/parameters/properties/a/type",
                "\"number\"", "/0/strict", "true");
    EXPECT_JSON(RUN("export", "--format", "anthropic", "--allow", "add"), 0, "/0/name", "\"add\"",
                "/0/description", "\"Add two numbers\"", "/0/input_schema/type", "\"object\"",
                "/0/type", "");
    EXPECT_JSON(RUN("export", "--format", "gemini", "--allow", "add"), 0,
                "/0/functionDeclarations/0/name", "\"add\"",
                "/0/functionDeclarations/0/parametersJsonSchema/type", "\"object\"",
                "/0/functionDeclarations/0/responseJsonSchema/type", "\"number\"");
    EXPECT_JSON(RUN("export", "--format", "ollama", "--allow", "add"), 0, "/0/function/name",
                "\"add\"", "/0/function/strict", "");
    EXPECT_JSON(RUN("export", "--format", "mcp", "--allow", "add"), 0, "/0/name", "\"add\"",
                "/0/title", "\"Addition\"", "/0/inputSchema/type", "\"object\"", "/0/outputSchema",
                "", "/0/annotations/readOnlyHint", "true");
}

static void all_enabled_tools_are_exported_once(void **state) {
    (void)state;
    EXPECT_JSON(RUN("export", "--format", "mcp"), 0, "/0/name", "\"add\"", "/6/name", "\"greet\"",
                "/6/description", "\"Greet somebody\"", "/7/name", "\"launch\"", "/16/name",
                "\"total\"", "/17", "");
    EXPECT(RUN("disable", "add"), 0, NULL, "");
    EXPECT_JSON(RUN("export", "--format", "mcp"), 0, "/0/name", "\"asks\"");
}

static void the_allow_list_keeps_the_order_of_the_registry(void **state) {
    (void)state;
    EXPECT_JSON(RUN("export", "--format", "anthropic", "--allow", "total, say,add"), 0, "/0/name",
                "\"add\"", "/1/name", "\"say\"", "/2/name", "\"total\"", "/3", "");
    EXPECT_JSON(RUN("export", "--format", "mcp", "--allow", "greet@1.0.0"), 0, "/0/description",
                "\"Greet somebody, the old way\"", "/1", "");
    EXPECT(RUN("export", "--format", "anthropic", "--allow", "asleep"), 0, "[]\n",
           "toolrack: asleep: disabled: it is disabled; enable it: toolrack *enable asleep\n");
}

/* As with every verb: nothing is exported in the place of a name that was mistyped. */
static void a_tool_that_is_not_there_is_not_found(void **state) {
    (void)state;
    EXPECT(RUN("export", "--format", "anthropic", "--allow", "ad"), 3, "",
           "toolrack: NotFound: Tool 'ad' not found; did you mean 'add'?\n");
    EXPECT(RUN("export", "--format", "mcp", "--allow", "add,add@7.0.0"), 3, "",
           "toolrack: NotFound: Tool 'add' has no version '7.0.0'; it has 1.0.0\n");
    EXPECT_JSON(
            RUN("export", "--format", "ollama", "--allow", "add,nothere", "--explain", "--json"), 3,
            "/error/type", "\"NotFound\"", "/definitions", "");
}

static void limit_and_budget_cut_and_say_what(void **state) {
    (void)state;
    EXPECT(RUN("export", "--format", "anthropic", "--allow", "add,total", "--limit", "1"), 0,
           "[{\"name\":\"add\",*}]\n", "toolrack: total: cut: it is beyond the limit of 1 tool\n");
    EXPECT(RUN("export", "--format", "anthropic", "--allow", "add,total", "--budget", "5"), 0,
           "[]\n",
           "toolrack: add: cut: with this tool the definitions have more than 20 bytes\n"
           "toolrack: total: cut: with this tool the definitions have more than 20 bytes\n");
    EXPECT(RUN("export", "--format", "anthropic", "--limit", "0"), 2, "",
           "toolrack: --limit takes a number from 1 to 1000000000, not \"0\"*\n");
}

static void explain_tells_every_change(void **state) {
    (void)state;
    EXPECT(RUN("export", "--format", "ollama", "--allow", "add"), 0, "[*]\n", "");
    EXPECT(RUN("export", "--format", "ollama", "--allow", "add", "--explain"), 0, "[*]\n",
           "*toolrack: add: rewritten: Ollama does not accept *additionalProperties*\n");
    EXPECT_JSON(RUN("export", "--format", "ollama", "--allow", "add,asleep", "--explain", "--json"),
                0, "/definitions/0/function/name", "\"add\"", "/report/0/tool", "\"asleep\"",
                "/report/0/kind", "\"disabled\"", "/report/0/at", "null", "/report/1/tool",
                "\"add\"", "/report/1/kind", "\"rewritten\"");
}

static void a_format_must_be_known(void **state) {
    (void)state;
    EXPECT(RUN("export", "--format", "claude"), 2, "",
           "toolrack: there is no format 'claude'; the formats are: openai, "
           "openai-responses, "
           "anthropic, gemini, ollama, mcp\n");
    EXPECT(RUN("export"), 2, "", "toolrack: export needs --format F*\n");
}

static void no_tools_are_an_empty_list(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.plugins = "."}, "export", "--format", "gemini"), 0, "[]\n", "");
    EXPECT(RUN_WITH({.plugins = "."}, "export", "--format", "openai"), 0, "[]\n", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(each_format_has_its_shape),
            TEST(all_enabled_tools_are_exported_once),
            TEST(the_allow_list_keeps_the_order_of_the_registry),
            TEST(a_tool_that_is_not_there_is_not_found),
            TEST(limit_and_budget_cut_and_say_what),
            TEST(explain_tells_every_change),
            TEST(a_format_must_be_known),
            TEST(no_tools_are_an_empty_list),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
