/* select, search, feedback --select: from a sentence to a tool, as a person runs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "e2e.h"

static void a_sentence_becomes_a_call(void **state) {
    (void)state;
    EXPECT(RUN("select", "add the numbers a = 40 and b = 2"), 0,
           "tool         add\n"
           "arguments    {\"a\":40*,\"b\":2*}\n"
           "confidence   0.* (a tool is chosen from 0.50 on)\n"
           "id           *\n"
           "call it      toolrack *call add *\n"
           "\n"
           "CANDIDATE  SCORE  FUNCTION  PARAMETERS  COST  SUCCESS  PERMISSION\n"
           "add        0.*",
           "");
    EXPECT(RUN("select", "add the numbers a = 40 and b = 2", "--call"), 0, "42.0\n",
           "toolrack: this choice is *\n"
           "toolrack: add {\"a\":40*}\n");
    EXPECT(RUN("select", "add the numbers a = 40 and b = 2", "--call", "--explain"), 0, "42.0\n",
           "toolrack: \"add the numbers*toolrack: this choice is *, for 'feedback --select'\n"
           "toolrack: add {\"a\":40*}\n");
    EXPECT_JSON(RUN("select", "add the numbers a = 40 and b = 2", "--json"), 0, "/tool", "\"add\"",
                "/version", "\"1.0.0\"", "/ready", "true", "/abstained", "false", "/missing", "[]",
                "/invalid", "[]", "/question", "null", "/threshold", "0.5",
                "/candidates/0/permission", "\"safe\"", "/candidates/0/granted", "true",
                "/steps/arguments/tool", "\"add\"", "/steps/arguments/values/0/spans/0/text",
                "\"40\"", "/steps/evaluate/by", "\"rules\"", "/model", "null", "/explanation", "");
    EXPECT(RUN("select", "add the numbers a = 40 and b = 2", "--explain"), 0,
           "\"add the numbers a = 40 and b = 2\"\n"
           "\n"
           "1. What it is about (scene)\n*"
           "2. What is to be done (intent)\n*"
           "3. Which tools say that they do this (match)\n*add 0.*"
           "4. Which of them fits best (evaluate)\n*"
           "5. With which arguments (arguments)\n   a = 40*, from \"40\"*"
           "So it is add with {\"a\":40*,\"b\":2*}.\n"
           "Rules decided; nothing was sent anywhere.\n",
           "");
}

/* The scene and the intent are told where no tool fits, too. */
static void what_no_tool_does_is_declined(void **state) {
    (void)state;
    EXPECT_JSON(RUN("select", "读取文件 /tmp/a.txt 的内容", "--json"), 0, "/tool", "null",
                "/abstained", "true", "/arguments", "{}", "/ready", "false", "/steps/scene/id",
                "\"file_operations\"", "/steps/scene/name_zh", "\"文件操作\"", "/steps/intent/id",
                "\"read\"", "/steps/intent/name_zh", "\"读取\"");
    EXPECT(RUN("select", "book a flight to Paris"), 0, "tool         none\n*", "");
    EXPECT(RUN("select", "book a flight to Paris", "--call"), 3, "",
           "toolrack: this choice is *\ntoolrack: NotFound: no tool fits well enough (0.* of "
           "0.50): *\n");
    EXPECT(RUN("select", "xyzzy", "--call", "--json"), 3, "{\"error\":{\"type\":\"NotFound\",*",
           "toolrack: this choice is *\n");
}

static void what_is_missing_is_asked_for(void **state) {
    (void)state;
    EXPECT_JSON(RUN("select", "add two numbers", "--json"), 0, "/tool", "\"add\"", "/ready",
                "false", "/missing/0/parameter", "\"b\"", "/missing/0/question", "\"*\"",
                "/question", "\"*\"");
    EXPECT(RUN("select", "add two numbers", "--call"), 4, "",
           "toolrack: this choice is *\ntoolrack: InvalidArguments: 'add' cannot be called yet, an "
           "argument is missing or "
           "invalid: *\n");
}

static void what_a_call_leaves_is_told(void **state) {
    (void)state;
    static const char text[] = "add the numbers a = 40 and b = 2, then greet Ann";
    EXPECT_JSON(RUN("select", text, "--json"), 0, "/tool", "\"add\"", "/arguments",
                "{\"a\":40,\"b\":2}", "/ready", "true", "/undone", "[\"greet Ann\"]");
    EXPECT(RUN("select", text), 0, "tool         add\n*\nundone       \"greet Ann\"\n*", "");
    EXPECT(RUN("select", text, "--call"), 0, "42.0\n",
           "toolrack: this choice is *\n"
           "toolrack: add {\"a\":40*}\n"
           "toolrack: left undone: \"greet Ann\"\n");
}

/* Takes the id from what select printed. */
static void id_of(const char *text, char ret[17]) {
    struct run run = RUN("select", text, "--json");
    const char *id = strstr(run.out, "\"id\":\"");
    if (id == NULL) {
        fail_msg("no id in %s", run.out);
    } else {
        (void)snprintf(ret, 17, "%.16s", id + 6);
    }
    run_finish(&run);
}

