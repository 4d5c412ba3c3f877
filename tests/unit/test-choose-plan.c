/* Plans that are made of texts, with the tools that every installation has: the same bytes each
 * time, taken by a run as they are, and what a run gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "toolrack/choose.h"
#include "toolrack/plan.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define LONG_TEXT    1000000u
#define LONG_TEXT_MS 20000u

static struct toolrack *host;
static struct toolrack_error err;

static int set_up(void **state) {
    static const char *const folders[] = {TEST_BUNDLED, NULL};
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = folders;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    return toolrack_open(&options, &host, &err);
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

static yyjson_doc *make_once(const char *text, bool twice) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *made = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *again = NULL;
    size_t length;
    options.text = text;
    options.context = "{\"now\":1700000000000}";
    if (toolrack_plan_make(host, &options, &made, &err) != 0 ||
        (twice && toolrack_plan_make(host, &options, &again, &err) != 0)) {
        fail_msg("%.80s: %s", text, err.message);
    }
    const char *data = toolrack_text_data(made, &length);
    if (twice) {
        assert_string_equal(data, toolrack_text_data(again, NULL));
    }
    yyjson_doc *doc = yyjson_read(data, length, 0);
    assert_non_null(doc);
    return doc;
}

static yyjson_doc *make(const char *text) {
    return make_once(text, true);
}

/* A plan is one that a run takes. NULL: none was made. */
static struct toolrack_plan *open_made(const char *text, yyjson_val *plan) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    struct toolrack_plan *opened = NULL;
    if (yyjson_is_null(plan)) {
        return NULL;
    }
    CLEANUP(freep) char *json = yyjson_val_write(plan, 0, NULL);
    assert_int_equal(toolrack_plan_open(host, json, strlen(json), &findings, &opened, &err), 0);
    if (opened == NULL) {
        fail_msg("%.80s: %s: %s", text, toolrack_findings_get(findings, 0)->cause, json);
    }
    return opened;
}

/* ------------------------------------------------------------------------------------- made */

#define NODE(id, tool, arguments) \
    "{\"id\":\"" id "\",\"tool\":\"" tool "\",\"arguments\":{" arguments "}}"
#define CONVERT(id, arguments)    NODE(id, "currency_convert", arguments)
#define CALCULATE(id, expression) NODE(id, "calculator", "\"expression\":\"" expression "\"")

#define NOW(id, zone) NODE(id, "get_current_time", "\"timezone\":\"" zone "\"")
#define USD_TO(amount, currency) \
    "\"amount\":" amount ",\"from_currency\":\"USD\",\"to_currency\":\"" currency "\""

#define OF_EUROS(currency)                                                   \
    "\"to_currency\":\"" currency "\",\"from_currency\":\"EUR\",\"amount\":" \
    "{\"$ref\":\"#/nodes/currency_convert/result/result\"}"

#define REPLACE(text, pattern, replacement) \
    NODE("text_replace", "text_replace",    \
         "\"text\":\"" text "\",\"pattern\":\"" pattern "\",\"replacement\":\"" replacement "\"")
#define STATISTICS_OF_REPLACED                 \
    NODE("text_statistics", "text_statistics", \
         "\"text\":{\"$ref\":\"#/nodes/text_replace/result/text\"}")

#define COUNT_WORDS(id, text)   NODE(id, "text_statistics", "\"text\":\"" text "\"")
#define TWO_WORDS               "${nodes.text_statistics.result.words} + ${nodes.text_statistics_2.result.words}"
#define TWO_SUMS(first, second) CALCULATE("calculator", first) "," CALCULATE("calculator_2", second)

#define EACH(items, item)                                                               \
    "{\"id\":\"text_statistics\",\"tool\":\"text_statistics\",\"for_each\":{\"items\":" \
    "{\"$ref\":\"#/nodes/" items "\"}},\"arguments\":{\"text\":{\"$ref\":\"" item "\"}}}"
#define COUNTED(characters, words)                                                \
    "{\"bytes\":" #characters ",\"characters\":" #characters ",\"words\":" #words \
    ",\"lines\":1,\"blank_lines\":0,\"longest_line\":" #characters "}"

