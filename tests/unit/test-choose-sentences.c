/* What is chosen for each sentence that a person asks the bundled tools: the same bytes, whatever
 * compiler built the host. tests/golden/select.jsonl has the answers, one a line; with
 * GOLDEN_WRITE=1 in the environment they are written anew. test-select-sentences of e2e calls what
 * was chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "answer-schema.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "sentences.h"
#include "toolrack/choose.h"
#include "toolrack/toolrack.h"

#include <cmocka.h>

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static struct toolrack *host;
static struct toolrack_error err;

static int set_up(void **state) {
    static const char *const folders[] = {TEST_BUNDLED, NULL};
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = folders;
    return toolrack_open(&options, &host, &err);
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    answer_schema_finish();
    return 0;
}

static void answer(const char *text, struct toolrack_text **ret) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    options.text = text;
    options.context = "{\"now\":1700000000000}";
    options.limit = 2;
    if (toolrack_select(host, &options, ret, &err) != 0) {
        fail_msg("%s: %s", text, err.message);
    }
}

static void check(const struct sentence *row, const char *data, size_t length) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(data, length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_answer(root);
    const char *tool = yyjson_get_str(yyjson_obj_get(root, "tool"));
    CLEANUP(freep) char *arguments = yyjson_val_write(yyjson_obj_get(root, "arguments"), 0, NULL);
    if (row->tool == NULL || tool == NULL) {
        if (row->tool != tool) {
            fail_msg("%s: %s instead of %s: %s", row->text, tool, row->tool, data);
        }
    } else if (strcmp(tool, row->tool) != 0 || strcmp(arguments, row->arguments) != 0) {
        fail_msg("%s: %s %s instead of %s %s", row->text, tool, arguments, row->tool,
                 row->arguments);
    }
}

/* Where two texts part, and what stands there. */
static void assert_same(const char *text, const char *data, size_t length, const char *golden) {
    if (strncmp(data, golden, length) == 0 && golden[length] == '\n') {
        return;
    }
    size_t at = 0;
    while (at < length && data[at] == golden[at]) {
        at++;
    }
    size_t from = at > 60 ? at - 60 : 0;
    fail_msg("%s: the answer is not that of tests/golden/select.jsonl (GOLDEN_WRITE=1 writes it "
             "anew): ...%.120s instead of ...%.120s",
             text, data + from, golden + from);
}

static void answers_are_the_same_everywhere(void **state) {
    (void)state;
    bool writes = getenv("GOLDEN_WRITE") != NULL;
    FILE *golden = fopen(TEST_GOLDEN "/select.jsonl", writes ? "we" : "re");
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    assert_non_null(golden);
    for (size_t i = 0; i < SENTENCES; i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *again = NULL;
        size_t length = 0;
        answer(sentences[i].text, &text);
        answer(sentences[i].text, &again);
        const char *data = toolrack_text_data(text, &length);
        assert_string_equal(data, toolrack_text_data(again, NULL));
        if (writes) {
            assert_true(fprintf(golden, "%s\n", data) > 0);
        } else {
            assert_true(getline(&line, &room, golden) > 0);
            assert_same(sentences[i].text, data, length, line);
        }
    }
    assert_true(writes || getline(&line, &room, golden) < 0);
    assert_int_equal(fclose(golden), 0);
}

static void each_sentence_leads_to_its_tool(void **state) {
    (void)state;
    for (size_t i = 0; i < SENTENCES; i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        size_t length = 0;
        answer(sentences[i].text, &text);
        const char *data = toolrack_text_data(text, &length);
        check(&sentences[i], data, length);
    }
}

/* Short texts whose words are not those of the tools: what they give - an amount of money, a place,
 * a calculation, a quotation - and what they ask for says what is meant. */
