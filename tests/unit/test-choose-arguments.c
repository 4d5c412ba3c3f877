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

CLEANUP_DEFINE(struct values, values_destroy)
CLEANUP_DEFINE(struct arguments, arguments_destroy)

/* Friday, 27 November 2026, 10:00 in China. */
static const struct arguments_context friday = {.has_now = true,
                                                .now_ms = INT64_C(1795744800000),
                                                .offset_minutes = 480,
                                                .time_zone = "Asia/Shanghai"};

static struct arguments *fill(const char *schema, const char *text) {
    yyjson_doc *doc = yyjson_read(schema, strlen(schema), YYJSON_READ_NOFLAG);
    assert_non_null(doc);
    struct arguments_tool tool = {.name = "tool", .parameters = yyjson_doc_get_root(doc)};
    CLEANUP(values_destroyp) struct values *values = NULL;
    struct arguments *arguments = NULL;
    assert_int_equal(values_read(text, strlen(text), &friday, &values, NULL), 0);
    assert_int_equal(arguments_fill(values, &tool, &arguments, NULL), 0);
    yyjson_doc_free(doc);
    return arguments;
}

static void expect(const char *schema, const char *text, const char *json) {
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(schema, text);
    if (strcmp(arguments->json, json) != 0) {
        print_error("%s\n  wanted %s\n  got    %s\n", text, json, arguments->json);
    }
    assert_string_equal(arguments->json, json);
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

static void test_arithmetic(void **state) {
    (void)state;
    expect(calculator, "what is 17 * 23", "{\"expression\":\"17 * 23\"}");
    expect(calculator, "What is (3 + 4) * 2 - 1?", "{\"expression\":\"(3 + 4) * 2 - 1\"}");
    expect(calculator, "计算 17*23", "{\"expression\":\"17*23\"}");
    expect(calculator, "12 times 8", "{\"expression\":\"12 * 8\"}");
}

static void test_time_zones(void **state) {
    (void)state;
    expect(current_time, "what time is it in Tokyo", "{\"timezone\":\"Asia/Tokyo\"}");
    expect(current_time, "东京现在几点", "{\"timezone\":\"Asia/Tokyo\"}");
    expect(current_time, "the time in America/Chicago please",
           "{\"timezone\":\"America/Chicago\"}");
}

static void test_currencies(void **state) {
    (void)state;
    expect(currency, "convert 100 dollars to euros",
           "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}");
    expect(currency, "把100美元换成人民币",
           "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"CNY\"}");
}

static void test_paths(void **state) {
    (void)state;
    expect(reader, "读取文件 /tmp/a.txt 的内容", "{\"path\":\"/tmp/a.txt\"}");
    expect(reader, "read the file ~/notes/today.md.", "{\"path\":\"~/notes/today.md\"}");
}

static void test_dates(void **state) {
    (void)state;
    expect(event, "create an event titled \"Retro\" tomorrow",
           "{\"title\":\"Retro\",\"date\":\"2026-11-28\"}");
    expect(event, "create an event called \"Retro\" on April 5th, 2027",
           "{\"title\":\"Retro\",\"date\":\"2027-04-05\"}");
    expect(event, "下周三创建标题为“评审”的活动", "{\"title\":\"评审\",\"date\":\"2026-12-02\"}");
}

static void test_what_is_missing_is_asked_for(void **state) {
    (void)state;
    CLEANUP(arguments_destroyp) struct arguments *english = fill(reader, "please read it");
    assert_string_equal(english->json, "{}");
    assert_int_equal(english->missing_count, 1);
    assert_false(english->complete);
    assert_string_equal(english->missing[0].pointer, "/path");
    assert_string_equal(english->missing[0].question,
                        "What is the path (The path of the file to read)?");
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

    const char *wrong = "{\"now\": \"yesterday\"}";
    doc = yyjson_read(wrong, strlen(wrong), YYJSON_READ_NOFLAG);
    assert_int_equal(arguments_context_read(yyjson_doc_get_root(doc), &context, NULL),
                     TOOLRACK_E_INVALID);
    yyjson_doc_free(doc);
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

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_arithmetic),
            cmocka_unit_test(test_time_zones),
            cmocka_unit_test(test_currencies),
            cmocka_unit_test(test_paths),
            cmocka_unit_test(test_dates),
            cmocka_unit_test(test_what_is_missing_is_asked_for),
            cmocka_unit_test(test_what_the_schema_refuses_is_named),
            cmocka_unit_test(test_each_value_has_its_span),
            cmocka_unit_test(test_context),
            cmocka_unit_test(test_the_offset_is_of_the_time_zone),
            cmocka_unit_test(test_a_time_zone_that_is_not_known_is_refused),
            cmocka_unit_test(test_hostile_texts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