/* `nodes` of the plan without the brackets, and what a run gives; NULL: it is not run. */
static const struct {
    const char *text;
    const char *nodes;
    const char *result;
} rows[] = {
        {"what is 2 + 3", CALCULATE("calculator", "2 + 3"), "{\"calculator\":5.0}"},
        {"What is 17 * 23, and convert 100 USD to EUR",
         CALCULATE("calculator", "17 * 23") "," CONVERT("currency_convert", USD_TO("100", "EUR")),
         "{\"calculator\":391.0,\"currency_convert\":{\"amount\":100.0,\"from_"
         "currency\":\"USD\",\"to_currency\":\"EUR\",\"result\":85.0,\"rate\":0.85}"
         "}"},
        {"Count the words of 'to be or not to be', then multiply the result by 12",
         NODE("text_statistics", "text_statistics",
              "\"text\":\"to be or not to be\"") "," CALCULATE("calculator", "${nodes.text_"
                                                                             "statistics.result."
                                                                             "words} * 12"),
         "{\"calculator\":72.0}"},
        {"Replace cats with dogs in 'I like cats', then count the words of the result",
         REPLACE("I like cats", "cats", "dogs") "," STATISTICS_OF_REPLACED,
         "{\"text_statistics\":{\"bytes\":11,\"characters\":11,\"words\":3,"
         "\"lines\":1,\"blank_lines\":0,\"longest_line\":11}}"},
        {"convert 100 USD to EUR, then add 5 to it",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "5 + ${nodes.currency_convert.result.result}"),
         "{\"calculator\":90.0}"},
        {"计算 17*23，然后把结果从美元换成欧元",
         CALCULATE("calculator", "17*23") "," CONVERT(
                 "currency_convert", "\"from_currency\":\"USD\",\"to_currency\":\"EUR\","
                                     "\"amount\":{\"$ref\":\"#/nodes/calculator/result\"}"),
         "{\"currency_convert\":{\"amount\":391.0,\"from_currency\":\"USD\",\"to_"
         "currency\":\"EUR\",\"result\":332.34999999999997,\"rate\":0.85}}"},
        {"What time is it in Tokyo, Paris and New York?",
         NOW("get_current_time", "Asia/Tokyo") "," NOW("get_current_time_2",
                                                       "Europe/Paris") "," NOW("get_current_time_3",
                                                                               "America/New_York"),
         NULL},
        {"把100美元换成欧元和日元",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT("currency_convert_2",
                                                                       USD_TO("100", "JPY")),
         "{\"currency_convert\":{\"amount\":100.0,\"from_currency\":\"USD\",\"to_"
         "currency\":\"EUR\",\"result\":85.0,\"rate\":0.85},\"currency_convert_2\":"
         "{\"amount\":100.0,\"from_currency\":\"USD\",\"to_currency\":\"JPY\","
         "\"result\":11000.0,\"rate\":110.0}}"},
        {"现在东京和纽约几点",
         NOW("get_current_time", "Asia/Tokyo") "," NOW("get_current_time_2", "America/New_York"),
         NULL},
        {"统计“one two three”的字数，再计算3*4",
         NODE("text_statistics", "text_statistics",
              "\"text\":\"one two three\"") "," CALCULATE("calculator", "3*4"),
         "{\"text_statistics\":{\"bytes\":13,\"characters\":13,\"words\":3,"
         "\"lines\":1,\"blank_lines\":0,\"longest_line\":13},\"calculator\":12.0}"},
        {"1. What is 2+3\n2. Convert 5 USD to JPY",
         CALCULATE("calculator", "2+3") "," CONVERT("currency_convert", USD_TO("5", "JPY")),
         "{\"calculator\":5.0,\"currency_convert\":{\"amount\":5.0,\"from_"
         "currency\":\"USD\",\"to_currency\":\"JPY\",\"result\":550.0,\"rate\":110."
         "0}}"},
        /* What cannot be done is left out. */
        {"What is 6*7, then book a table for it", CALCULATE("calculator", "6*7"),
         "{\"calculator\":42.0}"},
        /* Neither is it, nor the clause itself, a value of the call before. */
        {"count the words in \"hello big world\" and convert 100 kilometers to miles",
         NODE("text_statistics", "text_statistics", "\"text\":\"hello big world\""), NULL},
        {"Convert 50 EUR to JPY and tell me a joke",
         CONVERT("currency_convert",
                 "\"amount\":50,\"from_currency\":\"EUR\",\"to_currency\":\"JPY\""),
         NULL},
        /* Arithmetic with a word for what came before. */
        {"count the words in \"hello world\", then calculate that times 3",
         NODE("text_statistics", "text_statistics", "\"text\":\"hello world\"") "," CALCULATE(
                 "calculator", "${nodes.text_statistics.result.words} * 3"),
         "{\"calculator\":6.0}"},
        {"把 100 美元换成欧元，再把结果乘以 1.19",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} * 1.19"),
         NULL},
        {"把 100 公里换算成英里，然后计算结果乘以 2",
         NODE("calculator", "calculator", "\"expression\":{\"$ref\":\"#/inputs/expression\"}"),
         NULL},
        {"split \"a b c\" and count the words of each",
         NODE("text_statistics", "text_statistics", "\"text\":{\"$ref\":\"#/inputs/text\"}"), NULL},
        {"convert 100 USD to EUR, then calculate that doubled",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} * 2"),
         NULL},
        {"convert 100 USD to EUR, then calculate half of it",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} / 2"),
         NULL},
        {"count the words in \"a b\" and add 5 to that",
         NODE("text_statistics", "text_statistics", "\"text\":\"a b\"") "," CALCULATE(
                 "calculator", "5 + ${nodes.text_statistics.result.words}"),
         "{\"calculator\":7.0}"},
        {"把100美元换成欧元，再计算它的一半",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} / 2"),
         NULL},
        {"把100美元换成欧元，然后计算结果的两倍",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} * 2"),
         NULL},
        /* Arithmetic that lacks its first operand. */
        {"把100美元换成欧元，然后除以3",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} / 3"),
         NULL},
        {"convert 100 USD to EUR, then divide by 4",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator", "${nodes.currency_convert.result.result} / 4"),
         "{\"calculator\":21.25}"},
        /* The part of a result that a Chinese text asks for. */
        {"统计“你好”的字数，然后把结果乘以12",
         NODE("text_statistics", "text_statistics", "\"text\":\"你好\"") "," CALCULATE(
                 "calculator", "${nodes.text_statistics.result.characters} * 12"),
         "{\"calculator\":24.0}"},
        /* The text that a call before has made. */
        {"Replace cats with dogs in \"I like cats\" and then count the characters of the new text",
         REPLACE("I like cats", "cats", "dogs") "," STATISTICS_OF_REPLACED,
         "{\"text_statistics\":{\"bytes\":11,\"characters\":11,\"words\":3,"
         "\"lines\":1,\"blank_lines\":0,\"longest_line\":11}}"},
        {"把“我爱猫”里的“猫”替换成“狗”，然后统计新文本的字数",
         REPLACE("我爱猫", "猫", "狗") "," STATISTICS_OF_REPLACED,
         "{\"text_statistics\":{\"bytes\":9,\"characters\":3,\"words\":1,"
         "\"lines\":1,\"blank_lines\":0,\"longest_line\":3}}"},
        /* A call for each item of a list. */
        {"split \"a\nb c\" into lines and count the words of each line",
         NODE("text_lines", "text_lines",
              "\"text\":\"a\\nb c\"") "," EACH("text_lines/result/lines", "#/item"),
         "{\"text_statistics\":[" COUNTED(1, 1) "," COUNTED(3, 2) "]}"},
        {"find \"a\" in \"banana\" and count the characters of every match",
         NODE("text_search", "text_search", "\"text\":\"banana\",\"pattern\":\"a\"") "," EACH(
                 "text_search/result/matches", "#/item/text"),
         "{\"text_statistics\":[" COUNTED(1, 1) "," COUNTED(1, 1) "," COUNTED(1, 1) "]}"},
        {"计算3+4，再讲个笑话", CALCULATE("calculator", "3+4"), "{\"calculator\":7.0}"},
        /* A result is in what the call before says, also computed with. */
        {"convert 100 dollars to euros and then convert the result to yen",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT(
                 "currency_convert_2", "\"to_currency\":\"JPY\",\"from_currency\":\"EUR\","
                                       "\"amount\":{\"$ref\":\"#/nodes/currency_convert/result/"
                                       "result\"}"),
         NULL},
        {"convert 100 dollars to euros, multiply it by 3 and convert it to yen",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CALCULATE(
                 "calculator",
                 "${nodes.currency_convert.result.result} * 3") "," CONVERT("currency_convert_2",
                                                                            "\"to_currency\":"
                                                                            "\"JPY\",\"from_"
                                                                            "currency\":\"EUR\","
                                                                            "\"amount\":{\"$ref\":"
                                                                            "\"#/nodes/calculator/"
                                                                            "result\"}"),
         NULL},
        {"把100美元换成欧元，再把结果换成日元",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT("currency_convert_2",
                                                                       OF_EUROS("JPY")),
         NULL},
        {"convert 100 USD to EUR, then the result to JPY",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT("currency_convert_2",
                                                                       OF_EUROS("JPY")),
         NULL},
        {"把100美元换成欧元，然后把它换成英镑",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT("currency_convert_2",
                                                                       OF_EUROS("GBP")),
         NULL},
        {"convert 100 USD to EUR, and then that to JPY and GBP",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT(
                 "currency_convert_2", OF_EUROS("JPY")) "," CONVERT("currency_convert_3",
                                                                    OF_EUROS("GBP")),
         NULL},
        /* Without a word for the result the amount is the same again. */
        {"convert 5 USD to EUR, then also to JPY",
         CONVERT("currency_convert", USD_TO("5", "EUR")) "," CONVERT(
                 "currency_convert_2",
                 "\"to_currency\":\"JPY\",\"amount\":5,\"from_currency\":\"USD\""),
         NULL},
        {"what is 6 * 7, then convert it to yen",
         CALCULATE("calculator", "6 * 7") "," CONVERT(
                 "currency_convert", "\"to_currency\":\"JPY\","
                                     "\"amount\":{\"$ref\":\"#/nodes/calculator/result\"},"
                                     "\"from_currency\":{\"$ref\":\"#/inputs/from_currency\"}"),
         NULL},
        /* What a condition compares is no value. */
        {"convert 5 dollars to yen unless the rate is above 100",
         CONVERT("currency_convert", USD_TO("5", "JPY")), NULL},
        {"要是汇率低于100就把5美元换成日元", CONVERT("currency_convert", USD_TO("5", "JPY")), NULL},
        {"if I have 100 dollars, how many yen is that?",
         CONVERT("currency_convert", USD_TO("100", "JPY")), NULL},
        {"count the words of \"a if b is above 3\"",
         NODE("text_statistics", "text_statistics", "\"text\":\"a if b is above 3\""), NULL},
        {"the average of 12 and 30", CALCULATE("calculator", "(12 + 30) / 2"),
         "{\"calculator\":21.0}"},
        {"先统计“a b”的字数，再乘以3",
         NODE("text_statistics", "text_statistics", "\"text\":\"a b\"") "," CALCULATE(
                 "calculator", "${nodes.text_statistics.result.characters} * 3"),
         "{\"calculator\":9.0}"},
        /* "That many" is a word for a result. */
        {"take the square root of 144, multiply it by 3 and convert that many dollars to yen",
         CALCULATE("calculator", "sqrt(144) * 3") "," CONVERT(
                 "currency_convert", "\"from_currency\":\"USD\",\"to_currency\":\"JPY\","
                                     "\"amount\":{\"$ref\":\"#/nodes/calculator/result\"}"),
         NULL},
        {"what is 6 * 7, then convert that many dollars to yen",
         CALCULATE("calculator", "6 * 7") "," CONVERT(
                 "currency_convert", "\"from_currency\":\"USD\",\"to_currency\":\"JPY\","
                                     "\"amount\":{\"$ref\":\"#/nodes/calculator/result\"}"),
         NULL},
        /* A call for each value of a list, where the tool takes one. */
        {"把10、20美元换成日元",
         CONVERT("currency_convert", USD_TO("10", "JPY")) "," CONVERT("currency_convert_2",
                                                                      USD_TO("20", "JPY")),
         NULL},
        {"convert each of 10, 20 and 30 dollars to yen",
         CONVERT("currency_convert", USD_TO("10", "JPY")) "," CONVERT(
                 "currency_convert_2", USD_TO("20", "JPY")) "," CONVERT("currency_convert_3",
                                                                        USD_TO("30", "JPY")),
         NULL},
        {"convert 10 USD, 20 USD and 30 USD to EUR",
         CONVERT("currency_convert", USD_TO("10", "EUR")) "," CONVERT(
                 "currency_convert_2", USD_TO("20", "EUR")) "," CONVERT("currency_convert_3",
                                                                        USD_TO("30", "EUR")),
         NULL},
        {"把10、20、30美元换成日元",
         CONVERT("currency_convert", USD_TO("10", "JPY")) "," CONVERT(
                 "currency_convert_2", USD_TO("20", "JPY")) "," CONVERT("currency_convert_3",
                                                                        USD_TO("30", "JPY")),
         NULL},
        {"convert 10 and 20 USD to EUR and JPY",
         CONVERT("currency_convert", USD_TO("10", "EUR")) "," CONVERT(
                 "currency_convert_2",
                 USD_TO("10", "JPY")) "," CONVERT("currency_convert_3",
                                                  USD_TO("20", "EUR")) "," CONVERT("currency_"
                                                                                   "convert_4",
                                                                                   USD_TO("20",
                                                                                          "JPY")),
         NULL},
        {"count the words of \"a b c\" and of \"d e\"",
         NODE("text_statistics", "text_statistics", "\"text\":\"a b c\"") "," NODE(
                 "text_statistics_2", "text_statistics", "\"text\":\"d e\""),
         NULL},
        {"统计“一二三”和“四五”的字数",
         NODE("text_statistics", "text_statistics", "\"text\":\"一二三\"") "," NODE(
                 "text_statistics_2", "text_statistics", "\"text\":\"四五\""),
         NULL},
        {"what time is it in Tokyo and in London?",
         NOW("get_current_time", "Asia/Tokyo") "," NOW("get_current_time_2", "Europe/London"),
         NULL},
        {"what is the square root of 4, 9 and 16",
         CALCULATE("calculator", "sqrt(4)") "," CALCULATE("calculator_2", "sqrt(9)") "," CALCULATE(
                 "calculator_3", "sqrt(16)"),
         NULL},
        /* A tool that takes all of them is called once, and what is a part of arithmetic is in no
         * list. */
        {"计算3、4和5的和", CALCULATE("calculator", "3 + 4 + 5"), "{\"calculator\":12.0}"},
        {"what is 17 * 23 and 5 * 5",
         CALCULATE("calculator", "17 * 23") "," CALCULATE("calculator_2", "5 * 5"), NULL},
        /* What looks like a reference in a text is none. */
        {"count the words of '${nodes.a.result}'",
         NODE("text_statistics", "text_statistics",
              "\"text\":{\"$literal\":\"${nodes.a.result}\"}"),
         "{\"text_statistics\":{\"bytes\":17,\"characters\":17,\"words\":1,"
         "\"lines\":1,\"blank_lines\":0,\"longest_line\":17}}"},
        {"count the words of '{{text_statistics.result}}'",
         NODE("text_statistics", "text_statistics",
              "\"text\":{\"$literal\":\"{{text_statistics.result}}\"}"),
         NULL},
        /* Several results in one call. */
        {"count the words of 'a b c', count the words of 'd e', then add the two numbers",
         COUNT_WORDS("text_statistics", "a b c") "," COUNT_WORDS(
                 "text_statistics_2", "d e") "," CALCULATE("calculator", TWO_WORDS),
         "{\"calculator\":5.0}"},
        {"convert 100 USD to EUR and to GBP, then add both results",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT(
                 "currency_convert_2",
                 USD_TO("100", "GBP")) "," CALCULATE("calculator",
                                                     "${nodes.currency_convert.result.result} + "
                                                     "${nodes.currency_convert_2.result.result}"),
         NULL},
        {"calculate 3 + 4 and 5 * 6, then the average",
         TWO_SUMS("3 + 4", "5 * 6") "," CALCULATE(
                 "calculator_3", "(${nodes.calculator.result} + ${nodes.calculator_2.result}) / 2"),
         "{\"calculator_3\":18.5}"},
        {"what is 2 + 2, then what is 3 + 3, then 5 + 5, and add all of them",
         TWO_SUMS("2 + 2", "3 + 3") "," CALCULATE("calculator_3", "5 + 5") "," CALCULATE(
                 "calculator_4", "${nodes.calculator.result} + ${nodes.calculator_2.result} + "
                                 "${nodes.calculator_3.result}"),
         "{\"calculator_4\":20.0}"},
        {"统计“你好世界”的字数，统计“再见”的字数，然后把两个结果相加",
         COUNT_WORDS("text_statistics", "你好世界") "," COUNT_WORDS(
                 "text_statistics_2",
                 "再见") "," CALCULATE("calculator", "${nodes.text_statistics.result.characters} + "
                                                     "${nodes.text_statistics_2.result."
                                                     "characters}"),
         "{\"calculator\":6.0}"},
        {"计算1+2，再计算3*4，然后求平均值",
         TWO_SUMS("1+2", "3*4") "," CALCULATE(
                 "calculator_3", "(${nodes.calculator.result} + ${nodes.calculator_2.result}) / 2"),
         "{\"calculator_3\":7.5}"},
        {"计算1+2，再计算3*4，把这两个结果相乘",
         TWO_SUMS("1+2", "3*4") "," CALCULATE(
                 "calculator_3", "${nodes.calculator.result} * ${nodes.calculator_2.result}"),
         "{\"calculator_3\":36.0}"},
        /* What both are in, the sum is in. */
        {"convert 100 USD to EUR and 20 USD to EUR, add both results, then convert the "
         "result to "
         "yen",
         CONVERT("currency_convert", USD_TO("100", "EUR")) "," CONVERT(
                 "currency_convert_2",
                 USD_TO("20", "EUR")) "," CALCULATE("calculator",
                                                    "${nodes.currency_convert.result.result}"
                                                    " + "
                                                    "${nodes.currency_convert_2.result."
                                                    "result}") "," CONVERT("currency_"
                                                                           "convert_3",
                                                                           "\"to_currency\":"
                                                                           "\"JPY\",\"from_"
                                                                           "currency\":"
                                                                           "\"EUR\","
                                                                           "\"amount\":{\"$"
                                                                           "ref\":\"#/nodes/"
                                                                           "calculator/"
                                                                           "result\"}"),
         NULL},
        /* It is not clear which two are meant. */
        {"what is 2 + 2, then what is 3 + 3, then 5 + 5, then add the two numbers",
         TWO_SUMS("2 + 2", "3 + 3") "," CALCULATE("calculator_3", "5 + 5"), NULL},
        /* The unit of the last is said of all. */
        {"convert 10, 20 dollars to euros",
         CONVERT("currency_convert", USD_TO("10", "EUR")) "," CONVERT("currency_convert_2",
                                                                      USD_TO("20", "EUR")),
         NULL},
        {"convert 5, 10, 20 USD to EUR",
         CONVERT("currency_convert", USD_TO("5", "EUR")) "," CONVERT(
                 "currency_convert_2", USD_TO("10", "EUR")) "," CONVERT("currency_convert_3",
                                                                        USD_TO("20", "EUR")),
         NULL},
        {"what is 12 * 3, then convert that from dollars to yen",
         CALCULATE("calculator", "12 * 3") "," CONVERT(
                 "currency_convert", "\"from_currency\":\"USD\",\"to_currency\":\"JPY\",\"amount\":"
                                     "{\"$ref\":\"#/nodes/calculator/result\"}"),
         NULL},
        /* "The other one" is no amount. */
        {"convert 10 USD to EUR, then the other one too",
         CONVERT("currency_convert", USD_TO("10", "EUR")), NULL},
};

