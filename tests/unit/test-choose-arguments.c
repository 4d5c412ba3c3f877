/* The arguments of a tool from a sentence, as a user sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "choose/arguments.h"
#include "choose/author.h"

CLEANUP_DEFINE(struct values, values_destroy)
CLEANUP_DEFINE(struct arguments, arguments_destroy)

/* Friday, 27 November 2026, 10:00 in China. */
static const struct arguments_context friday = {.has_now = true,
                                                .now_ms = INT64_C(1795744800000),
                                                .offset_minutes = 480,
                                                .time_zone = "Asia/Shanghai"};

static struct arguments *fill_tool(const char *name, const char *schema, const char *text,
                                   const struct arguments_context *context) {
    yyjson_doc *doc = yyjson_read(schema, strlen(schema), YYJSON_READ_NOFLAG);
    assert_non_null(doc);
    struct arguments_tool tool = {.name = name, .parameters = yyjson_doc_get_root(doc)};
    CLEANUP(values_destroyp) struct values *values = NULL;
    struct arguments *arguments = NULL;
    assert_int_equal(values_read(text, strlen(text), context, &values, NULL), 0);
    assert_int_equal(arguments_fill(values, &tool, &arguments, NULL), 0);
    yyjson_doc_free(doc);
    return arguments;
}

static struct arguments *fill_with(const char *schema, const char *text,
                                   const struct arguments_context *context) {
    return fill_tool("tool", schema, text, context);
}

static struct arguments *fill(const char *schema, const char *text) {
    return fill_with(schema, text, &friday);
}

static void expect(const char *schema, const char *text, const char *json) {
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(schema, text);
    if (strcmp(arguments->json, json) != 0) {
        print_error("%s\n  wanted %s\n  got    %s\n", text, json, arguments->json);
    }
    assert_string_equal(arguments->json, json);
}

/* The same with a context; `source` and `origin` are of the last value. */
static void expect_in(const char *said, const char *schema, const char *text, const char *json,
                      enum arguments_source source, const char *origin) {
    yyjson_doc *doc = yyjson_read(said, strlen(said), YYJSON_READ_NOFLAG);
    struct arguments_context context;
    assert_int_equal(arguments_context_read(yyjson_doc_get_root(doc), &context, NULL), 0);
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill_with(schema, text, &context);
    assert_string_equal(arguments->json, json);
    const struct arguments_value *last =
            arguments->value_count > 0 ? &arguments->values[arguments->value_count - 1] : NULL;
    assert_int_equal(last != NULL ? last->source : ARGUMENTS_FROM_TEXT, source);
    if (origin != NULL) {
        assert_non_null(last);
        assert_string_equal(last->origin, origin);
    }
    yyjson_doc_free(doc);
}

#define TOOL(required, properties) \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"
#define TEXT(name, description) \
    "\"" name "\":{\"type\":\"string\",\"description\":\"" description "\"}"

static const char calculator[] =
        TOOL("\"expression\"", TEXT("expression", "The expression, for example: sqrt(144) + pi"));
static const char current_time[] =
        TOOL("\"timezone\"",
             TEXT("timezone", "IANA time zone name, such as America/New_York or Europe/London"));
static const char currency[] = TOOL(
        "\"amount\",\"from_currency\",\"to_currency\"",
        "\"amount\":{\"type\":\"number\",\"description\":\"The amount of money, in units of "
        "from_currency\"}," TEXT(
                "from_currency",
                "Currency of the amount: ISO 4217 code in "
                "capitals, such as USD") "," TEXT("to_currency", "Currency to convert to: ISO 4217 "
                                                                 "code in capitals, such as EUR"));
static const char reader[] = TOOL("\"path\"", TEXT("path", "The path of the file to read"));
static const char event[] =
        TOOL("\"title\",\"date\"", TEXT("title", "The title of the event") "," TEXT(
                                           "date", "The date of the event, YYYY-MM-DD"));

static const char adder[] = TOOL("\"a\",\"b\"", "\"a\":{\"type\":\"number\"},"
                                                "\"b\":{\"type\":\"number\"}");

/* The words of a program are no value of an expression, and a later wish has its own. */
static void a_conversation_gives_what_its_last_wish_says(void **state) {
    (void)state;
    expect(calculator, "user: what is 2+2\nassistant: It is 4.\nuser: thanks",
           "{\"expression\":\"2+2\"}");
    expect(calculator, "user: what is 17 * 23\nassistant: 391\nuser: and 18 * 23?",
           "{\"expression\":\"18 * 23\"}");
    expect(current_time, "user: the time in Paris?\nassistant: 3 pm\nuser: no, I meant Rome",
           "{\"timezone\":\"Europe/Rome\"}");
    expect(current_time, "用户：东京现在几点？\n助手：下午三点\n用户：那伦敦呢",
           "{\"timezone\":\"Europe/London\"}");
    expect(currency,
           "user: convert 100 dollars to euros\nassistant: 92 euros\nuser: no, I meant yen",
           "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}");
    expect(currency, "user: convert 100 dollars to euros\nassistant: 92 euros\nuser: and 200?",
           "{\"amount\":200,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}");
    expect(currency, "用户：把100美元换成欧元\n助手：85欧元\n用户：那日元呢",
           "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}");
    expect(event,
           "user: add the event 'Lunch' on 2026-12-01\nassistant: Added.\nuser: no, 2026-12-02",
           "{\"title\":\"Lunch\",\"date\":\"2026-12-02\"}");
}

/* What was asked back belongs to the wish before. */
static void an_answer_fills_what_was_asked(void **state) {
    (void)state;
    static const char full[] = "{\"amount\":5,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}";
    expect(currency, "user: convert 5 dollars\nassistant: To which currency?\nuser: yen", full);
    expect(currency, "user: convert 5 dollars\nassistant: To which currency?\nuser: to yen.", full);
    expect(currency, "用户：把5美元换一下\n助手：换成什么货币？\n用户：日元", full);
    expect(currency, "user: convert to yen\nassistant: From which currency?\nuser: 5 dollars",
           full);
}

static void test_arithmetic(void **state) {
    (void)state;
    expect(calculator, "what is 17 * 23", "{\"expression\":\"17 * 23\"}");
    expect(calculator, "What is (3 + 4) * 2 - 1?", "{\"expression\":\"(3 + 4) * 2 - 1\"}");
    expect(calculator, "计算 17*23", "{\"expression\":\"17*23\"}");
    expect(calculator, "12 times 8", "{\"expression\":\"12 * 8\"}");
    expect(calculator, "17乘以23等于多少", "{\"expression\":\"17 * 23\"}");
    expect(calculator, "what is the square root of 2", "{\"expression\":\"sqrt(2)\"}");
    expect(calculator, "square root of 144 plus 3", "{\"expression\":\"sqrt(144) + 3\"}");
    expect(calculator, "2的平方根是多少", "{\"expression\":\"sqrt(2)\"}");
    expect(calculator, "2的10次方", "{\"expression\":\"2 ^ 10\"}");
    expect(calculator, "what is 12 squared", "{\"expression\":\"12 ^ 2\"}");
    expect(calculator, "what is 15 percent of 80", "{\"expression\":\"15 / 100 * 80\"}");
    expect(calculator, "80的15%是多少", "{\"expression\":\"80 * 15 / 100\"}");
    expect(calculator, "what's three times seven", "{\"expression\":\"3 * 7\"}");
    expect(calculator, "add 40 and 2", "{\"expression\":\"40 + 2\"}");
    expect(calculator, "subtract 3 from 10", "{\"expression\":\"10 - 3\"}");
    expect(calculator, "the sum of 1, 2 and 3", "{\"expression\":\"1 + 2 + 3\"}");
}