static void plain_words_lead_to_the_tool_or_nowhere(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *tool; /* NULL: none can do it */
    } rows[] = {
            {"what time is it in Tokyo", "get_current_time"},
            {"现在东京几点", "get_current_time"},
            {"现在几点", "get_current_time"},
            {"把100美元换成欧元", "currency_convert"},
            {"把 50 欧元换算成人民币", "currency_convert"},
            {"17乘以23等于多少", "calculator"},
            {"what is the square root of 2", "calculator"},
            {"add 40 and 2", "calculator"},
            {"replace cat by dog in 'the cat sat'", "text_replace"},
            {"find all digits in 'a1b22'", "text_search"},
            {"convert 3pm from London to New York", "convert_time"},
            {"what's the date today?", "get_current_time"},
            {"今天星期几", "get_current_time"},
            {"纽约现在的时间", "get_current_time"},
            {"北京时间下午三点是伦敦几点", "convert_time"},
            {"9am in Berlin is what time in Sydney?", "convert_time"},
            {"200 CAD in CHF", "currency_convert"},
            {"500日元等于多少美元", "currency_convert"},
            {"3.5 + 4.5 / 2", "calculator"},
            {"2的10次方是多少", "calculator"},
            {"sqrt(16) + 3", "calculator"},
            {"what is 15 percent of 80", "calculator"},
            {"how many characters does 'hello world' have", "text_statistics"},
            {"“春眠不觉晓”有多少个字", "text_statistics"},
            {"把“我爱猫”里的猫换成狗", "text_replace"},
            {"find every number in \"room 12, floor 3\"", "text_search"},
            {"give me the first 2 lines of \"a\\nb\\nc\"", "text_lines"},
            {"what are the exchange rates of the euro", "currency_rates"},
            {"play some jazz", NULL},
            {"who wrote Hamlet?", NULL},
            {"订一张去上海的机票", NULL},
            {"明天会下雨吗", NULL},
            {"remind me to buy milk at 5pm", NULL},
            {"translate 'good morning' into French", NULL},
            {"给妈妈打电话", NULL},
            {"what is the capital of France", NULL},
            {"book a table for 4 at 7pm", NULL},
            {"推荐三部电影", NULL},
            {"send 20 dollars to Ann", NULL},
            {"delete the second line of notes.txt", NULL},
            {"how old is the universe", NULL},
            {"提醒我下午三点开会", NULL},
            {"how many euros are 75 pounds sterling", "currency_convert"},
            {"100减去37是多少", "calculator"},
            {"东京上午九点是纽约几点", "convert_time"},
            {"turn 20 degrees Celsius down to 18", NULL},
            {"把音量调到30", NULL},
            {"who won the match yesterday", NULL},
            {"user: what is 2+2\nassistant: It is 4.\nuser: what time is it in Rome?",
             "get_current_time"},
            {"user: convert 5 dollars to yen\nassistant: 550 yen\n"
             "user: and what time is it in Rome?",
             "get_current_time"},
            {"user: 把100美元换成欧元\nassistant: 85欧元\nuser: 东京现在几点？",
             "get_current_time"},
            {"user: what is 12 * 4?\nassistant: 48. Anything else?\n"
             "user: what time is it in Rome?",
             "get_current_time"},
            {"user: 17 * 23\nassistant: 391\nuser: how many characters does 'hello world' have",
             "text_statistics"},
            {"user: what time is it in Paris?\nassistant: It is 3 pm.\nuser: and in London?",
             "get_current_time"},
            {"user: 东京现在几点？\nassistant: 下午三点\nuser: 那伦敦呢", "get_current_time"},
            {"user: convert 5 dollars\nassistant: To which currency?\nuser: yen",
             "currency_convert"},
            {"user: convert 100 dollars to euros\nassistant: 92 euros\nuser: no, I meant yen",
             "currency_convert"},
            {"买两张明天的电影票", NULL},
            {"user: convert 100 dollars to euros\nassistant: 92 euros\nuser: thank you", NULL},
            {"user: what time is it in Paris?\nassistant: 3 pm\nuser: great", NULL},
            {"user: what time is it in Paris?\nassistant: 3 pm\nuser: ok, thanks a lot!", NULL},
            {"user: 东京现在几点？\nassistant: 下午三点\nuser: 好的，谢谢", NULL},
            {"user: 17 * 23\nassistant: 391. Anything else?\nuser: no, thank you", NULL},
            {"user: convert 5 dollars to yen\nassistant: Shall I do it?\nuser: ok",
             "currency_convert"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        size_t length = 0;
        answer(rows[i].text, &text);
        const char *data = toolrack_text_data(text, &length);
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(data, length, 0);
        const char *tool = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "tool"));
        if (tool == NULL || rows[i].tool == NULL ? tool != rows[i].tool
                                                 : strcmp(tool, rows[i].tool) != 0) {
            fail_msg("%s: %s instead of %s: %s", rows[i].text, tool, rows[i].tool, data);
        }
    }
}