static void plans_say_what_texts_want(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make(rows[i].text);
        yyjson_val *plan = yyjson_obj_get(yyjson_doc_get_root(doc), "plan");
        CLEANUP(freep) char *nodes = yyjson_val_write(yyjson_obj_get(plan, "nodes"), 0, NULL);
        char expected[2048];
        (void)snprintf(expected, sizeof expected, "[%s]", rows[i].nodes);
        if (nodes == NULL || strcmp(nodes, expected) != 0) {
            fail_msg("%s: %s instead of %s", rows[i].text, nodes, expected);
        }
    }
}

/* After all are made: how long calls took counts in the choice, and would differ between two. */
static void plans_of_texts_give_what_they_want(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make_once(rows[i].text, false);
        yyjson_val *plan = yyjson_obj_get(yyjson_doc_get_root(doc), "plan");
        CLEANUP(toolrack_plan_closep) struct toolrack_plan *opened = open_made(rows[i].text, plan);
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
        if (rows[i].result == NULL) {
            continue;
        }
        if (toolrack_plan_run(opened, NULL, &result, &err) != 0) {
            fail_msg("%s: %s", rows[i].text, err.message);
        }
        assert_string_equal(toolrack_text_data(result, NULL), rows[i].result);
    }
}

/* ----------------------------------------------------------------------------------- unsure */