static void test_steps_of_arithmetic(void **state) {
    static const struct {
        const char *text;
        const char *expression;
    } rows[] = {{"add 40 and 2 and multiply by 3", "(40 + 2) * 3"},
                {"17加3再乘以2", "(17 + 3) * 2"},
                {"17加3乘以2", "17 + 3 * 2"},
                {"the sum of 3, 4 and 5 divided by 2", "(3 + 4 + 5) / 2"},
                {"divide the sum of 3, 4 and 5 by 3", "(3 + 4 + 5) / 3"},
                {"3、4和5的和除以2", "(3 + 4 + 5) / 2"},
                {"the average of 3, 4 and 5", "(3 + 4 + 5) / 3"},
                {"what is 20% of 50", "20 / 100 * 50"},
                {"20% of the sum of 30 and 20", "20 / 100 * (30 + 20)"},
                {"half of 90", "90 / 2"},
                {"100 divided by half of 10", "100 / (10 / 2)"},
                {"90的一半", "90 / 2"},
                {"5的3倍", "5 * 3"},
                {"2 to the power of 10", "2 ^ 10"},
                {"三的平方", "3 ^ 2"},
                {"square of 12 plus 1", "12 ^ 2 + 1"},
                {"square root of the sum of 9 and 16", "sqrt(9 + 16)"},
                {"square root of (3 + 4)", "sqrt(3 + 4)"},
                {"add 5 to 3, then divide the result by 4", "(5 + 3) / 4"},
                {"subtract 3 and 4 from 10", "10 - (3 + 4)"},
                {"subtract 3 from 10 and double it", "(10 - 3) * 2"},
                {"add 12 and 30. Then divide by 6.", "(12 + 30) / 6"},
                {"add 1 and 2, then subtract it from 10", "10 - (1 + 2)"},
                {"3加4，然后平方", "(3 + 4) ^ 2"},
                {"100减去20，结果再除以4", "(100 - 20) / 4"},
                {"add 2*3 and 4*5", "2 * 3 + 4 * 5"},
                {"compute 3+4 and add an event to my calendar", "3+4"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[128];
        (void)snprintf(wanted, sizeof wanted, "{\"expression\":\"%s\"}", rows[i].expression);
        expect(calculator, rows[i].text, wanted);
    }
}

/* A part of a calculation is not what was asked. */
static void test_arithmetic_that_is_not_understood_is_asked(void **state) {
    (void)state;
    expect(calculator, "add 40 and 2 times 3", "{}");
    expect(calculator, "add 40 and 2 and take the logarithm", "{}");
    expect(calculator, "add 2 and 3 and multiply 4 by 5", "{}");
    expect(calculator, "5 plus 3 times the number of apples", "{}");
}

static const char regex_search[] = TOOL(
        "\"text\",\"pattern\"",
        TEXT("text", "The text to search") "," TEXT("pattern", "Regular expression (Perl syntax)"));
static const char regex_replace[] = TOOL(
        "\"text\",\"pattern\",\"replacement\"",
        TEXT("text", "The text to replace in") "," TEXT("pattern", "Regular expression") "," TEXT(
                "replacement", "Text for each match"));

static void test_classes_of_characters(void **state) {
    static const struct {
        const char *text;
        const char *pattern;
    } rows[] = {{"find all digits in 'abc 123'", "\\\\d+"},
                {"find all words in 'abc 123'", "\\\\w+"},
                {"find the capital letters in 'abc 123'", "[A-Z]+"},
                {"extract all e-mail addresses from 'abc 123'",
                 "[\\\\w.+-]+@[\\\\w-]+(?:\\\\.[\\\\w-]+)+"},
                {"在“abc 123”中查找所有数字", "\\\\d+"},
                {"找出'abc 123'里的所有汉字", "[一-龥]+"},
                {"find '\\d' in 'abc 123' but not all digits", "\\\\d"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[160];
        (void)snprintf(wanted, sizeof wanted, "{\"text\":\"abc 123\",\"pattern\":\"%s\"}",
                       rows[i].pattern);
        expect(regex_search, rows[i].text, wanted);
    }
    /* Which words and numbers are meant is not said by the class alone. */
    expect(regex_search, "find words starting with a in 'abc 123'", "{\"text\":\"abc 123\"}");
    expect(regex_search, "find even numbers in 'abc 123'", "{\"text\":\"abc 123\"}");
}

static void test_literal_text_for_a_pattern_is_escaped(void **state) {
    (void)state;
    expect(regex_replace, "replace . by , in '1.5'",
           "{\"text\":\"1.5\",\"pattern\":\"\\\\.\",\"replacement\":\",\"}");
    expect(regex_replace, "把'1.5'里的.替换成,",
           "{\"text\":\"1.5\",\"pattern\":\"\\\\.\",\"replacement\":\",\"}");
    expect(regex_replace, "replace all spaces with underscores in 'a b c'",
           "{\"text\":\"a b c\",\"pattern\":\" \",\"replacement\":\"_\"}");
    expect(regex_replace, "把'a b c'中的空格替换成下划线",
           "{\"text\":\"a b c\",\"pattern\":\" \",\"replacement\":\"_\"}");
    expect(regex_replace, "replace all digits in 'a1b2' with 'x'",
           "{\"text\":\"a1b2\",\"pattern\":\"\\\\d+\",\"replacement\":\"x\"}");
    expect(regex_replace, "replace 'a.c' by 'b' in 'a.c'",
           "{\"text\":\"a.c\",\"pattern\":\"a.c\",\"replacement\":\"b\"}");
}

static void test_the_first_and_the_last(void **state) {
    static const char lines[] = TOOL(
            "\"text\"",
            TEXT("text",
                 "The text") ","
                             "\"part\":{\"type\":\"string\",\"enum\":[\"all\",\"head\",\"tail\"],"
                             "\"default\":\"all\"},"
                             "\"count\":{\"type\":\"integer\",\"default\":10}");
    static const struct {
        const char *text;
        const char *part;
        int count;
    } rows[] = {{"show the first two lines of 'a b'", "head", 2},
                {"the last three lines of 'a b'", "tail", 3},
                {"the top 3 lines of 'a b'", "head", 3},
                {"give me the last line of 'a b'", "tail", 1},
                {"'a b'的前三行", "head", 3},
                {"取'a b'的最后两行", "tail", 2},
                {"'a b'的第一行", "head", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "{\"text\":\"a b\",\"part\":\"%s\",\"count\":%d}",
                       rows[i].part, rows[i].count);
        expect(lines, rows[i].text, wanted);
    }
}

/* Who has to be asked for the number is asked for the rest, too. */
static void test_what_is_weak_is_asked_with_what_is_missing(void **state) {
    static const char booking[] =
            TOOL("\"kind\",\"guests\"",
                 "\"kind\":{\"type\":\"string\",\"enum\":[\"single\",\"double\",\"suite\"]},"
                 "\"guests\":{\"type\":\"integer\"}");
    (void)state;
    expect(booking, "book a room", "{}");
    expect(booking, "book a room for 3 guests, a suite", "{\"kind\":\"suite\",\"guests\":3}");
    expect(booking, "book a suite", "{\"kind\":\"suite\"}");
}

static void test_limits(void **state) {
    static const char notes[] = TOOL(
            "\"query\"", TEXT("query", "Words to search for") ","
                                                              "\"limit\":{\"type\":\"integer\","
                                                              "\"description\":\"Most results\"}");
    (void)state;
    expect(notes, "find notes about tea, at most 5", "{\"query\":\"tea\",\"limit\":5}");
    expect(notes, "search for tea, top 3", "{\"query\":\"tea\",\"limit\":3}");
    expect(notes, "search notes about tea, limit to 10", "{\"query\":\"tea\",\"limit\":10}");
    expect(notes, "搜索关于茶的笔记，最多5条", "{\"query\":\"茶\",\"limit\":5}");
    expect(notes, "搜索茶，只要前3条", "{\"query\":\"茶\",\"limit\":3}");
}

static void test_numbers(void **state) {
    (void)state;
    expect(adder, "add three thousand five hundred and a dozen", "{\"a\":3500,\"b\":12}");
    expect(adder, "三千五加两百", "{\"a\":3500,\"b\":200}");
    expect(adder, "add 2.5k and 1.5 million", "{\"a\":2500,\"b\":1500000}");
    expect(adder, "一打加三百", "{\"a\":12,\"b\":300}");
    static const char image[] = TOOL("\"width\",\"height\"", "\"width\":{\"type\":\"integer\"},"
                                                             "\"height\":{\"type\":\"integer\"}");
    expect(image, "resize it to 800x600", "{\"width\":800,\"height\":600}");
    expect(image, "缩放到800x600", "{\"width\":800,\"height\":600}");
}

static const char payment[] =
        TOOL("\"amount\"", "\"amount\":{\"type\":\"number\",\"description\":\"The amount\"}");

#define NUMBER(type, name, description)                                                            \
    TOOL("\"" name "\"", "\"" name "\":{\"type\":\"" type "\",\"description\":\"" description "\"" \
                         "}")

/* A value in another unit is converted where the rule is exact, and refused else. */
static void test_units(void **state) {
    static const struct {
        const char *schema;
        const char *text;
        const char *json;
    } converted[] = {
            {NUMBER("number", "distance", "Distance in kilometers"), "run 5 miles",
             "{\"distance\":8.04672}"},
            {NUMBER("number", "distance", "Distance in km"), "run 500 meters",
             "{\"distance\":0.5}"},
            {NUMBER("number", "distance_km", "How far"), "跑3英里", "{\"distance_km\":4.828032}"},
            {NUMBER("number", "weight", "Weight in kg"), "150 lb", "{\"weight\":68.038856}"},
            {NUMBER("number", "weight", "Weight in kg"), "3斤", "{\"weight\":1.5}"},
            {NUMBER("number", "temperature", "Temperature in degrees Celsius"), "set it to 68 °F",
             "{\"temperature\":20}"},
            {NUMBER("number", "temperature", "Temperature in degrees Fahrenheit"),
             "set it to 68 degrees", "{\"temperature\":68}"},
            {NUMBER("integer", "minutes", "Length in minutes"), "for 1 hour 15 minutes",
             "{\"minutes\":75}"},
            {NUMBER("number", "amount", "Amount in US dollars"), "pay 500 dollars",
             "{\"amount\":500}"}};
    static const struct {
        const char *schema;
        const char *text;
        const char *reason;
    } refused[] = {{NUMBER("number", "amount", "Amount in US dollars"), "pay 500 euros",
                    "the text says \"500 euros\", and the unit is USD"},
                   {NUMBER("integer", "minutes", "Length in minutes"),
                    "1 hour 15 minutes 30 seconds",
                    "the text says \"1 hour 15 minutes 30 seconds\", which is not whole in the "
                    "unit minute"},
                   {NUMBER("number", "distance", "Distance in kilometers"), "run 5 hours",
                    "the text says \"5 hours\", and the unit is kilometer"}};
    (void)state;
    for (size_t i = 0; i < sizeof converted / sizeof *converted; i++) {
        expect(converted[i].schema, converted[i].text, converted[i].json);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CLEANUP(arguments_destroyp)
        struct arguments *arguments = fill(refused[i].schema, refused[i].text);
        assert_int_equal(arguments->invalid_count, 1);
        assert_string_equal(arguments->invalid[0].reason, refused[i].reason);
        assert_false(arguments->complete);
    }
}

/* A number is whole or none: never a part of what is written. */
static void test_numbers_are_whole(void **state) {
    static const char *const rows[][2] = {{"pay 1'000", "{\"amount\":1000}"},
                                          {"pay 12,50 EUR", "{\"amount\":12.5}"},
                                          {"pay 1.234,56 EUR", "{\"amount\":1234.56}"},
                                          {"pay $1.2m", "{\"amount\":1200000}"},
                                          {"设置为零下五度", "{\"amount\":-5}"},
                                          {"调到二十三度半", "{\"amount\":23.5}"},
                                          {"pay 1 500", "{}"},
                                          {"pay 1,5", "{}"}};
    static const char *const cut[] = {"(3+4", "what is (3+4", "1,5 + 2,5", "sqrt(16",
                                      "sin(30 degrees)"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(payment, rows[i][0], rows[i][1]);
    }
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        expect(calculator, cut[i], "{}");
    }
    expect(calculator, "what is 3 x 4", "{\"expression\":\"3 * 4\"}");
    expect(calculator, "1'000 + 5", "{\"expression\":\"1000 + 5\"}");
    expect(adder, "add 1 500", "{\"a\":1,\"b\":500}");
}

static void test_spans_of_time(void **state) {
    (void)state;
    static const char seconds[] = TOOL(
            "\"seconds\"", "\"seconds\":{\"type\":\"integer\",\"description\":\"In seconds\"}");
    static const char parts[] =
            TOOL("", "\"hours\":{\"type\":\"integer\",\"description\":\"Hours\"},"
                     "\"minutes\":{\"type\":\"integer\",\"description\":\"Minutes\"}");
    expect(seconds, "set a timer for 5 minutes", "{\"seconds\":300}");
    expect(seconds, "定时一个半小时", "{\"seconds\":5400}");
    expect(seconds, "timer for an hour and a half", "{\"seconds\":5400}");
    expect(seconds, "timer for 1 hour 30 minutes", "{\"seconds\":5400}");
    expect(seconds, "timer for 90 seconds", "{\"seconds\":90}");
    expect(parts, "timer for 1 hour 30 minutes", "{\"hours\":1,\"minutes\":30}");
}

static void test_days_relative_to_now(void **state) {
    (void)state;
    static const char report[] = TOOL("\"start_date\",\"end_date\"",
                                      TEXT("start_date", "First day, YYYY-MM-DD") "," TEXT(
                                              "end_date", "Last day, YYYY-MM-DD"));
    static const char reminder[] = TOOL(
            "\"text\",\"time\"",
            TEXT("text",
                 "What to remind of") ","
                                      "\"time\":{\"type\":\"string\",\"format\":\"date-time\"}");
    expect(report, "the last 7 days",
           "{\"start_date\":\"2026-11-20\",\"end_date\":\"2026-11-27\"}");
    expect(report, "最近7天的报告", "{\"start_date\":\"2026-11-20\",\"end_date\":\"2026-11-27\"}");
    expect(report, "last week", "{\"start_date\":\"2026-11-16\",\"end_date\":\"2026-11-22\"}");
    expect(report, "下个月", "{\"start_date\":\"2026-12-01\",\"end_date\":\"2026-12-31\"}");
    expect(reminder, "remind me in two and a half hours to call mom",
           "{\"text\":\"call mom\",\"time\":\"2026-11-27T12:30:00+08:00\"}");
    expect(reminder, "两个半小时后提醒我喝水",
           "{\"text\":\"喝水\",\"time\":\"2026-11-27T12:30:00+08:00\"}");
    expect(reminder, "下周三下午三点提醒我喝水",
           "{\"text\":\"喝水\",\"time\":\"2026-12-02T15:00:00+08:00\"}");
}

static void test_what_is_denied(void **state) {
    (void)state;
    static const char search[] =
            TOOL("\"text\",\"pattern\"",
                 TEXT("text", "The text to search") "," TEXT(
                         "pattern", "Text or expression") ","
                                                          "\"ignore_case\":{\"type\":\"boolean\","
                                                          "\"default\":false}");
    static const char export[] =
            TOOL("\"table\"",
                 TEXT("table",
                      "Name of the table") ","
                                           "\"header\":{\"type\":\"boolean\",\"default\":true}");
    expect(search, "find 'ab' in 'xAB', not case sensitive",
           "{\"text\":\"xAB\",\"pattern\":\"ab\",\"ignore_case\":true}");
    expect(search, "find 'ab' in 'xAB', ignoring case",
           "{\"text\":\"xAB\",\"pattern\":\"ab\",\"ignore_case\":true}");
    expect(search, "在“xAB”中查找“ab”，忽略大小写",
           "{\"text\":\"xAB\",\"pattern\":\"ab\",\"ignore_case\":true}");
    static const char light[] =
            TOOL("\"state\"", "\"state\":{\"type\":\"string\",\"enum\":[\"on\",\"off\"]}");
    expect(light, "leave the bedroom light on", "{\"state\":\"on\"}");
    expect(light, "有没有 on 的灯", "{\"state\":\"on\"}");
    expect(light, "don't leave the bedroom light on", "{\"state\":\"off\"}");
    expect(export, "export the table users without the header",
           "{\"table\":\"users\",\"header\":false}");
    expect(export, "导出 users，不要表头", "{\"table\":\"users\",\"header\":false}");
}

static void test_what_is_replaced(void **state) {
    (void)state;
    static const char replace[] =
            TOOL("\"text\",\"pattern\",\"replacement\"",
                 TEXT("text", "The text") "," TEXT("pattern", "What is replaced") "," TEXT(
                         "replacement", "What it becomes"));
    static const char wanted[] =
            "{\"text\":\"the cat sat\",\"pattern\":\"cat\",\"replacement\":\"dog\"}";
    expect(replace, "replace 'cat' with 'dog' in 'the cat sat'", wanted);
    expect(replace, "replace cat by dog in 'the cat sat'", wanted);
    expect(replace, "把“猫坐着”里的猫换成狗",
           "{\"text\":\"猫坐着\",\"pattern\":\"猫\",\"replacement\":\"狗\"}");
}

static void test_time_zones(void **state) {
    (void)state;
    expect(current_time, "what time is it in Tokyo", "{\"timezone\":\"Asia/Tokyo\"}");
    expect(current_time, "东京现在几点", "{\"timezone\":\"Asia/Tokyo\"}");
    expect(current_time, "现在东京几点", "{\"timezone\":\"Asia/Tokyo\"}");
    static const char convert[] =
            TOOL("\"source_timezone\",\"time\",\"target_timezone\"",
                 TEXT("source_timezone", "IANA time zone name") "," TEXT("time", "HH:MM") "," TEXT(
                         "target_timezone", "IANA time zone name"));
    expect(convert, "convert 3pm from London to New York",
           "{\"source_timezone\":\"Europe/London\",\"time\":\"15:00\",\"target_timezone\":"
           "\"America/New_York\"}");
    expect(convert, "伦敦下午三点是东京几点",
           "{\"source_timezone\":\"Europe/London\",\"time\":\"15:00\",\"target_timezone\":"
           "\"Asia/Tokyo\"}");
    expect(current_time, "the time in America/Chicago please",
           "{\"timezone\":\"America/Chicago\"}");
}

static void test_currencies(void **state) {
    (void)state;
    expect(currency, "convert 100 dollars to euros",
           "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}");
    expect(currency, "convert 20 pounds to dollars",
           "{\"amount\":20,\"from_currency\":\"GBP\",\"to_currency\":\"USD\"}");
    expect(currency, "5 dollars in yen please",
           "{\"amount\":5,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}");
    expect(currency, "三千五人民币是多少日元",
           "{\"amount\":3500,\"from_currency\":\"CNY\",\"to_currency\":\"JPY\"}");
    expect(currency, "把100美元换成人民币",
           "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"CNY\"}");
}

static void test_paths(void **state) {
    (void)state;
    expect(reader, "读取文件 /tmp/a.txt 的内容", "{\"path\":\"/tmp/a.txt\"}");
    expect(reader, "read the file ~/notes/today.md.", "{\"path\":\"~/notes/today.md\"}");
}

/* A path with characters of any script, with brackets, and in quotes is whole. */
static void test_paths_are_whole(void **state) {
    static const char *const rows[][2] = {
            {"read file \"/home/小明/报告.docx\"", "/home/小明/报告.docx"},
            {"read /tmp/データ.csv", "/tmp/データ.csv"},
            {"read отчёт.txt", "отчёт.txt"},
            {"读取 C:\\数据\\a.txt 的内容", "C:\\\\数据\\\\a.txt"},
            {"read /tmp/a(1).txt", "/tmp/a(1).txt"},
            {"read \"/tmp/my file (1).txt\"", "/tmp/my file (1).txt"},
            {"打开/home/小明/报告.docx文件", "/home/小明/报告.docx"},
            {"读取 /tmp/report报告.docx", "/tmp/report报告.docx"},
            {"读取/tmp/a.txt和/tmp/b.txt", "/tmp/a.txt"},
            {"打开报告2024.docx", "报告2024.docx"},
            {"打开/tmp/a.txt文件", "/tmp/a.txt"},
            {"open the file (see /tmp/a.txt)", "/tmp/a.txt"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[128];
        (void)snprintf(json, sizeof json, "{\"path\":\"%s\"}", rows[i][1]);
        expect(reader, rows[i][0], json);
    }
}

static void test_dates(void **state) {
    (void)state;
    expect(event, "create an event titled \"Retro\" tomorrow",
           "{\"title\":\"Retro\",\"date\":\"2026-11-28\"}");
    expect(event, "create an event called \"Retro\" on April 5th, 2027",
           "{\"title\":\"Retro\",\"date\":\"2027-04-05\"}");
    expect(event, "下周三创建标题为“评审”的活动", "{\"title\":\"评审\",\"date\":\"2026-12-02\"}");
}

static const char rates[] =
        TOOL("\"from\",\"to\"",
             TEXT("from", "Source currency code") "," TEXT("to", "Target currency code"));

/* A code or a sign may stand before the amount; codes are written as the schema wants them. */
static void test_currencies_before_amounts(void **state) {
    static const char *const texts[] = {"convert EUR 20 to USD", "convert € 20 to USD",
                                        "convert eur 20 to usd", "convert 20 eur to usd"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect(currency, texts[i],
               "{\"amount\":20,\"from_currency\":\"EUR\",\"to_currency\":\"USD\"}");
    }
    expect(currency, "convert HK$20 to USD",
           "{\"amount\":20,\"from_currency\":\"HKD\",\"to_currency\":\"USD\"}");
    expect(currency, "convert 5 to yen", "{\"amount\":5,\"to_currency\":\"JPY\"}");
    expect(rates, "what's the exchange rate between usd and eur",
           "{\"from\":\"USD\",\"to\":\"EUR\"}");
    expect(rates, "convert 5 dollars to yen", "{\"from\":\"USD\",\"to\":\"JPY\"}");
}

static const char starter[] =
        TOOL("\"start\"", "\"start\":{\"type\":\"string\",\"format\":"
                          "\"date-time\",\"description\":\"When it starts\"}");
static const char alarm_clock[] = TOOL("\"time\"", TEXT("time", "The time of the alarm, HH:MM"));

/* A clock is what the text says; none is taken from now. */
static void test_clocks(void **state) {
    static const char *const starts[][2] = {{"meeting tomorrow at 7", "2026-11-28T07:00"},
                                            {"Monday at 12", "2026-11-30T12:00"},
                                            {"tomorrow at 1500", "2026-11-28T15:00"},
                                            {"tonight at 8", "2026-11-27T20:00"},
                                            {"at 8 tonight", "2026-11-27T20:00"},
                                            {"7 o'clock tomorrow", "2026-11-28T07:00"},
                                            {"今晚8点", "2026-11-27T20:00"},
                                            {"明天三点二十", "2026-11-28T03:20"}};
    static const char *const clocks[][2] = {{"wake me at 0700", "07:00"},
                                            {"wake me at quarter past seven", "07:15"},
                                            {"wake me at a quarter to eight", "07:45"},
                                            {"wake me at seven thirty", "07:30"},
                                            {"wake me at 19h30", "19:30"},
                                            {"wake me at 17.30", "17:30"},
                                            {"wake me at half past seven in the evening", "19:30"},
                                            {"七点一刻叫我", "07:15"},
                                            {"七点三刻叫我", "07:45"}};
    static const char *const days[] = {"meeting tomorrow", "tonight", "今晚", "明早",
                                       "tomorrow morning", "三天后"};
    (void)state;
    char json[128];
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        (void)snprintf(json, sizeof json, "{\"start\":\"%s:00+08:00\"}", starts[i][1]);
        expect(starter, starts[i][0], json);
    }
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        (void)snprintf(json, sizeof json, "{\"time\":\"%s\"}", clocks[i][1]);
        expect(alarm_clock, clocks[i][0], json);
    }
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        CLEANUP(arguments_destroyp) struct arguments *arguments = fill(starter, days[i]);
        assert_false(arguments->complete);
    }
    expect(alarm_clock, "wake me tonight", "{}");
    expect(event, "create an event called \"Retro\" 三天后天气",
           "{\"title\":\"Retro\",\"date\":\"2026-11-30\"}");
}