/* What is to be called, and whether all of the text is understood. */
static void calls_are_ready_where_all_is_understood(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *arguments;
        bool ready;
    } rows[] = {
            /* Arithmetic in words over several numbers. */
            {"average of 3, 4 and 8", "{\"expression\":\"(3 + 4 + 8) / 3\"}", true},
            {"what's the mean of 2 and 9?", "{\"expression\":\"(2 + 9) / 2\"}", true},
            {"12和30的平均值是多少", "{\"expression\":\"(12 + 30) / 2\"}", true},
            {"求3、4和5的和", "{\"expression\":\"3 + 4 + 5\"}", true},
            {"add 3, 4 and 5", "{\"expression\":\"3 + 4 + 5\"}", true},
            {"the average temperature of 3 cities", "{}", false},
            /* A sign at the end is no wish. */
            {"calculate 3 + 4,", "{\"expression\":\"3 + 4\"}", true},
            {"计算 3+4，", "{\"expression\":\"3+4\"}", true},
            /* A currency that is asked for. */
            {"how many yen do I get for 75 pounds",
             "{\"amount\":75,\"from_currency\":\"GBP\",\"to_currency\":\"JPY\"}", true},
            {"how many yen is 75 pounds",
             "{\"amount\":75,\"from_currency\":\"GBP\",\"to_currency\":\"JPY\"}", true},
            {"how many won are 20 dollars",
             "{\"amount\":20,\"from_currency\":\"USD\",\"to_currency\":\"KRW\"}", true},
            {"how many pounds is 75 kilograms", "{}", false},
            /* Words that say nothing by themselves. */
            {"统计“春眠不觉晓，处处闻啼鸟”有多少个字", "{\"text\":\"春眠不觉晓，处处闻啼鸟\"}",
             true},
            {"在“电话 13800138000，邮编 100000”里找出所有数字",
             "{\"text\":\"电话 13800138000，邮编 100000\",\"pattern\":\"\\\\d+\"}", true},
            {"take the square root of 144", "{\"expression\":\"sqrt(144)\"}", true},
            {"先统计“a b”的字数", "{\"text\":\"a b\"}", true},
            /* What is asked of a text stands behind it, and is no part of it. */
            {"春眠不觉晓有多少个字", "{\"text\":\"春眠不觉晓\"}", true},
            {"床前明月光有几个字", "{\"text\":\"床前明月光\"}", true},
            {"统计春眠不觉晓的字数", "{\"text\":\"春眠不觉晓\"}", false},
            {"这句话有多少个字", "{}", false},
            {"这篇文章有多少个字", "{}", false},
            /* One amount of several would be a part of what is asked. */
            {"convert 10, 20 dollars to euros",
             "{\"amount\":10,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}", false},
            {"convert 10 and 20 dollars to euros",
             "{\"amount\":10,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}", false},
            {"convert twenty dollars to euros",
             "{\"amount\":20,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}", true},
            /* Words are no arithmetic. */
            {"calculate the average", "{}", false},
            {"关闭电脑", "{}", false},
            {"multiply 7 and 12", "{\"expression\":\"7 * 12\"}", true},
            {"what is 2 + 3, as in 'c d'", "{\"expression\":\"2 + 3\"}", false},
            /* Numbers by how many digits they have. */
            {"find all four-digit numbers in \"call 1234 or 56789\"",
             "{\"text\":\"call 1234 or 56789\",\"pattern\":\"\\\\b\\\\d{4}\\\\b\"}", true},
            {"find 6 digit codes in \"a 123456\"",
             "{\"text\":\"a 123456\",\"pattern\":\"\\\\b\\\\d{6}\\\\b\"}", true},
            {"找出“a 1234”里的四位数字", "{\"text\":\"a 1234\",\"pattern\":\"\\\\b\\\\d{4}\\\\b\"}",
             true},
            {"find all numbers in \"call 1234\"",
             "{\"text\":\"call 1234\",\"pattern\":\"\\\\d+(?:\\\\.\\\\d+)?\"}", true},
            /* Conditions. */
            {"if it rains tomorrow, convert 5 dollars to yen",
             "{\"amount\":5,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}", false},
            {"要是汇率低于100就把5美元换成日元",
             "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}", false},
            {"if I have 100 dollars, how many yen is that?",
             "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}", true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        size_t length = 0;
        answer(rows[i].text, &text);
        const char *data = toolrack_text_data(text, &length);
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(data, length, 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        CLEANUP(freep)
        char *arguments = yyjson_val_write(yyjson_obj_get(root, "arguments"), 0, NULL);
        if (arguments == NULL || strcmp(arguments, rows[i].arguments) != 0 ||
            yyjson_get_bool(yyjson_obj_get(root, "ready")) != rows[i].ready) {
            fail_msg("%s: %s", rows[i].text, data);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_sentence_leads_to_its_tool),
            cmocka_unit_test(plain_words_lead_to_the_tool_or_nowhere),
            cmocka_unit_test(calls_are_ready_where_all_is_understood),
            cmocka_unit_test(answers_are_the_same_everywhere),
    };
    return cmocka_run_group_tests_name("choose-sentences", tests, set_up, tear_down);
}