static void what_is_not_said_is_an_input(void **state) {
    (void)state;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make("Convert some money from EUR to JPY");
    yyjson_val *root = yyjson_doc_get_root(doc);
    CLEANUP(toolrack_plan_closep)
    struct toolrack_plan *plan = open_made("inputs", yyjson_obj_get(root, "plan"));
    yyjson_val *unsure = yyjson_arr_get_first(yyjson_obj_get(root, "unsure"));
    CLEANUP(freep)
    char *input = yyjson_val_write(yyjson_ptr_get(root, "/plan/inputs/amount"), 0, NULL);
    static const char question[] =
            "What is \"amount\" (\"The amount of money, in units of from_currency\")?";
    assert_non_null(input);
    assert_non_null(strstr(input, "\"type\":\"number\""));
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(root, "/plan/inputs/amount/description")),
                        question);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(root, "/plan/nodes/0/arguments/amount/$ref")),
                        "#/inputs/amount");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(unsure, "about")), "input");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(unsure, "pointer")), "/inputs/amount");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(unsure, "question")), question);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    assert_int_equal(toolrack_plan_run(plan, &options, &result, &err),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    options.inputs = "{\"amount\":10}";
    assert_int_equal(toolrack_plan_run(plan, &options, &result, &err), 0);
}