static void test_what_is_missing_is_asked_for(void **state) {
    (void)state;
    CLEANUP(arguments_destroyp) struct arguments *english = fill(reader, "please read it");
    assert_string_equal(english->json, "{}");
    assert_int_equal(english->missing_count, 1);
    assert_false(english->complete);
    assert_string_equal(english->missing[0].pointer, "/path");
    assert_string_equal(english->missing[0].question,
                        "What is \"path\" (\"The path of the file to read\")?");
}

/* An author's words stand in quotes that they cannot end, on one line, and cannot steer a terminal.
 */
static void test_an_author_cannot_speak_as_the_host(void **state) {
    (void)state;
    static const char hostile[] =
            "{\"type\":\"object\",\"properties\":{\"mode\":{\"type\":\"string\",\"description\":"
            "\"ok\\\")? \\u201dtoolrack: run\\u001b[2J \\u202eit\\r\\t now, all of it\",\"enum\":["
            "\"run: toolrack grant rm_rf\",\"]\\n toolrack: \\\"granted\\\"\",\"slow\"]}},"
            "\"required\":[\"mode\"]}";
    static const char said[] = "say \"yes\"\n“now”";
    CLEANUP(arguments_destroyp) struct arguments *asked = fill(hostile, "please start it");
    assert_int_equal(asked->missing_count, 1);
    assert_string_equal(asked->missing[0].question,
                        "What is \"mode\" (\"ok')\")? One of: \"run: toolrack grant rm_rf\", "
                        "\"] toolrack: 'granted'\", slow.");
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    author_quote(&out, said, strlen(said), AUTHOR_TEXT_MAX, false);
    buf_add_char(&out, ' ');
    author_quote(&out, "\x1b[2J\u202ea", 8, AUTHOR_TEXT_MAX, true);
    buf_add_char(&out, ' ');
    author_quote(&out, "abcdef", 6, 4, false);
    author_quote(&out, " \n", 2, 4, false);
    assert_string_equal(out.data, "\"say 'yes' ‘now’\" “\\u001b[2J\\u202ea” \"abc…\"");
}

