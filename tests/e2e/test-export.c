/* export. */
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

/* ------------------------------------------------- what a model is not told of */

#define NEEDS(...) \
    RUN_WITH(HOW(.bare = true), "--config", "toolrack.json", "--state", "state", __VA_ARGS__)

/* A configuration whose ${workspace} is a folder, and with more members. */
static void configure_needs(const char *more) {
    char text[1024];
    char *folder = getcwd(NULL, 0);
    (void)snprintf(text, sizeof text,
                   "{\"folders\":[\"own\"],\"paths\":{\"workspace\":\"%s/work\"}%s}", folder, more);
    free(folder);
    e2e_write("toolrack.json", text);
}

static void install_needs(void) {
    char from[512];
    const char *builds = getenv("E2E_BUILDS");
    assert_non_null(builds);
    (void)snprintf(from, sizeof from, "%s/needs.so", builds);
    (void)mkdir("own", 0700);
    (void)mkdir("work", 0700);
    e2e_copy(from, "own/needs.so", 0);
}

static void what_lacks_a_capability_is_listed_and_not_exported(void **state) {
    (void)state;
    install_needs();
    e2e_write("toolrack.json", "{\"folders\":[\"own\"]}");
    EXPECT(NEEDS("list", "--plugin", "needs"), 0,
           "NAME *STATE*\nneeds_change *needs: read, write *\nneeds_look *needs: read *", "");
    EXPECT_JSON(NEEDS("list", "needs_change", "--json"), 0, "/0/state", "\"needs\"", "/0/needs/0",
                "\"read\"", "/0/needs/1", "\"write\"", "/0/needs/2", "");
    EXPECT(NEEDS("list", "--in-state", "needs"), 0, "*needs_look*needs_seldom*", "");
    EXPECT_JSON(NEEDS("export", "--format", "mcp", "--profile", "full"), 0, "/0", "");
    EXPECT(NEEDS("export", "--format", "mcp", "--explain"), 0, "[]\n",
           "*needs_look: needs: its plugin declares read:${workspace}*paths*");
    EXPECT_JSON(NEEDS("export", "--format", "mcp", "--allow", "needs_look"), 0, "/0/name",
                "\"needs_look\"");
    EXPECT(NEEDS("call", "needs_look"), 0, "looked\n", "");
    EXPECT_JSON(NEEDS("recommend", "--task", "look into the folder", "--json"), 0, "/0", "");
    EXPECT(NEEDS("select", "look into the folder"), 0,
           "tool *none\n*needs_look would fit, and cannot run now*why needs_look\n*", "");
}

static void what_it_needs_makes_it_offered(void **state) {
    (void)state;
    install_needs();
    configure_needs("");
    EXPECT(NEEDS("list", "needs_look"), 0, "*needs: read *", "");
    EXPECT(NEEDS("allow", "needs", "read:${workspace}"), 0, NULL, NULL);
    EXPECT_JSON(NEEDS("list", "needs_look", "needs_change", "--json"), 0, "/0/name",
                "\"needs_change\"", "/0/state", "\"needs\"", "/0/needs/0", "\"write\"",
                "/0/needs/1", "", "/1/state", "\"listed\"", "/1/needs", "");
    EXPECT_JSON(NEEDS("export", "--format", "mcp"), 0, "/0/name", "\"needs_look\"", "/1", "");
    EXPECT(NEEDS("allow", "needs", "write:${workspace}"), 0, NULL, NULL);
    EXPECT_JSON(NEEDS("export", "--format", "mcp"), 0, "/0/name", "\"needs_change\"", "/1/name",
                "\"needs_look\"", "/2", "");
}

static void tools_with_the_tag_extra_are_in_the_full_profile(void **state) {
    (void)state;
#define REQUEST                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n" \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n"                               \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","                                 \
    "\"params\":{\"name\":\"needs_seldom\"}}"
    install_needs();
    configure_needs(",\"policies\":{\"needs\":{\"allow\":[\"*\"]}}");
    EXPECT_JSON(NEEDS("export", "--format", "mcp"), 0, "/0/name", "\"needs_change\"", "/1/name",
                "\"needs_look\"", "/2", "");
    EXPECT_JSON(NEEDS("export", "--format", "mcp", "--profile", "full"), 0, "/2/name",
                "\"needs_seldom\"");
    EXPECT_JSON(NEEDS("export", "--format", "mcp", "--allow", "needs_seldom"), 0, "/0/name",
                "\"needs_seldom\"");
    struct run run = RUN_WITH(HOW(.bare = true, .input = REQUEST), "--config", "toolrack.json",
                              "--state", "state", "mcp");
    EXPECT_MATCH(run.out, "*\"needs_look\"*looked for once*");
    assert_null(strstr(run.out, "\"name\":\"needs_seldom\""));
    run_finish(&run);
    run = RUN_WITH(HOW(.bare = true, .input = REQUEST), "--config", "toolrack.json", "--state",
                   "state", "mcp", "--profile", "full");
    EXPECT_MATCH(run.out, "*\"name\":\"needs_seldom\"*looked for once*");
    run_finish(&run);
    /* A profile of the configuration of that name is meant. */
    configure_needs(",\"policies\":{\"needs\":{\"allow\":[\"*\"]}},\"serve\":{\"profiles\":{"
                    "\"basic\":{\"tools\":[\"needs_seldom\"]}}}");
    EXPECT_JSON(NEEDS("export", "--format", "mcp"), 0, "/0/name", "\"needs_seldom\"", "/1", "");
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
            TEST(what_lacks_a_capability_is_listed_and_not_exported),
            TEST(what_it_needs_makes_it_offered),
            TEST(tools_with_the_tag_extra_are_in_the_full_profile),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