/* What is not called, and what is no value, is told. */
static void what_is_not_done_is_told(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *about;
        const char *reason;
    } told[] = {
            {"count the words in \"hello big world\" and convert 100 kilometers to miles", "text",
             "no tool is called for \"and convert 100 kilometers to miles\""},
            {"Convert 50 EUR to JPY and tell me a joke", "text",
             "no tool is called for \"and tell me a joke\""},
            {"计算3+4，再讲个笑话", "text", "no tool is called for \"再讲个笑话\""},
            {"把 100 公里换算成英里，然后计算结果乘以 2", "input",
             "\"结果乘以 2\" is no value of it"},
            {"get statistics of the text \"a b\" and multiply the result by 2", "reference",
             "the text does not say which part of the result it means"},
            {"split \"a b c\" and count the words of each", "input",
             "\"of each\" is no value of it"},
            {"convert 10 USD and then 20 to EUR", "text", "no call uses \"20\""},
            /* Nothing says whether a condition holds, and what it compares is no value. */
            {"if it rains tomorrow, convert 5 dollars to yen", "text",
             "the calls are made whether this holds or not: \"if it rains tomorrow\""},
            {"convert 5 dollars to yen unless the rate is above 100", "text",
             "the calls are made whether this holds or not: \"unless the rate is above 100\""},
            {"如果明天下雨，把5美元换成日元", "text",
             "the calls are made whether this holds or not: \"如果明天下雨\""},
            {"要是汇率低于100就把5美元换成日元", "text",
             "the calls are made whether this holds or not: \"要是汇率低于100\""},
            {"calculate 3 + 4, send it to bob by mail", "text",
             "no tool is called for \"send it to bob by mail\""},
            {"what is 2 + 3, for the order 77 of Ann", "text",
             "no tool is called for \"for the order 77 of Ann\""},
            {"统计“你好”的字数，给小王看，编号88", "text", "no call uses \"你好\""},
            /* Behind an order word something else is wanted, also where the call before goes on. */
            {"tell me the current time in Tokyo, and then the same in Paris, and then the "
             "difference",
             "text", "no tool is called for \"and then the difference\""},
            {"get the current time in Tokyo, then in Paris, then the difference", "text",
             "no tool is called for \"then the difference\""},
            {"查一下东京现在的时间，然后巴黎的，然后差多少", "text",
             "no tool is called for \"然后差多少\""},
            {"convert 100 USD to EUR, then say whether it is small or large", "text",
             "no tool is called for \"then say whether it is small or large\""},
            {"统计“你好”的字数，然后判断它是大还是小", "text",
             "no tool is called for \"然后判断它是大还是小\""},
            {"count the words of 'a b', then say whether the text is polite", "text",
             "no tool is called for \"then say whether the text is polite\""},
            {"calculate 3 + 4, multiply it by 2, quickly, and paint it red", "text",
             "no tool is called for \"and paint it red\""},
            {"count the words of 'a b', then those", "text",
             "no tool is called for \"then those\""},
            /* Also where the tool knows all words of a part. */
            {"what time is it in London and then the other one", "text",
             "no tool is called for \"and then the other one\""},
            {"convert 10 USD to EUR, then the other one too", "text",
             "no tool is called for \"then the other one too\""},
            {"东京现在几点，其余的呢", "text", "no tool is called for \"其余的呢\""},
            {"calculate 7 * 6, then the average", "text",
             "no tool is called for \"then the average\""},
            {"what is 2 + 2, then what is 3 + 3, then 5 + 5, then add the two numbers", "text",
             "no tool is called for \"then add the two numbers\""},
            {"东京和伦敦现在几点，然后平均一下", "text", "no tool is called for \"然后平均一下\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(told); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make(told[i].text);
        yyjson_val *unsure = yyjson_obj_get(yyjson_doc_get_root(doc), "unsure");
        size_t at;
        size_t count;
        size_t found = 0;
        yyjson_val *row;
        yyjson_arr_foreach (unsure, at, count, row) {
            found += yyjson_equals_str(yyjson_obj_get(row, "about"), told[i].about) &&
                     yyjson_equals_str(yyjson_obj_get(row, "reason"), told[i].reason);
        }
        if (found != 1) {
            fail_msg("%s: not told: %s", told[i].text, told[i].reason);
        }
    }
}