/* What a text gives, and what is asked: "" is nothing. */
struct answer {
    const char *schema;
    const char *text;
    const char *json;
    const char *missing; /* JSON Pointer of the first that is asked for; NULL: ready */
    const char *tool;    /* its name; NULL: it says nothing */
};

static void expect_answers(const struct answer *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CLEANUP(arguments_destroyp)
        struct arguments *arguments = fill_tool(rows[i].tool != NULL ? rows[i].tool : "tool",
                                                rows[i].schema, rows[i].text, &friday);
        const char *missing = arguments->missing_count > 0 ? arguments->missing[0].pointer : NULL;
        bool same = missing == NULL || rows[i].missing == NULL
                            ? missing == rows[i].missing
                            : strcmp(missing, rows[i].missing) == 0;
        if (strcmp(arguments->json, rows[i].json) != 0 || !same) {
            fail_msg("%s: %s without %s instead of %s without %s", rows[i].text, arguments->json,
                     missing, rows[i].json, rows[i].missing);
        }
        assert_int_equal(arguments->complete, missing == NULL);
    }
}

/* A choice that the text does not name is asked for; the default of the schema is none of ours. */
static void test_no_choice_is_guessed(void **state) {
    (void)state;
    static const char deploy[] =
            TOOL("\"environment\"",
                 "\"environment\":{\"type\":\"string\",\"enum\":[\"production\",\"staging\"]}");
    static const char standard[] =
            TOOL("\"environment\",\"copies\"",
                 "\"environment\":{\"type\":\"string\",\"enum\":[\"production\",\"staging\"],"
                 "\"default\":\"staging\"},\"copies\":{\"type\":\"integer\",\"default\":1}");
    static const char only[] =
            TOOL("\"environment\"", "\"environment\":{\"type\":\"string\",\"enum\":[\"staging\"]}");
    static const char optional[] =
            TOOL("", "\"environment\":{\"type\":\"string\",\"enum\":[\"production\",\"staging\"]}");
    static const struct answer rows[] = {
            {deploy, "deploy to sandbox", "{}", "/environment"},
            {deploy, "deploy the service", "{}", "/environment"},
            {deploy, "部署到沙箱", "{}", "/environment"},
            {deploy, "deploy to staging", "{\"environment\":\"staging\"}", NULL},
            {standard, "deploy the service", "{\"environment\":\"staging\",\"copies\":1}", NULL},
            {standard, "deploy 3 copies to production",
             "{\"environment\":\"production\",\"copies\":3}", NULL},
            {only, "deploy the service", "{\"environment\":\"staging\"}", NULL},
            {optional, "deploy to sandbox", "{}", NULL},
    };
    expect_answers(rows, ARRAY_LENGTH(rows));
    CLEANUP(arguments_destroyp) struct arguments *asked = fill(deploy, "deploy to sandbox");
    assert_string_equal(asked->missing[0].question,
                        "What is \"environment\"? One of: production, staging.");
    CLEANUP(arguments_destroyp) struct arguments *assumed = fill(standard, "deploy the service");
    assert_int_equal(assumed->values[0].source, ARGUMENTS_ASSUMED);
    assert_string_equal(assumed->values[0].reason, "the default of the schema");
}

/* The words that name the tool or the parameter are no value, in either language. */
static void test_a_name_is_no_value(void **state) {
    (void)state;
    static const char note[] = TOOL("\"title\"", TEXT("title", "Title of the note"));
    static const char removal[] = TOOL("\"event_id\"", TEXT("event_id", "ID of the event"));
    static const char table[] = TOOL("\"table_name\"", TEXT("table_name", "Name of the table"));
    static const char shell[] = TOOL("\"command\"", TEXT("command", "The command to run"));
    static const struct answer rows[] = {
            {note, "create a note", "{}", "/title", "create_note"},
            {note, "新建一个笔记", "{}", "/title", "create_note"},
            {note, "create a note titled groceries", "{\"title\":\"groceries\"}", NULL,
             "create_note"},
            {removal, "delete event", "{}", "/event_id", "delete_event"},
            {removal, "删除日程", "{}", "/event_id", "delete_event"},
            {removal, "delete event ab12", "{\"event_id\":\"ab12\"}", NULL, "delete_event"},
            {table, "describe the table users", "{\"table_name\":\"users\"}", NULL,
             "describe_table"},
            {shell, "run a command", "{}", "/command", "run_command"},
            {shell, "执行命令", "{}", "/command", "run_command"},
    };
    expect_answers(rows, ARRAY_LENGTH(rows));
}

static const char translation[] = TOOL(
        "\"text\",\"target_language\"",
        TEXT("text", "Text to translate") "," TEXT("target_language", "Language to translate to"));
static const char post[] =
        TOOL("\"to\",\"message\"",
             TEXT("to", "Recipient e-mail address") "," TEXT("message", "The text of the message"));
static const char statement[] = TOOL("\"query\"", TEXT("query", "SELECT SQL query to execute"));
static const char command[] = TOOL("\"command\"", TEXT("command", "The command to run"));
static const char memo[] =
        TOOL("\"title\"",
             TEXT("title",
                  "What to remind of") ","
                                       "\"time\":{\"type\":\"string\",\"format\":\"date-time\"}");
static const char commit[] = TOOL(
        "\"repo_path\",\"message\"",
        TEXT("repo_path", "Path of the repository") "," TEXT("message", "Message of the commit"));

/* Prose is the whole clause but for what other parameters take, with the words before it. */
static void test_prose_is_the_whole_clause(void **state) {
    (void)state;
    static const struct answer rows[] = {
            {translation, "translate see you tomorrow to French",
             "{\"text\":\"see you tomorrow\",\"target_language\":\"French\"}", NULL, "translate"},
            {translation, "翻译 明天见 成法语",
             "{\"text\":\"明天见\",\"target_language\":\"法语\"}", NULL, "translate"},
            {translation, "把“明天见”翻译成法语",
             "{\"text\":\"明天见\",\"target_language\":\"法语\"}", NULL, "translate"},
            {translation, "how do you say good morning in Spanish",
             "{\"text\":\"good morning\",\"target_language\":\"Spanish\"}", NULL, "translate"},
            {post, "send hello world to bob@example.com",
             "{\"to\":\"bob@example.com\",\"message\":\"hello world\"}", NULL, "send_message"},
            {post, "tell bob@example.com I'm running late",
             "{\"to\":\"bob@example.com\",\"message\":\"I'm running late\"}", NULL, "send_message"},
            {post, "给 bob@example.com 发消息说明天见",
             "{\"to\":\"bob@example.com\",\"message\":\"明天见\"}", NULL, "send_message"},
            {statement, "run SELECT name FROM users WHERE age > 30",
             "{\"query\":\"SELECT name FROM users WHERE age > 30\"}", NULL, "read_query"},
            {statement, "查询 select * from users where city = 'Paris'",
             "{\"query\":\"select * from users where city = 'Paris'\"}", NULL, "read_query"},
            {statement, "which users are older than 30", "{}", "/query", "read_query"},
            {command, "run the command ls -la /tmp", "{\"command\":\"ls -la /tmp\"}", NULL,
             "run_command"},
            {command, "执行命令 npm install", "{\"command\":\"npm install\"}", NULL, "run_command"},
            {memo, "remind me tomorrow at 6pm to call mom",
             "{\"title\":\"call mom\",\"time\":\"2026-11-28T18:00:00+08:00\"}", NULL,
             "create_reminder"},
            {memo, "remind me to call mom tomorrow at 6pm",
             "{\"title\":\"call mom\",\"time\":\"2026-11-28T18:00:00+08:00\"}", NULL,
             "create_reminder"},
            {memo, "提醒我明天早上九点开会",
             "{\"title\":\"开会\",\"time\":\"2026-11-28T09:00:00+08:00\"}", NULL,
             "create_reminder"},
            {commit, "commit the changes in /repo with the message fix login bug",
             "{\"repo_path\":\"/repo\",\"message\":\"fix login bug\"}", NULL, "git_commit"},
    };
    expect_answers(rows, ARRAY_LENGTH(rows));
}

/* A day fills both ends of a range that may be left out, and "since" and "until" one of them. */
static void test_a_day_is_a_range(void **state) {
    (void)state;
    static const char list[] =
            TOOL("", "\"time_min\":{\"type\":\"string\",\"format\":\"date-time\"},"
                     "\"time_max\":{\"type\":\"string\",\"format\":\"date-time\"}");
    static const char sales[] = TOOL("", "\"from\":{\"type\":\"string\",\"format\":\"date\"},"
                                         "\"to\":{\"type\":\"string\",\"format\":\"date\"}");
    static const char day[] = "{\"time_min\":\"2026-11-28T00:00:00+08:00\","
                              "\"time_max\":\"2026-11-28T23:59:59+08:00\"}";
    static const struct answer rows[] = {
            {list, "list events tomorrow", day, NULL, "list_events"},
            {list, "列出明天的日程", day, NULL, "list_events"},
            {list, "events from Tuesday to Thursday",
             "{\"time_min\":\"2026-12-01T00:00:00+08:00\",\"time_max\":\"2026-12-03T23:59:59+08:"
             "00\"}",
             NULL, "list_events"},
            {list, "下周三之后的日程", "{\"time_min\":\"2026-12-02T00:00:00+08:00\"}", NULL,
             "list_events"},
            {list, "what is planned for next week",
             "{\"time_min\":\"2026-11-30T00:00:00+08:00\",\"time_max\":\"2026-12-06T23:59:59+08:"
             "00\"}",
             NULL, "list_events"},
            {sales, "report for yesterday", "{\"from\":\"2026-11-26\",\"to\":\"2026-11-26\"}", NULL,
             "report"},
            {sales, "report since Monday", "{\"from\":\"2026-11-23\"}", NULL, "report"},
            {sales, "report until Thursday", "{\"to\":\"2026-12-03\"}", NULL, "report"},
    };
    expect_answers(rows, ARRAY_LENGTH(rows));
}

