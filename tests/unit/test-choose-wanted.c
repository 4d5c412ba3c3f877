/* What a text wants done at all: tools that do the opposite, or that change something where a text
 * only asks or tells, are never chosen. The tools are those of everyday.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "toolrack/choose.h"
#include "toolrack/toolrack.h"

#include <cmocka.h>

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static struct toolrack *host;
static struct toolrack_error err;

static int set_up(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = TEST_EVERYDAY "/everyday.json";
    options.state_dir = "";
    options.no_scan = true;
    return toolrack_open(&options, &host, &err);
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

static yyjson_doc *choose(const char *text) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = text;
    options.context = "{\"now\":1700000000000,\"time_zone\":\"UTC\"}";
    options.explain = 1;
    if (toolrack_select(host, &options, &answer, &err) != 0) {
        fail_msg("%s: %s", text, err.message);
    }
    const char *data = toolrack_text_data(answer, &length);
    return yyjson_read(data, length, 0);
}

static const char *member(yyjson_doc *doc, const char *name) {
    return yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), name));
}

/* A text, and the tool that it leads to: NULL is none. */
struct row {
    const char *text;
    const char *tool;
};

static void assert_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose(rows[i].text);
        const char *tool = member(doc, "tool");
        if (tool != rows[i].tool &&
            (tool == NULL || rows[i].tool == NULL || strcmp(tool, rows[i].tool) != 0)) {
            fail_msg("\"%s\" leads to %s instead of %s", rows[i].text, tool, rows[i].tool);
        }
        assert_true((tool == NULL) <= (member(doc, "question") != NULL));
    }
}
#define ASSERT_ROWS(rows) assert_rows(rows, ARRAY_LENGTH(rows))

/* Also where no lexicon knows the verb, and where it stands far behind. */
static void a_text_that_only_refuses_leads_to_nothing(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"不要截图", NULL},
            {"不要把牛奶加到购物清单", NULL},
            {"别把牛奶加到购物清单", NULL},
            {"别给李雷发邮件", NULL},
            {"don't take a screenshot", NULL},
            {"let's not turn on the kitchen light", NULL},
            {"I'd rather not turn on the kitchen light", NULL},
            {"anything but turn on the kitchen light", NULL},
            {"avoid turning on the kitchen light", NULL},
            {"暂时不打开厨房的灯", NULL},
            {"禁止打开厨房的灯", NULL},
            {"不打开厨房的灯", NULL},
            {"don't forget to add milk to the shopping list", "shopping_list_add_item"},
    };
    ASSERT_ROWS(rows);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose("别给李雷发邮件");
    assert_string_equal(member(doc, "question"), "那就不做。要改做什么吗？");
}

static void the_opposite_is_never_chosen(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"stop the vacuum", NULL},
            {"停止扫地", NULL},
            {"resume the music", NULL},
            {"start the vacuum", "HassVacuumStart"},
            {"turn off the kitchen light", "HassTurnOff"},
            {"turn the kitchen light on", "HassTurnOn"},
            {"add milk to the shopping list", "shopping_list_add_item"},
    };
    ASSERT_ROWS(rows);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose("stop the vacuum");
    assert_string_equal(member(doc, "question"),
                        "No tool here is for \"stop\": HassVacuumStart does something else. What "
                        "is to be done instead?");
    assert_non_null(
            strstr(member(doc, "explanation"), "it does the opposite of what the text wants"));
}

static void a_question_or_a_story_changes_nothing(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"did you turn on the kitchen light?", NULL},
            {"is the kitchen light on?", NULL},
            {"who turned off the light?", NULL},
            {"I turned off the kitchen light", NULL},
            {"I have already turned off the kitchen light", NULL},
            {"how do I turn on the lights on my Honda?", NULL},
            {"why is the kitchen light on", NULL},
            {"我没有打开灯", NULL},
            {"灯是谁打开的", NULL},
            {"怎么打开空调", NULL},
            {"厨房的灯打开了吗", NULL},
            {"我打开了灯", NULL},
    };
    ASSERT_ROWS(rows);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose("did you turn on the kitchen light?");
    assert_string_equal(member(doc, "question"),
                        "This asks or tells, and HassTurnOn would change something. Is it to be "
                        "done?");
    assert_non_null(strstr(member(doc, "explanation"), "wants nothing changed"));
}

static void a_polite_question_is_a_wish(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"can you turn on the kitchen light", "HassTurnOn"},
            {"could you please turn off the kitchen light?", "HassTurnOff"},
            {"I want you to turn on the kitchen light", "HassTurnOn"},
            {"would you mind turning off the kitchen light?", "HassTurnOff"},
            {"I'm home, turn on the kitchen light", "HassTurnOn"},
            {"I bought bread. Add milk to the shopping list", "shopping_list_add_item"},
            {"能不能把牛奶加到购物清单", "shopping_list_add_item"},
            {"可以帮我把牛奶加到购物清单吗", "shopping_list_add_item"},
            {"what is the weather in Paris now?", "get_current_weather"},
    };
    ASSERT_ROWS(rows);
}

/* It may be what is meant: the tool is named, and a call is not ready. */
static void what_is_only_told_is_asked_about(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool told;
    } rows[] = {
            {"Bob said: turn on the kitchen light", true},
            {"my boss told me to turn on the kitchen light", true},
            {"she wants to turn on the kitchen light", true},
            {"> turn on the kitchen light", true},
            {"if it rains turn on the kitchen light", true},
            {"when I get home turn on the kitchen light", true},
            {"老板让我打开厨房的灯", true},
            {"小明说：打开厨房的灯", true},
            {"如果下雨就打开厨房的灯", true},
            {"how do I take a screenshot?", true},
            {"is the screenshot taken?", true},
            {"I took a screenshot", true},
            {"take a screenshot", false},
            {"I told you to turn on the kitchen light", false},
            {"turn on the kitchen light", false},
            {"请帮我打开厨房的灯", false},
            {"remind me to say hello when I get home", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose(rows[i].text);
        const char *question = member(doc, "question");
        bool told = question != NULL && (strstr(question, "to be called now?") != NULL ||
                                         strstr(question, "现在要调用") != NULL);
        bool ready = yyjson_get_bool(yyjson_obj_get(yyjson_doc_get_root(doc), "ready"));
        if (told != rows[i].told || (told && ready)) {
            fail_msg("\"%s\": %s", rows[i].text, question);
        }
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_text_that_only_refuses_leads_to_nothing), TEST(the_opposite_is_never_chosen),
            TEST(a_question_or_a_story_changes_nothing),     TEST(a_polite_question_is_a_wish),
            TEST(what_is_only_told_is_asked_about),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