/* That the result is shown needs no call, and is not told as left. */
static void what_a_plan_does_anyway_is_not_told(void **state) {
    (void)state;
    static const char *const texts[] = {"convert 100 USD to EUR and please show me the result",
                                        "convert 100 USD to EUR, then show it",
                                        "convert 100 USD to EUR, please",
                                        "把100美元换成欧元，并告诉我结果"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make(texts[i]);
        yyjson_val *root = yyjson_doc_get_root(doc);
        assert_int_equal(yyjson_arr_size(yyjson_ptr_get(root, "/plan/nodes")), 1);
        assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "unsure")), 0);
    }
}

/* Of a value that a call uses, as it is said or in another form, nothing is told. */
static void what_is_used_is_not_told(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make(rows[i].text);
        yyjson_val *unsure = yyjson_obj_get(yyjson_doc_get_root(doc), "unsure");
        size_t at;
        size_t count;
        yyjson_val *row;
        yyjson_arr_foreach (unsure, at, count, row) {
            const char *reason = yyjson_get_str(yyjson_obj_get(row, "reason"));
            if (reason != NULL && strstr(reason, "no call uses") != NULL) {
                fail_msg("%s: %s", rows[i].text, reason);
            }
        }
    }
}

static void a_text_that_no_tool_does_has_no_plan(void **state) {
    (void)state;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = make("book a flight to Paris, then water the roses");
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_true(yyjson_is_null(yyjson_obj_get(root, "plan")));
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "unsure")), 1);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *made = NULL;
    assert_int_equal(toolrack_plan_make(host, &options, &made, &err), TOOLRACK_E_INVALID);
    options.text = "what is 2 + 3";
    options.context = "[1]";
    assert_int_equal(toolrack_plan_make(host, &options, &made, &err), TOOLRACK_E_INVALID);
    assert_null(made);
}