/* One value where the text names two is asked about: half of what is wanted is not done silently.
 */
static void test_one_of_two_is_asked_about(void **state) {
    (void)state;
    static const char light[] = TOOL("\"room\"", TEXT("room", "Room of the light"));
    static const char *const rows[][4] = {
            {light, "turn on the light in the kitchen and the hallway", "/room",
             "the text also names \"hallway\", and this takes one"},
            {light, "打开厨房和走廊的灯", "/room", "原文还提到“厨房”，这里只能有一个"},
            {reader, "read /tmp/a.txt and /tmp/b.txt", "/path",
             "the text also names \"/tmp/b.txt\", and this takes one"},
            {post, "send hello to ann@x.org and bob@x.org", "/to",
             "the text also names \"bob@x.org\", and this takes one"},
            {light, "turn on the light in the kitchen", NULL, NULL},
            {reader, "read /tmp/a.txt", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(arguments_destroyp) struct arguments *arguments = fill(rows[i][0], rows[i][1]);
        assert_int_equal(arguments->complete, rows[i][2] == NULL);
        assert_int_equal(arguments->invalid_count, rows[i][2] != NULL);
        if (rows[i][2] != NULL) {
            assert_string_equal(arguments->invalid[0].pointer, rows[i][2]);
            assert_string_equal(arguments->invalid[0].reason, rows[i][3]);
        }
    }
}

static void test_what_the_schema_refuses_is_named(void **state) {
    (void)state;
    static const char audit[] =
            TOOL("\"email\"", "\"email\":{\"type\":\"string\",\"description\":\"The email "
                              "address\",\"pattern\":\"^[^@]+@[^@]+[.][a-z]+$\"}");
    CLEANUP(arguments_destroyp)
    struct arguments *arguments = fill(audit, "audit the email myemail@com");
    assert_int_equal(arguments->invalid_count, 1);
    assert_string_equal(arguments->invalid[0].pointer, "/email");
    assert_string_equal(arguments->invalid[0].json, "\"myemail@com\"");
    CLEANUP(arguments_destroyp)
    struct arguments *chinese = fill(audit, "检查邮箱 myemail@com");
    assert_int_equal(chinese->invalid_count, 1);
    assert_string_equal(chinese->invalid[0].question,
                        "“email”不能是 \"myemail@com\"。应该是什么？");
}

static void test_each_value_has_its_span(void **state) {
    (void)state;
    const char *text = "read the file /tmp/a.txt";
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(reader, text);
    assert_int_equal(arguments->value_count, 1);
    assert_int_equal(arguments->values[0].span_count, 1);
    assert_int_equal(arguments->values[0].spans[0].start, 14);
    assert_int_equal(arguments->values[0].spans[0].end, strlen(text));
}

static void test_context(void **state) {
    (void)state;
    const char *text = "{\"now\": \"2026-11-27T10:00:00+08:00\", \"locale\": \"zh-CN\"}";
    yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NOFLAG);
    struct arguments_context context;
    assert_int_equal(arguments_context_read(yyjson_doc_get_root(doc), &context, NULL), 0);
    assert_true(context.has_now);
    assert_true(context.now_ms == friday.now_ms);
    assert_int_equal(context.offset_minutes, 480);
    assert_string_equal(context.locale, "zh-CN");
    yyjson_doc_free(doc);
}

static void test_a_wrong_context_is_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
            {"[]", "must be an object"},
            {"{\"now\": \"yesterday\"}", "now in the context must be milliseconds"},
            {"{\"timezone\": \"UTC\"}", "has a member \"timezone\"; it may have now, time_zone,"},
            {"{\"time_zone\": 8}", "time_zone in the context must be the IANA name"},
            {"{\"locale\": \"english please\"}", "locale in the context must be a language"},
            {"{\"folder\": \"docs\"}", "folder in the context must be an absolute path"},
            {"{\"results\": 42}", "results in the context must be an array"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct arguments_context context;
        struct toolrack_error err;
        yyjson_doc *doc = yyjson_read(wrong[i][0], strlen(wrong[i][0]), YYJSON_READ_NOFLAG);
        assert_int_equal(arguments_context_read(yyjson_doc_get_root(doc), &context, &err),
                         TOOLRACK_E_INVALID);
        assert_non_null(strstr(err.message, wrong[i][1]));
        yyjson_doc_free(doc);
    }
}

static const char mail[] = TOOL(
        "\"to\",\"body\"",
        TEXT("to", "E-mail address of the recipient") "," TEXT("body", "The text of the message"));
static const char tagger[] = TOOL(
        "\"items\"",
        "\"items\":{\"type\":\"array\",\"items\":" TOOL(
                "\"tags\"", "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}") "}");

static void test_earlier_results_are_used(void **state) {
    (void)state;
    static const char download[] = "{\"results\": [{\"total\": 7}, {\"saved\": {\"path\": "
                                   "\"/tmp/a.zip\", \"bytes\": 12}}]}";
    expect_in(download, reader, "read that file", "{\"path\":\"/tmp/a.zip\"}",
              ARGUMENTS_FROM_RESULT, "/1/saved/path");
    expect_in(download, reader, "读取刚才的文件", "{\"path\":\"/tmp/a.zip\"}",
              ARGUMENTS_FROM_RESULT, "/1/saved/path");
    /* A required parameter with the name of a member of the last result needs no word for it. */
    expect_in(download, reader, "please read", "{\"path\":\"/tmp/a.zip\"}", ARGUMENTS_FROM_RESULT,
              "/1/saved/path");
    expect_in("{\"results\": {\"sum\": 42}}", adder, "add 5 to the result", "{\"a\":5,\"b\":42}",
              ARGUMENTS_FROM_RESULT, "/sum");
    expect_in("{\"results\": {\"sum\": 42}}", adder, "把结果加上5", "{\"a\":5,\"b\":42}",
              ARGUMENTS_FROM_RESULT, "/sum");
    expect_in("{\"results\": [{\"result\": \"All is well\", \"lines\": [\"a\"]}]}", mail,
              "send the result to bob@example.com",
              "{\"to\":\"bob@example.com\",\"body\":\"All is well\"}", ARGUMENTS_FROM_RESULT,
              "/0/result");
    expect_in("{\"results\": [{\"tags\": [\"x\"]}]}", tagger, "it",
              "{\"items\":[{\"tags\":[\"x\"]}]}", ARGUMENTS_FROM_RESULT, "/0/tags");
    /* What the text says itself goes before, and two numbers are no answer to "it". */
    expect_in(download, reader, "read /etc/hosts", "{\"path\":\"/etc/hosts\"}", ARGUMENTS_FROM_TEXT,
              NULL);
    expect_in("{\"results\": [{\"x\": 1, \"y\": 2}]}", adder, "add 5 to it", "{\"a\":5}",
              ARGUMENTS_FROM_TEXT, NULL);
}

