/* recommend, feedback, blacklist, whitelist: each run of the command knows what others saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "e2e.h"

static void a_task_finds_its_tool(void **state) {
    (void)state;
    EXPECT(RUN("recommend", "--task", "add two numbers", "--limit", "1"), 0,
           "TOOL  VERSION  SCORE  LIST  DESCRIPTION\n"
           "add   1.0.0    0.*  -     Add two numbers\n",
           "");
    EXPECT_JSON(RUN("recommend", "--task", "add two numbers", "--json"), 0, "/0/tool", "\"add\"",
                "/0/version", "\"1.0.0\"", "/0/whitelisted", "false", "/0/retry", "false",
                "/0/factors/success", "{\"value\":0.2,\"weight\":0.2}", "/0/factors/task/weight",
                "0.5", "/0/description", "\"Add two numbers\"");
    EXPECT(RUN("recommend", "--task", "xyzzy"), 0, "",
           "toolrack: no tool can be recommended: no text of a tool that may run matches the "
           "task*\n");
    EXPECT_JSON(RUN("recommend", "--task", "xyzzy", "--json"), 0, "", "[]");
    EXPECT_JSON(RUN("recommend", "--json"), 0, "/9/tool", "\"*\"", "/10", "", "/0/factors/task",
                "{\"value\":0.0,\"weight\":0.0}");
    EXPECT(RUN("recommend", "--limit", "0"), 2, "",
           "toolrack: --limit takes a number from 1 to *, not \"0\"\n");
}

static void each_factor_is_explained(void **state) {
    (void)state;
    EXPECT(RUN("recommend", "--limit=1", "--explain"), 0,
           "TOOL * VERSION  SCORE  LIST  FACTOR      VALUE  WEIGHT\n"
           "* success     0.20   0.40\n"
           "* efficiency  0.50   0.15\n"
           "* feedback    0.20   0.25\n"
           "* recency     0.50   0.20\n"
           "* task        0.00   0.00\n",
           "");
}

static void what_people_say_counts(void **state) {
    (void)state;
    EXPECT(RUN("feedback", "say", "good"), 0, "feedback recorded: say good\n", "");
    EXPECT_JSON(RUN("recommend", "--limit", "1", "--json"), 0, "/0/tool", "\"say\"",
                "/0/factors/feedback/value", "0.2065");
    EXPECT_JSON(RUN("feedback", "say@1.0.0", "bad", "--json"), 0, "",
                "{\"name\":\"say@1.0.0\",\"feedback\":\"bad\"}");
    EXPECT_JSON(RUN("recommend", "--task", "say lines", "--json"), 0, "/0/tool", "\"say\"",
                "/0/factors/feedback/value", "0.0945");
    EXPECT(RUN("feedback", "say", "fine"), 2, "",
           "toolrack: feedback must be good or bad, not \"fine\"\n");
    EXPECT(RUN("feedback", "sya", "good"), 3, "", "toolrack: NotFound: *did you mean 'say'?\n");
    EXPECT(RUN("feedback", "say", "good", "--call", "x"), 2, "", "toolrack: --call takes a *\n");
}

static void lists_are_kept(void **state) {
    (void)state;
    EXPECT(RUN("whitelist", "list"), 0, "", "toolrack: the whitelist is empty\n");
    EXPECT(RUN("whitelist", "add", "nothing", "--why", "I like it"), 0,
           "nothing added to the whitelist\n", "");
    EXPECT(RUN("recommend", "--limit", "1"), 0,
           "TOOL     VERSION  SCORE  LIST       DESCRIPTION\n"
           "nothing  1.0.0    0.*  whitelist  Do nothing\n",
           "");
    EXPECT(RUN("whitelist", "list"), 0,
           "TOOL     SINCE                RETRY  WHO *WHY\n"
           "nothing  20*  -      *I like it\n",
           "");
    EXPECT_JSON(RUN("blacklist", "add", "nothing", "--json"), 0, "",
                "{\"name\":\"nothing\",\"blacklist\":true,\"hosts\":0,\"silent\":0}");
    EXPECT(RUN("whitelist", "list"), 0, "", "toolrack: the whitelist is empty\n");
    EXPECT(RUN("recommend", "--task", "do nothing"), 0, NULL, "*");
    EXPECT_JSON(RUN("recommend", "--task", "nothing", "--json"), 0, "", "[]");
    EXPECT(RUN("call", "nothing"), 0, "null\n", "");
    EXPECT_JSON(RUN("blacklist", "list", "--json"), 0, "/0/tool", "\"nothing\"", "/0/retry_ms",
                "null", "/0/why", "null", "/1", "");
    EXPECT(RUN("blacklist", "remove", "nothing"), 0, "nothing removed from the blacklist\n", "");
    EXPECT(RUN("blacklist", "remove", "nothing"), 3, "",
           "toolrack: NotFound: 'nothing' is not on the blacklist\n");
    EXPECT(RUN("blacklist", "nothing"), 2, "",
           "toolrack: the argument must be list, or add or remove *\n");
    EXPECT(RUN("blacklist", "add"), 2, "",
           "toolrack: the argument must be list, or add or remove *\n");
}

/* Five runs of the command are as good as five calls in one. */
static void failures_put_a_tool_on_the_blacklist(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        EXPECT(RUN("blacklist", "list"), 0, "", "toolrack: the blacklist is empty\n");
        EXPECT(RUN("call", "picky"), 4, "", NULL);
        EXPECT(RUN("call", "fails"), 7, "", NULL);
    }
    EXPECT_JSON(RUN("blacklist", "list", "--json"), 0, "/0/tool", "\"fails@1.0.0\"", "/0/who",
                "\"automatic\"", "/0/why", "\"it failed 5 times in a row within 10 minutes\"",
                "/0/retry_ms", "1*", "/1", "");
    EXPECT_JSON(RUN("recommend", "--task", "fail", "--json"), 0, "", "[]");
    EXPECT(RUN("blacklist", "remove", "fails"), 0, "fails removed from the blacklist\n", "");
    EXPECT_JSON(RUN("recommend", "--task", "fail", "--json"), 0, "/0/tool", "\"fails\"",
                "/0/factors/success/value", "0.0", "/1", "");
}

/* What was called, how often it gave a result, and which call an opinion is about. */
static void calls_count(void **state) {
    (void)state;
    EXPECT(RUN("call", "nothing"), 0, "null\n", "");
    EXPECT_JSON(RUN("recommend", "--limit", "1", "--json"), 0, "/0/tool", "\"nothing\"",
                "/0/factors/success/value", "0.2065");
    EXPECT_JSON(RUN("log", "--json"), 0, "/0/id", "1", "/0/tool", "\"nothing\"");
    EXPECT_JSON(RUN("feedback", "nothing", "good", "--call", "1", "--json"), 0, "/call", "1");
    EXPECT(RUN("feedback", "say", "good", "--call", "1"), 3, "",
           "toolrack: NotFound: call 1 was of 'nothing@1.0.0', not of 'say@1.0.0'\n");
    EXPECT(RUN("feedback", "nothing", "good", "--call", "99"), 3, "",
           "toolrack: NotFound: there is no call 99 in the log\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_task_finds_its_tool),
            TEST(each_factor_is_explained),
            TEST(what_people_say_counts),
            TEST(lists_are_kept),
            TEST(failures_put_a_tool_on_the_blacklist),
            TEST(calls_count),
    };
    return cmocka_run_group_tests_name("recommend-verbs", tests, NULL, NULL);
}