static void a_correction_is_followed(void **state) {
    (void)state;
    char id[17] = "";
    char again[17] = "";
    id_of("what makes the total of it all", id);
    EXPECT(RUN("feedback", "--select", id, "--tool", "nothing"), 0,
           "feedback recorded: nothing is right for *\n", "");
    EXPECT_JSON(RUN("select", "what makes the total of it all", "--json"), 0, "/candidates/0/tool",
                "\"nothing\"", "/tool", "\"nothing\"");
    id_of("what makes the total of it all", again);
    assert_string_equal(id, again);
    EXPECT(RUN("select", "what makes the total of it all", "--explain"), 0,
           "*it was said to be right for this text*", "");
    EXPECT(RUN("feedback", "--select", id, "--tool", "nothin"), 3, "",
           "toolrack: NotFound: *did you mean 'nothing'?\n");
    EXPECT(RUN("feedback", "--select", "0000000000000000", "--tool", "add"), 3, "",
           "toolrack: NotFound: there is no choice 0000000000000000; *\n");
    EXPECT(RUN("feedback", "--select", id), 2, "", "toolrack: --select takes --tool NAME *\n");
    EXPECT(RUN("feedback", "add"), 2, "", "toolrack: an argument is missing; *\n");
    /* Forgotten, it is as if nothing had been said. */
    EXPECT(RUN("select", "--forget"), 0, "forgotten: 1 text of *\n", "");
    EXPECT(RUN("feedback", "--select", id, "--tool", "nothing"), 3, "", NULL);
    EXPECT_JSON(RUN("select", "what makes the total of it all", "--json"), 0, "/candidates/0/tool",
                "\"total\"");
}

static void callers_have_texts_of_their_own(void **state) {
    (void)state;
    EXPECT(RUN("select", "add 1 and 2", "--caller", "ann"), 0, NULL, "");
    EXPECT(RUN("select", "add 1 and 2", "--caller", "bob"), 0, NULL, "");
    EXPECT_JSON(RUN("select", "--forget", "--caller", "ann", "--json"), 0, "",
                "{\"caller\":\"ann\",\"forgotten\":1}");
    EXPECT_JSON(RUN("select", "--forget", "--caller", "ann", "--json"), 0, "/forgotten", "0");
    EXPECT_JSON(RUN("select", "--forget", "--caller", "bob", "--json"), 0, "/forgotten", "1");
}

/* Two runs print the same bytes. */
static void the_same_question_has_the_same_answer(void **state) {
    (void)state;
    static const char context[] = "{\"now\":1700000000000,\"time_zone\":\"UTC\"}";
    struct run one = RUN("select", "greet Ann loudly tomorrow", "--json", "--context", context);
    struct run two = RUN("select", "greet Ann loudly tomorrow", "--json", "--context", context);
    assert_string_equal(one.out, two.out);
    assert_int_equal(one.exit, 0);
    run_finish(&one);
    run_finish(&two);
    EXPECT(RUN("select", "greet Ann", "--context", "[]"), 2, "",
           "toolrack: the context must be a JSON object, *\n");
    EXPECT(RUN("select", "greet Ann", "--context", "{"), 2, "",
           "toolrack: the context is not JSON: *\n");
}

static void tools_that_may_not_be_chosen_are_not(void **state) {
    (void)state;
    EXPECT(RUN("disable", "add"), 0, NULL, "");
    EXPECT_JSON(RUN("select", "add the numbers a = 40 and b = 2", "--json"), 0, "/tool", "*",
                "/candidates/0/tool", "*");
    struct run run = RUN("search", "add two numbers", "--json");
    assert_null(strstr(run.out, "\"tool\":\"add\""));
    run_finish(&run);
    EXPECT(RUN("enable", "add"), 0, NULL, "");
    EXPECT(RUN("blacklist", "add", "add"), 0, NULL, "");
    run = RUN("search", "add two numbers", "--json");
    assert_null(strstr(run.out, "\"tool\":\"add\""));
    run_finish(&run);
    EXPECT(RUN("whitelist", "add", "total"), 0, NULL, "");
    EXPECT(RUN("search", "numbers"), 0,
           "TOOL   SCORE  LIST       PERMISSION  DESCRIPTION\n"
           "total  0.*whitelist  safe        Sum up numbers\n*",
           "");
}

static void a_search_ranks_tools(void **state) {
    (void)state;
    EXPECT(RUN("search", "add two numbers", "--limit", "1"), 0,
           "TOOL  SCORE  LIST  PERMISSION  DESCRIPTION\n"
           "add   0.*  -     safe        Add two numbers\n",
           "");
    EXPECT(RUN("search", "add two numbers", "--limit", "1", "--explain"), 0,
           "TOOL  SCORE  LIST  WORD * IN\n"
           "add   0.*",
           "");
    EXPECT(RUN("search", "xyzzy"), 0, "", "toolrack: no tool fits; use other words\n");
    EXPECT_JSON(RUN("search", "两个数相加", "--limit", "1", "--json"), 0, "/0/tool", "\"add\"",
                "/0/reasons/0/relation", "\"translation\"");
    EXPECT(RUN("select", ""), 2, "", "toolrack: there is no text *\n");
    EXPECT(RUN("search", " "), 2, "", "toolrack: there is no text *\n");
    EXPECT(RUN("search"), 2, "", "toolrack: an argument is missing; *\n");
    EXPECT(RUN("select"), 2, "", "toolrack: an argument is missing; *\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_sentence_becomes_a_call),
            TEST(what_no_tool_does_is_declined),
            TEST(what_is_missing_is_asked_for),
            TEST(what_a_call_leaves_is_told),
            TEST(a_correction_is_followed),
            TEST(callers_have_texts_of_their_own),
            TEST(the_same_question_has_the_same_answer),
            TEST(tools_that_may_not_be_chosen_are_not),
            TEST(a_search_ranks_tools),
    };
    return cmocka_run_group_tests_name("select-verbs", tests, NULL, NULL);
}