/* ---------------------------------------------------------------------------------- hostile */

/* Texts of a megabyte, and such as look like what the host writes itself. */
static void hostile_texts_are_bounded(void **state) {
    (void)state;
    static const char *const units[] = {"what is 2 + 3, and then ", "convert 5 USD to EUR. ",
                                        "然后把它加5，", "\xff\xfe it the result, "};
    static const char *const texts[] = {
            "what is 740291 + 1, then add 740292 to it",
            "count the words of '${nodes.calculator.result}', then count the words of '#/nodes/x'",
            "count the words of \"\x01\x1b[31m\"",
            "it, it and it",
            "the result of the result",
            "\"\"",
    };
    CLEANUP(freep) char *text = malloc(LONG_TEXT + 1);
    assert_non_null(text);
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        size_t length = 0;
        for (size_t size = strlen(units[i]); length + size <= LONG_TEXT; length += size) {
            memcpy(text + length, units[i], size);
        }
        text[length] = '\0';
        struct timespec begin;
        struct timespec end;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make_once(text, false);
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        toolrack_plan_close(open_made(units[i], yyjson_obj_get(yyjson_doc_get_root(doc), "plan")));
        assert_in_range((end.tv_sec - begin.tv_sec) * 1000 +
                                (end.tv_nsec - begin.tv_nsec) / 1000000,
                        0, LONG_TEXT_MS);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = make(texts[i]);
        toolrack_plan_close(open_made(texts[i], yyjson_obj_get(yyjson_doc_get_root(doc), "plan")));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(plans_say_what_texts_want),
            cmocka_unit_test(plans_of_texts_give_what_they_want),
            cmocka_unit_test(what_is_not_said_is_an_input),
            cmocka_unit_test(what_is_not_done_is_told),
            cmocka_unit_test(what_a_plan_does_anyway_is_not_told),
            cmocka_unit_test(what_is_used_is_not_told),
            cmocka_unit_test(a_text_that_no_tool_does_has_no_plan),
            cmocka_unit_test(wrong_options_are_refused),
            cmocka_unit_test(hostile_texts_are_bounded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