static void test_the_working_folder_is_used(void **state) {
    (void)state;
    static const char absolute[] = TOOL("\"path\"", TEXT("path", "The absolute path of the file"));
    static const char lister[] = TOOL("\"path\"", TEXT("path", "The path of the folder to list"));
    static const char home[] = "{\"folder\": \"/home/ann/work\"}";
    expect_in(home, lister, "list the files in this folder", "{\"path\":\"/home/ann/work\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in(home, lister, "列出当前目录的文件", "{\"path\":\"/home/ann/work\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in("{}", lister, "list the files in the current directory", "{\"path\":\".\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in(home, reader, "read docs/a.md", "{\"path\":\"docs/a.md\"}", ARGUMENTS_FROM_TEXT,
              NULL);
    /* A folder is no file; a file "here" is one in it. */
    expect_in(home, reader, "read the file here", "{}", ARGUMENTS_FROM_TEXT, NULL);
    expect_in(home, reader, "read a.md here", "{\"path\":\"/home/ann/work/a.md\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in(home, reader, "读取当前目录的a.md", "{\"path\":\"/home/ann/work/a.md\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in(home, absolute, "read ../docs/a.md", "{\"path\":\"/home/ann/docs/a.md\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in(home, absolute, "读取 ./a.md", "{\"path\":\"/home/ann/work/a.md\"}",
              ARGUMENTS_FROM_FOLDER, NULL);
    expect_in(home, absolute, "read ~/a.md", "{\"path\":\"~/a.md\"}", ARGUMENTS_FROM_TEXT, NULL);
}

static void test_what_is_usual_where_the_user_is(void **state) {
    (void)state;
    static const char date[] = TOOL("\"date\"", TEXT("date", "The day, YYYY-MM-DD"));
    static const char price[] = TOOL("\"price\"", "\"price\":{\"type\":\"number\"}");
    static const char degrees[] = TOOL(
            "\"unit\"", "\"unit\":{\"type\":\"string\",\"enum\":[\"celsius\",\"fahrenheit\"]}");
    expect_in("{\"locale\": \"en-GB\"}", date, "on 03/04/2026", "{\"date\":\"2026-04-03\"}",
              ARGUMENTS_FROM_TEXT, NULL);
    expect_in("{\"locale\": \"en-US\"}", date, "on 03/04/2026", "{\"date\":\"2026-03-04\"}",
              ARGUMENTS_FROM_TEXT, NULL);
    expect_in("{}", date, "on 23.4.2026", "{\"date\":\"2026-04-23\"}", ARGUMENTS_FROM_TEXT, NULL);
    expect_in("{\"locale\": \"de_DE.UTF-8\"}", price, "the price is 1.234,5", "{\"price\":1234.5}",
              ARGUMENTS_FROM_TEXT, NULL);
    expect_in("{\"locale\": \"fr\"}", price, "the price is 3,50", "{\"price\":3.5}",
              ARGUMENTS_FROM_TEXT, NULL);
    expect_in("{\"locale\": \"en-GB\"}", price, "the price is 1,234.5", "{\"price\":1234.5}",
              ARGUMENTS_FROM_TEXT, NULL);
    expect_in("{\"locale\": \"en-US\"}", degrees, "how warm is it", "{\"unit\":\"fahrenheit\"}",
              ARGUMENTS_FROM_LOCALE, NULL);
    expect_in("{\"locale\": \"zh-CN\"}", degrees, "多热", "{\"unit\":\"celsius\"}",
              ARGUMENTS_FROM_LOCALE, NULL);
    expect_in("{\"locale\": \"en-GB\"}", currency, "convert 100 dollars to my currency",
              "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"GBP\"}",
              ARGUMENTS_FROM_LOCALE, NULL);
    expect_in("{\"locale\": \"zh-CN\"}", currency, "把100美元换成本国货币",
              "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"CNY\"}",
              ARGUMENTS_FROM_LOCALE, NULL);
    expect_in("{\"time_zone\": \"Asia/Shanghai\"}", current_time, "what time is it",
              "{\"timezone\":\"Asia/Shanghai\"}", ARGUMENTS_FROM_ZONE, NULL);
    expect_in("{\"time_zone\": \"Asia/Shanghai\"}", current_time, "what time is it in Tokyo",
              "{\"timezone\":\"Asia/Tokyo\"}", ARGUMENTS_FROM_TEXT, NULL);
}

static const char order[] =
        TOOL("\"items\"",
             "\"items\":{\"type\":\"array\",\"items\":" TOOL(
                     "\"name\",\"price\"",
                     TEXT("name", "Name of the item") ","
                                                      "\"price\":{\"type\":\"number\","
                                                      "\"description\":\"Price in dollars\"}") "}");
static const char basket[] = TOOL(
        "\"items\"", "\"items\":{\"type\":\"array\",\"items\":" TOOL(
                             "\"name\",\"quantity\"",
                             TEXT("name", "Name of the item") ","
                                                              "\"quantity\":{\"type\":\"integer\","
                                                              "\"description\":\"How many\"}") "}");

static void test_a_list_of_groups_is_an_array_of_objects(void **state) {
    (void)state;
    expect(order, "订购苹果3元、梨4元",
           "{\"items\":[{\"name\":\"苹果\",\"price\":3},"
           "{\"name\":\"梨\",\"price\":4}]}");
    expect(order, "add two items: apples at 3 dollars and pears at 4",
           "{\"items\":[{\"name\":\"apples\",\"price\":3},{\"name\":\"pears\",\"price\":4}]}");
    expect(order, "order apples for 3 dollars", "{\"items\":[{\"name\":\"apples\",\"price\":3}]}");
    expect(basket, "add 3 apples, 2 pears and 5 plums",
           "{\"items\":[{\"name\":\"apples\",\"quantity\":3},{\"name\":\"pears\",\"quantity\":2},"
           "{\"name\":\"plums\",\"quantity\":5}]}");
    expect(basket, "添加3个苹果和2个梨",
           "{\"items\":[{\"name\":\"苹果\",\"quantity\":3},{\"name\":\"梨\",\"quantity\":2}]}");
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(basket, "add 3 apples, 2 pears");
    assert_int_equal(arguments->value_count, 4);
    assert_string_equal(arguments->values[3].pointer, "/items/1/quantity");
    assert_string_equal(arguments->values[3].json, "2");
    assert_int_equal(arguments->values[3].spans[0].start, 14);
}

struct local_time {
    const char *zone;
    int64_t now_ms;
    int minutes;
};

/* Before, in and after summer time, in both halves of the year, and beyond what a file lists. */
static void test_the_offset_is_of_the_time_zone(void **state) {
    (void)state;
    static const struct local_time cases[] = {
            {"UTC", INT64_C(1795744800000), 0},
            {"Asia/Shanghai", INT64_C(1795744800000), 480},
            {"Asia/Kolkata", INT64_C(1795744800000), 330},
            {"America/New_York", INT64_C(1795744800000), -300}, /* 27 November 2026 */
            {"America/New_York", INT64_C(1783000000000), -240}, /* 2 July 2026 */
            {"Europe/London", INT64_C(1774745999000), 0},       /* the second before it */
            {"Europe/London", INT64_C(1774746000000), 60},      /* 29 March 2026, 01:00 */
            {"Europe/Dublin", INT64_C(2540000000000), 60},      /* 28 June 2050 */
            {"Australia/Sydney", INT64_C(2525000000000), 660},  /* 5 January 2050 */
            {"Australia/Sydney", INT64_C(2540000000000), 600},
    };
    if (access("/usr/share/zoneinfo/Asia/Shanghai", R_OK) != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arguments_context context = {.time_zone = cases[i].zone};
        assert_int_equal(arguments_context_set_now(&context, cases[i].now_ms, NULL), 0);
        assert_true(context.has_now && context.now_ms == cases[i].now_ms);
        assert_int_equal(context.offset_minutes, cases[i].minutes);
    }
}

static void test_a_time_zone_that_is_not_known_is_refused(void **state) {
    (void)state;
    static const char *const zones[] = {"Mars/Base",      "",     "../../../etc/passwd",
                                        "/etc/passwd",    "Asia", "tzdata.zi",
                                        "Asia/Shanghai\n"};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct arguments_context context = {.time_zone = zones[i]};
        struct toolrack_error err;
        assert_int_equal(arguments_context_set_now(&context, 0, &err), TOOLRACK_E_INVALID);
        assert_false(context.has_now);
    }
}

/* A megabyte of one kind of text is read as fast as its first VALUES_TEXT_MAX bytes. */
static struct arguments_fit fit_of(const char *schema, const char *text) {
    CLEANUP(values_destroyp) struct values *values = NULL;
    yyjson_doc *doc = yyjson_read(schema, strlen(schema), YYJSON_READ_NOFLAG);
    struct arguments_tool tool = {.name = "tool", .parameters = yyjson_doc_get_root(doc)};
    struct arguments_fit fit;
    assert_int_equal(values_read(text, strlen(text), NULL, &values, NULL), 0);
    assert_int_equal(arguments_fit(values, &tool, &fit, NULL), 0);
    yyjson_doc_free(doc);
    return fit;
}

static void a_place_speaks_for_a_tool_that_wants_coordinates(void **state) {
    (void)state;
    static const char schema[] =
            TOOL("\"latitude\",\"lng\"",
                 "\"latitude\":{\"type\":\"number\"},\"lng\":{\"type\":\"number\"}");
    struct arguments_fit fit = fit_of(schema, "what is the weather in Paris?");
    assert_int_equal(fit.found, 2);
    assert_int_equal(fit.left, 0);
    assert_true(fit.fit > 0.99);
    fit = fit_of(schema, "what is the weather?");
    assert_int_equal(fit.found, 0);
    assert_true(fit.fit < 0.01);
    /* It is none of them: the two are asked for. */
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(schema, "the weather in Paris");
    assert_string_equal(arguments->json, "{}");
    assert_int_equal(arguments->missing_count, 2);
}

/* No order of the text, and no word around, says so. */
static void a_name_and_a_sign_say_whose_a_value_is(void **state) {
    (void)state;
    expect(adder, "add b=2 and a=40", "{\"a\":40,\"b\":2}");
    expect(adder, "add b: 2, a: 40", "{\"a\":40,\"b\":2}");
}

static void a_direction_says_which_coordinate(void **state) {
    (void)state;
    static const char quakes[] =
            TOOL("\"latitude\",\"longitude\"",
                 "\"latitude\":{\"type\":\"number\"},\"longitude\":{\"type\":\"number\"},"
                 "\"min_magnitude\":{\"type\":\"number\"}");
    expect(quakes, "earthquakes at 35.6895° N, 139.6917° E",
           "{\"latitude\":35.6895,\"longitude\":139.6917}");
    expect(quakes, "earthquakes at 119.5383 W, 37.8651 N",
           "{\"latitude\":37.8651,\"longitude\":-119.5383}");
}

static void one_of_a_thing_is_no_value_that_is_left(void **state) {
    (void)state;
    static const char schema[] = TOOL("", "\"quiet\":{\"type\":\"boolean\"}");
    assert_int_equal(fit_of(schema, "我需要一台洗衣机").left, 0);
    assert_int_equal(fit_of(schema, "帮我找一个好用的工具").left, 0);
    assert_int_equal(fit_of(schema, "我需要三台洗衣机").left, 1);
}

static void test_hostile_texts_are_bounded(void **state) {
    (void)state;
    static const char *const units[] = {"(",  "[{",  "\"",      "1/",        "a@",  "A ",
                                        "三", "1, ", "http://", "((a|b)*)+", "\xff"};
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (size_t k = 0; k < SIZE; k++) {
            text[k] = units[i][k % strlen(units[i])];
        }
        CLEANUP(values_destroyp) struct values *values = NULL;
        assert_int_equal(values_read(text, SIZE, NULL, &values, NULL), 0);
    }
    free(text);
}

/* What only the schema as a whole says is checked too: arguments that a call refuses are not
 * complete. */
static void test_the_whole_is_valid(void **state) {
    (void)state;
    static const struct {
        const char *schema;
        const char *missing; /* or NULL */
        const char *invalid; /* or NULL */
    } rows[] = {
            {TOOL("\"level\",\"other\"", "\"level\":{\"type\":\"integer\"}"), "/other", NULL},
            {"{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\"}},"
             "\"required\":[\"level\"],\"dependentRequired\":{\"level\":[\"unit\"]}}",
             "/unit", NULL},
            {"{\"type\":\"object\",\"properties\":{\"level\":{\"$ref\":\"#/$defs/n\"}},"
             "\"required\":[\"level\"],\"$defs\":{\"n\":{\"type\":\"integer\",\"maximum\":3}}}",
             NULL, "/level"},
            {"{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\"}},"
             "\"required\":[\"level\"],\"not\":{\"required\":[\"level\"]}}",
             NULL, ""},
            {TOOL("\"level\"", "\"level\":{\"type\":\"integer\"}"), NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(arguments_destroyp)
        struct arguments *arguments = fill(rows[i].schema, "set the level to 7");
        bool is_good = rows[i].missing == NULL && rows[i].invalid == NULL;
        assert_int_equal(arguments->complete, is_good);
        assert_int_equal(arguments->missing_count, rows[i].missing != NULL);
        assert_int_equal(arguments->invalid_count, rows[i].invalid != NULL);
        if (rows[i].missing != NULL) {
            assert_string_equal(arguments->missing[0].pointer, rows[i].missing);
        }
        if (rows[i].invalid != NULL) {
            assert_string_equal(arguments->invalid[0].pointer, rows[i].invalid);
        }
    }
}

/* A truth that the text states outright, whatever its default. */
static void test_truths_that_are_stated(void **state) {
    (void)state;
    static const char on[] =
            TOOL("\"on\"", "\"on\":{\"type\":\"boolean\",\"description\":\"on or off\"}");
    static const char light[] =
            TOOL("", "\"on\":{\"type\":\"boolean\",\"default\":true,\"description\":"
                     "\"Whether the light is on or off\"}");
    static const char wifi[] =
            TOOL("\"enabled\"", "\"enabled\":{\"type\":\"boolean\",\"description\":\"Whether the "
                                "network is enabled\"}");
    static const char files[] =
            TOOL("", "\"recursive\":{\"type\":\"boolean\",\"default\":true,\"description\":\"Also "
                     "look into subfolders\"},\"keep_originals\":{\"type\":\"boolean\","
                     "\"default\":true,\"description\":\"Keep the files as they were\"}");
    static const struct {
        const char *schema;
        const char *text;
        const char *json;
    } rows[] = {
            {on, "switch the heater off", "{\"on\":false}"},
            {on, "switch the heater on", "{\"on\":true}"},
            {on, "turn on the heater on Friday", "{\"on\":true}"},
            {on, "on=false", "{\"on\":false}"},
            {on, "打开暖气", "{\"on\":true}"},
            {light, "turn off the light in the kitchen", "{\"on\":false}"},
            {light, "把卧室的灯关掉", "{\"on\":false}"},
            {light, "关灯", "{\"on\":false}"},
            {wifi, "disable the wifi", "{\"enabled\":false}"},
            {wifi, "enable the wifi", "{\"enabled\":true}"},
            {wifi, "关闭无线网络", "{\"enabled\":false}"},
            {wifi, "set enabled of the wifi to false", "{\"enabled\":false}"},
            {wifi, "wifi enabled=false", "{\"enabled\":false}"},
            {files, "list the files, recursive false", "{\"recursive\":false}"},
            {files, "copy them, keep_originals: false", "{\"keep_originals\":false}"},
            {files, "list the files without subfolders", "{\"recursive\":false}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        expect(rows[i].schema, rows[i].text, rows[i].json);
    }
}

struct filling {
    const char *schema;
    const char *text;
    const char *json;
};

static void expect_all(const struct filling *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect(rows[i].schema, rows[i].text, rows[i].json);
    }
}

/* The day and the half of the day that one clock of a range has are those of the other. */
static void a_range_of_clocks_has_one_day(void **state) {
    static const char meeting[] =
            TOOL("\"title\",\"start\"",
                 TEXT("title", "Title") ","
                                        "\"start\":{\"type\":\"string\",\"format\":\"date-time\","
                                        "\"description\":\"Start time\"},"
                                        "\"end\":{\"type\":\"string\",\"format\":\"date-time\","
                                        "\"description\":\"End time\"}");
#define MEETING(title, start, end) \
    "{\"title\":\"" title "\",\"start\":\"" start ":00+08:00\",\"end\":\"" end ":00+08:00\"}"
    static const struct filling rows[] = {
            {meeting, "schedule a sync next Tuesday from 3pm to 4pm",
             MEETING("sync", "2026-12-01T15:00", "2026-12-01T16:00")},
            {meeting, "schedule a sync next Tuesday from 2 to 3pm",
             MEETING("sync", "2026-12-01T14:00", "2026-12-01T15:00")},
            {meeting, "schedule a sync from 3pm to 4pm on Monday",
             MEETING("sync", "2026-11-30T15:00", "2026-11-30T16:00")},
            {meeting, "schedule a party on Monday from 10pm to 2am",
             MEETING("party", "2026-11-30T22:00", "2026-12-01T02:00")},
            {meeting, "下周二上午十点到十一点安排周会",
             MEETING("周会", "2026-12-01T10:00", "2026-12-01T11:00")},
            {meeting, "下周二下午两点到三点安排周会",
             MEETING("周会", "2026-12-01T14:00", "2026-12-01T15:00")},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static void a_language_is_named_by_its_word(void **state) {
    static const char translate[] = TOOL(
            "\"text\",\"target_language\"",
            "\"text\":{\"type\":\"string\"},\"target_language\":{\"type\":\"string\",\"enum\":["
            "\"en\",\"zh\",\"fr\",\"ja\",\"it\"]},\"source_language\":{\"type\":\"string\","
            "\"enum\":[\"en\",\"zh\",\"fr\",\"ja\",\"it\"]}");
    static const struct filling rows[] = {
            {translate, "translate \"good night\" into Japanese",
             "{\"text\":\"good night\",\"target_language\":\"ja\"}"},
            {translate, "把“明天见”翻译成法语", "{\"text\":\"明天见\",\"target_language\":\"fr\"}"},
            {translate, "translate \"bonjour\" from French to English",
             "{\"text\":\"bonjour\",\"target_language\":\"en\",\"source_language\":\"fr\"}"},
            {translate, "translate it to fr: \"good morning\"",
             "{\"text\":\"good morning\",\"target_language\":\"fr\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static const char shopping_list[] =
        TOOL("\"items\"", "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                          "\"description\":\"what to add or remove\"}");

/* "on" and "off" behind a verb, or before where something is, are no state and no part of it. */
static void on_and_off_are_no_values(void **state) {
    static const char turn_off[] =
            TOOL("\"name\"", TEXT("name", "name of the device, such as kitchen light"));
    (void)state;
    expect(turn_off, "turn the light off", "{\"name\":\"light\"}");
    CLEANUP(arguments_destroyp)
    struct arguments *put = fill_tool("shopping_list_add", shopping_list,
                                      "put cheese on the shopping list", &friday);
    assert_string_equal(put->json, "{\"items\":[\"cheese\"]}");
    CLEANUP(arguments_destroyp)
    struct arguments *taken = fill_tool("shopping_list_remove", shopping_list,
                                        "take butter off the shopping list", &friday);
    assert_string_equal(taken->json, "{\"items\":[\"butter\"]}");
}

static void a_statement_may_stand_behind_a_colon(void **state) {
    static const char query[] = TOOL("\"query\"", TEXT("query", "SELECT SQL query to execute"));
    (void)state;
    expect(query, "execute this sql: select name from users where id = 3",
           "{\"query\":\"select name from users where id = 3\"}");
}

static void a_secret_is_whole(void **state) {
    static const char login[] =
            TOOL("\"user\",\"password\"", "\"user\":{\"type\":\"string\",\"format\":\"email\"},"
                                          "\"password\":{\"type\":\"string\",\"writeOnly\":true}");
    static const struct filling rows[] = {
            {login, "log in as anna@example.com with password hunter2!X",
             "{\"user\":\"anna@example.com\",\"password\":\"hunter2!X\"}"},
            {login, "log in as anna@example.com with the password hunter2.",
             "{\"user\":\"anna@example.com\",\"password\":\"hunter2\"}"},
            {login, "log in as anna@example.com, the password is p@ss:w0rd/1",
             "{\"user\":\"anna@example.com\",\"password\":\"p@ss:w0rd/1\"}"},
            {login, "登录邮箱 anna@example.com，密码是 a1b2c3!@#",
             "{\"user\":\"anna@example.com\",\"password\":\"a1b2c3!@#\"}"},
            {login, "密码 hunter2! 登录 anna@example.com",
             "{\"user\":\"anna@example.com\",\"password\":\"hunter2!\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

/* The words that mark an object, say where it is put, or where it is, are no part of it. */
static void a_chinese_object_is_cut_whole(void **state) {
    static const struct {
        const char *tool;
        const char *text;
        const char *json;
    } rows[] = {
            {"shopping_list_add", "把牛奶、鸡蛋和面包加到购物清单",
             "{\"items\":[\"牛奶\",\"鸡蛋\",\"面包\"]}"},
            {"shopping_list_add", "购物清单加上苹果和香蕉", "{\"items\":[\"苹果\",\"香蕉\"]}"},
            {"shopping_list_add", "加牛奶到购物清单", "{\"items\":[\"牛奶\"]}"},
            {"shopping_list_add", "请将苹果添加到购物清单中", "{\"items\":[\"苹果\"]}"},
            {"shopping_list_add", "买牛奶和鸡蛋，加到购物清单", "{\"items\":[\"牛奶\",\"鸡蛋\"]}"},
            {"shopping_list_remove", "从购物清单里去掉酱油", "{\"items\":[\"酱油\"]}"},
            {"shopping_list_remove", "删除购物清单里的牛奶", "{\"items\":[\"牛奶\"]}"},
            {"shopping_list_remove", "帮我把酱油从购物清单删掉", "{\"items\":[\"酱油\"]}"},
            {"shopping_list_remove", "购物清单里删掉牛奶和鸡蛋", "{\"items\":[\"牛奶\",\"鸡蛋\"]}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(arguments_destroyp)
        struct arguments *arguments = fill_tool(rows[i].tool, shopping_list, rows[i].text, &friday);
        assert_string_equal(arguments->json, rows[i].json);
    }
}

/* A character that is a verb, or another small word, alone is none inside a word: 空调, 开会. */
static void a_word_is_not_torn_by_a_small_one(void **state) {
    static const char turn_on[] =
            TOOL("\"name\"", TEXT("name", "name of the device, such as kitchen light"));
    static const char checkout[] = TOOL("\"repo_path\",\"branch_name\"",
                                        TEXT("repo_path", "path of the repository") "," TEXT(
                                                "branch_name", "branch to switch to"));
    static const struct filling rows[] = {
            {turn_on, "打开空调", "{\"name\":\"空调\"}"},
            {checkout, "在 /srv/app 切换到 develop",
             "{\"repo_path\":\"/srv/app\",\"branch_name\":\"develop\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static void a_moment_is_a_day_and_a_time(void **state) {
    static const char table[] =
            TOOL("\"restaurant\",\"date\"",
                 TEXT("restaurant", "The restaurant") "," TEXT("date", "Date, YYYY-MM-DD") "," TEXT(
                         "time", "Time, HH:MM"));
    static const struct filling rows[] = {
            {table, "book a table at Rosso tomorrow at 7pm",
             "{\"restaurant\":\"Rosso\",\"date\":\"2026-11-28\",\"time\":\"19:00\"}"},
            {table, "book a table at Rosso tomorrow",
             "{\"restaurant\":\"Rosso\",\"date\":\"2026-11-28\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static void a_pattern_of_files_is_one_value(void **state) {
    static const char one[] =
            TOOL("\"pattern\"", TEXT("pattern", "Glob pattern") "," TEXT("path", "The folder"));
    static const char many[] =
            TOOL("\"patterns\"", "\"patterns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                                 "\"description\":\"Glob patterns\"}," TEXT("path", "The folder"));
    static const struct filling rows[] = {
            {one, "find files matching *.py in /srv", "{\"pattern\":\"*.py\",\"path\":\"/srv\"}"},
            {many, "find files matching *.py and *.md in /srv",
             "{\"patterns\":[\"*.py\",\"*.md\"],\"path\":\"/srv\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
    CLEANUP(arguments_destroyp)
    struct arguments *arguments = fill(one, "find files matching *.py and *.md in /srv");
    assert_false(arguments->complete);
    assert_int_equal(arguments->invalid_count, 1);
}

/* The name of a parameter beside a value, before it or in Chinese behind it. */
static void a_value_is_of_the_parameter_beside_it(void **state) {
    static const char checkout[] = TOOL("\"repo_path\",\"branch_name\"",
                                        TEXT("repo_path", "Path of the repository") "," TEXT(
                                                "branch_name", "Branch to switch to"));
    static const char create[] =
            TOOL("\"repo\",\"branch\"",
                 TEXT("repo", "Repository, owner/repo") "," TEXT("branch", "Name of the branch"));
    static const char table[] = TOOL("\"table_name\"", TEXT("table_name", "Name of the table"));
#define CHECKOUT(path, branch) "{\"repo_path\":\"" path "\",\"branch_name\":\"" branch "\"}"
    static const struct filling rows[] = {
            {checkout, "switch to the branch feature/login in /repo",
             CHECKOUT("/repo", "feature/login")},
            {checkout, "checkout branch feature/x of /repo", CHECKOUT("/repo", "feature/x")},
            {checkout, "切换到 /repo 的 dev 分支", CHECKOUT("/repo", "dev")},
            {checkout, "把 /repo 切换到 develop 分支", CHECKOUT("/repo", "develop")},
            {create, "create the branch feature/login in octocat/hello",
             "{\"repo\":\"octocat/hello\",\"branch\":\"feature/login\"}"},
            {table, "查看 orders 表的结构", "{\"table_name\":\"orders\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static void where_and_of_whom_is_not_what(void **state) {
    static const char search[] = TOOL("\"query\"", TEXT("query", "What to search for"));
    static const char song[] =
            TOOL("\"song\"", TEXT("song", "Name of the song") "," TEXT("artist", "The artist"));
    static const struct filling rows[] = {
            {search, "在记忆中搜索 张三", "{\"query\":\"张三\"}"},
            {search, "在知识图谱里搜索张三", "{\"query\":\"张三\"}"},
            {song, "播放周杰伦的七里香", "{\"song\":\"七里香\",\"artist\":\"周杰伦\"}"},
            {song, "play Yesterday by the Beatles",
             "{\"song\":\"Yesterday\",\"artist\":\"Beatles\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static void what_is_noted_is_not_that_it_is_noted(void **state) {
    static const char note[] = TOOL("\"content\"", TEXT("content", "Content of the note"));
    static const struct filling rows[] = {
            {note, "note down that the meeting is moved", "{\"content\":\"the meeting is moved\"}"},
            {note, "write down that Bob owes me 5 dollars",
             "{\"content\":\"Bob owes me 5 dollars\"}"},
            {note, "记一下明天要交房租", "{\"content\":\"明天要交房租\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

static void what_is_called_the_host_is_it(void **state) {
    static const char host[] = TOOL("\"host\"", TEXT("host", "The host to look up"));
    static const struct filling rows[] = {
            {host, "the host is http://example.ca", "{\"host\":\"http://example.ca\"}"},
            {host, "use 'http://example.ca' as the host", "{\"host\":\"http://example.ca\"}"},
            {host, "ping https://example.com/a/b", "{\"host\":\"example.com\"}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

#define ADDRESSES(name, description)                                                         \
    "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"format\":\"email\"}," \
    "\"description\":\"" description "\"}"

static void the_name_of_another_parameter_is_no_value(void **state) {
    static const char email[] =
            TOOL("\"to\",\"subject\",\"body\"",
                 ADDRESSES("to", "addresses of the recipients") "," TEXT(
                         "subject", "subject line") "," TEXT("body", "text of the message"));
    static const struct filling rows[] = {
            {email, "send an email to 'a@example.com' and 'b@example.com' with the subject Lunch",
             "{\"to\":[\"a@example.com\",\"b@example.com\"],\"subject\":\"Lunch\"}"},
            {email, "send an email to a@example.com with the subject Lunch",
             "{\"to\":[\"a@example.com\"],\"subject\":\"Lunch\"}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(arguments_destroyp)
        struct arguments *arguments =
                fill_tool("send_email", rows[i].schema, rows[i].text, &friday);
        assert_string_equal(arguments->json, rows[i].json);
        assert_int_equal(arguments->missing_count, 1);
    }
}

static void lines_are_of_the_end_that_is_named(void **state) {
    static const char lines[] =
            TOOL("\"path\"", TEXT("path", "path of the file") ","
                                                              "\"head\":{\"type\":\"integer\","
                                                              "\"description\":\"return only the "
                                                              "first N lines\",\"minimum\":1},"
                                                              "\"tail\":{\"type\":\"integer\","
                                                              "\"description\":\"return only the "
                                                              "last N lines\",\"minimum\":1}");
    static const struct filling rows[] = {
            {lines, "显示 /etc/hosts 的前5行", "{\"path\":\"/etc/hosts\",\"head\":5}"},
            {lines, "查看文件 /etc/hosts 的最后20行", "{\"path\":\"/etc/hosts\",\"tail\":20}"},
            {lines, "show the first 10 lines of /etc/hosts",
             "{\"path\":\"/etc/hosts\",\"head\":10}"},
            {lines, "show the last three lines of /etc/hosts",
             "{\"path\":\"/etc/hosts\",\"tail\":3}"},
    };
    (void)state;
    expect_all(rows, ARRAY_LENGTH(rows));
}

/* What is said for a parameter that may be left out is not left out silently. */
static void what_is_not_understood_is_told(void **state) {
    static const char flight[] = TOOL("\"origin\",\"destination\"",
                                      TEXT("origin", "From") "," TEXT("destination", "To") "," TEXT(
                                              "date", "Day of departure, YYYY-MM-DD"));
    static const char lamp[] = TOOL(
            "\"name\"", TEXT("name", "Name of the light") ","
                                                          "\"room\":{\"type\":\"string\",\"enum\":["
                                                          "\"kitchen\",\"bedroom\"]},"
                                                          "\"mode\":{\"type\":\"string\",\"enum\":["
                                                          "\"day\",\"night\"]}");
    static const struct {
        const char *schema;
        const char *text;
        const char *pointer; /* NULL: nothing is wrong */
    } rows[] = {
            {flight, "flights from Berlin to Paris on Christmas", "/date"},
            {flight, "flights from Berlin to Paris before Easter", "/date"},
            {flight, "flights from Berlin to Paris until Ramadan", "/date"},
            {flight, "flights from Berlin to Paris on 31 Nov", "/date"},
            {flight, "从北京到上海的航班，春节出发", "/date"},
            {flight, "flights from Berlin to Paris on Lufthansa", NULL},
            {flight, "flights from Berlin to Paris on Friday", NULL},
            {lamp, "turn on the lamp in the attic", "/room"},
            {lamp, "turn on the lamp in the kitchen", NULL},
            {lamp, "turn on the lamp, mode: disco", "/mode"},
            {lamp, "turn on the lamp, mode: night", NULL},
            {lamp, "turn on the lamp", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(arguments_destroyp)
        struct arguments *arguments = fill(rows[i].schema, rows[i].text);
        if (arguments->complete != (rows[i].pointer == NULL)) {
            print_error("%s\n", rows[i].text);
        }
        assert_int_equal(arguments->complete, rows[i].pointer == NULL);
        if (rows[i].pointer != NULL) {
            assert_int_equal(arguments->invalid_count, 1);
            assert_string_equal(arguments->invalid[0].pointer, rows[i].pointer);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_is_not_understood_is_told),
            cmocka_unit_test(what_is_called_the_host_is_it),
            cmocka_unit_test(the_name_of_another_parameter_is_no_value),
            cmocka_unit_test(lines_are_of_the_end_that_is_named),
            cmocka_unit_test(a_value_is_of_the_parameter_beside_it),
            cmocka_unit_test(where_and_of_whom_is_not_what),
            cmocka_unit_test(what_is_noted_is_not_that_it_is_noted),
            cmocka_unit_test(a_range_of_clocks_has_one_day),
            cmocka_unit_test(a_language_is_named_by_its_word),
            cmocka_unit_test(on_and_off_are_no_values),
            cmocka_unit_test(a_statement_may_stand_behind_a_colon),
            cmocka_unit_test(a_secret_is_whole),
            cmocka_unit_test(a_chinese_object_is_cut_whole),
            cmocka_unit_test(a_word_is_not_torn_by_a_small_one),
            cmocka_unit_test(a_moment_is_a_day_and_a_time),
            cmocka_unit_test(a_pattern_of_files_is_one_value),
            cmocka_unit_test(a_conversation_gives_what_its_last_wish_says),
            cmocka_unit_test(an_answer_fills_what_was_asked),
            cmocka_unit_test(test_truths_that_are_stated),
            cmocka_unit_test(test_arithmetic),
            cmocka_unit_test(test_steps_of_arithmetic),
            cmocka_unit_test(test_arithmetic_that_is_not_understood_is_asked),
            cmocka_unit_test(test_the_first_and_the_last),
            cmocka_unit_test(test_limits),
            cmocka_unit_test(test_what_is_weak_is_asked_with_what_is_missing),
            cmocka_unit_test(test_classes_of_characters),
            cmocka_unit_test(test_literal_text_for_a_pattern_is_escaped),
            cmocka_unit_test(test_numbers),
            cmocka_unit_test(test_numbers_are_whole),
            cmocka_unit_test(test_units),
            cmocka_unit_test(test_spans_of_time),
            cmocka_unit_test(test_days_relative_to_now),
            cmocka_unit_test(test_what_is_denied),
            cmocka_unit_test(test_what_is_replaced),
            cmocka_unit_test(test_time_zones),
            cmocka_unit_test(test_currencies),
            cmocka_unit_test(test_paths),
            cmocka_unit_test(test_paths_are_whole),
            cmocka_unit_test(test_dates),
            cmocka_unit_test(test_currencies_before_amounts),
            cmocka_unit_test(test_clocks),
            cmocka_unit_test(test_what_is_missing_is_asked_for),
            cmocka_unit_test(test_an_author_cannot_speak_as_the_host),
            cmocka_unit_test(test_no_choice_is_guessed),
            cmocka_unit_test(test_a_name_is_no_value),
            cmocka_unit_test(test_prose_is_the_whole_clause),
            cmocka_unit_test(test_a_day_is_a_range),
            cmocka_unit_test(test_one_of_two_is_asked_about),
            cmocka_unit_test(test_what_the_schema_refuses_is_named),
            cmocka_unit_test(test_each_value_has_its_span),
            cmocka_unit_test(test_context),
            cmocka_unit_test(test_a_wrong_context_is_refused),
            cmocka_unit_test(test_earlier_results_are_used),
            cmocka_unit_test(test_the_working_folder_is_used),
            cmocka_unit_test(test_what_is_usual_where_the_user_is),
            cmocka_unit_test(test_a_list_of_groups_is_an_array_of_objects),
            cmocka_unit_test(test_the_offset_is_of_the_time_zone),
            cmocka_unit_test(test_a_time_zone_that_is_not_known_is_refused),
            cmocka_unit_test(a_place_speaks_for_a_tool_that_wants_coordinates),
            cmocka_unit_test(a_name_and_a_sign_say_whose_a_value_is),
            cmocka_unit_test(a_direction_says_which_coordinate),
            cmocka_unit_test(one_of_a_thing_is_no_value_that_is_left),
            cmocka_unit_test(test_hostile_texts_are_bounded),
            cmocka_unit_test(test_the_whole_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
