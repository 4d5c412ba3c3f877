/* Values as they are written in a text: what arrives at a tool is what the text says, or is asked
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "choose/arguments.h"
#include "choose/choice.h"

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

/* The text says something that is no argument: it is asked for, with a reason. */
static void expect_asked(const char *schema, const char *text, const char *reason) {
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(schema, text);
    if (arguments->complete) {
        print_error("%s\n  got %s\n", text, arguments->json);
    }
    assert_false(arguments->complete);
    assert_int_equal(arguments->invalid_count, 1);
    assert_string_equal(arguments->invalid[0].reason, reason);
    assert_non_null(strstr(arguments->invalid[0].question, reason));
}

#define TOOL(required, properties) \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"
#define MEMBER(name, type, description) \
    "\"" name "\":{\"type\":\"" type "\",\"description\":\"" description "\"}"

static const char delete_order[] =
        TOOL("\"order_id\"", MEMBER("order_id", "integer", "ID of the order to delete"));
static const char delete_named[] =
        TOOL("\"order_id\"", MEMBER("order_id", "string", "ID of the order to delete"));
static const char set_number[] = TOOL("\"value\"", MEMBER("value", "number", "The value"));
static const char set_integer[] = TOOL("\"value\"", MEMBER("value", "integer", "The value"));
static const char delete_ids[] =
        TOOL("\"ids\"", "\"ids\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},"
                        "\"description\":\"IDs to delete\"}");

static void an_integer_keeps_its_digits(void **state) {
    (void)state;
    expect(delete_order, "delete order 9007199254740993", "{\"order_id\":9007199254740993}");
    expect(delete_order, "删除订单9007199254740993", "{\"order_id\":9007199254740993}");
    expect(delete_order, "delete order 18446744073709551615",
           "{\"order_id\":18446744073709551615}");
    expect(set_integer, "set the value to -9223372036854775808",
           "{\"value\":-9223372036854775808}");
    expect(set_integer, "set the value to 9,007,199,254,740,993", "{\"value\":9007199254740993}");
    expect(set_number, "set the value to 9007199254740993", "{\"value\":9007199254740993}");
    expect(delete_ids, "delete the ids 9007199254740993, 9007199254740995 and 18446744073709551615",
           "{\"ids\":[9007199254740993,9007199254740995,18446744073709551615]}");
    expect(delete_ids, "delete id 9007199254740993", "{\"ids\":[9007199254740993]}");
    expect(delete_named, "delete order 00123456789012345678901234",
           "{\"order_id\":\"00123456789012345678901234\"}");
}

static void an_integer_beyond_64_bits_is_asked_for(void **state) {
    (void)state;
    expect_asked(delete_order, "delete order 18446744073709551616",
                 "\"18446744073709551616\" has more than 64 bits and cannot be passed exactly");
    expect_asked(set_integer, "set the value to -9223372036854775809",
                 "\"-9223372036854775809\" has more than 64 bits and cannot be passed exactly");
    expect_asked(set_number, "set the value to 123456789012345678901234",
                 "\"123456789012345678901234\" has more than 64 bits and cannot be passed exactly");
    expect_asked(delete_ids, "delete the ids 5, 123456789012345678901234",
                 "\"123456789012345678901234\" has more than 64 bits and cannot be passed exactly");
    expect_asked(delete_order, "删除订单18446744073709551616",
                 "“18446744073709551616”超过64位，无法精确传递");
    /* A number that is no integer has all digits that a double keeps. */
    expect(set_number, "set the value to 100000000000000000000",
           "{\"value\":100000000000000000000.0}");
}

static void words_and_magnitudes_are_exact(void **state) {
    (void)state;
    expect(set_integer, "set the value to 3 billion", "{\"value\":3000000000}");
    expect(set_integer, "把值设为三千五", "{\"value\":3500}");
    expect(set_integer, "set the value to 1.001k", "{\"value\":1001}");
}

static void full_width_digits_are_digits(void **state) {
    (void)state;
    static const char day[] =
            TOOL("\"date\"", "\"date\":{\"type\":\"string\",\"format\":\"date\"}");
    static const char reader[] =
            TOOL("\"path\"", MEMBER("path", "string", "The path of the file to read"));
    expect(set_integer, "把值设为１２３", "{\"value\":123}");
    expect(set_number, "把值设为－１２．５", "{\"value\":-12.5}");
    expect(day, "２０２６－１２－０１", "{\"date\":\"2026-12-01\"}");
    expect(day, "２０２６年１２月１日", "{\"date\":\"2026-12-01\"}");
    expect(delete_named, "删除订单ＡＢ１２３", "{\"order_id\":\"AB123\"}");
    expect(reader, "打开\"报告１.docx\"", "{\"path\":\"报告１.docx\"}");
    /* Spans are of the text as it was given. */
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(set_integer, "把值设为１２３吧");
    assert_int_equal(arguments->values[0].spans[0].start, strlen("把值设为"));
    assert_int_equal(arguments->values[0].spans[0].end, strlen("把值设为１２３"));
}

/* A tool with one parameter that has choices: "choice 0" to the last. */
static char *many_choices(size_t count) {
    struct buf schema = BUF_INIT;
    buf_add_text(&schema, "{\"type\":\"object\",\"required\":[\"zone\"],\"properties\":{\"zone\":"
                          "{\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(&schema, "%s\"Area%zu/Place_%zu\"", i > 0 ? "," : "", i % 7, i);
    }
    buf_add_text(&schema, "]}}}");
    assert_false(schema.failed);
    return schema.data;
}

static void every_choice_is_found(void **state) {
    (void)state;
    CLEANUP(freep) char *schema = many_choices(5000);
    expect(schema, "use Area4/Place_599", "{\"zone\":\"Area4/Place_599\"}");
    expect(schema, "把时区改成Area1/Place_4999", "{\"zone\":\"Area1/Place_4999\"}");
}

#define CHOICES(list) TOOL("\"which\"", "\"which\":{\"type\":\"string\",\"enum\":[" list "]}")

static void a_choice_is_named_by_whole_words(void **state) {
    (void)state;
    static const char codes[] = CHOICES("\"us\",\"delta29\",\"v1\",\"delta299\",\"v10\"");
    static const char towns[] = CHOICES("\"york\",\"new\",\"new york\",\"newest\"");
    static const char logs[] = CHOICES("\"log\",\"logs\",\"created_at\",\"c\",\"c++\"");
    static const char months[] = CHOICES("\"一月\",\"二月\",\"十一月\"");
    expect(codes, "take delta299", "{\"which\":\"delta299\"}");
    expect(codes, "take delta29", "{\"which\":\"delta29\"}");
    expect(codes, "take v10", "{\"which\":\"v10\"}");
    expect(codes, "用delta299吧", "{\"which\":\"delta299\"}");
    expect(towns, "fly to new york", "{\"which\":\"new york\"}");
    expect(towns, "take the newest", "{\"which\":\"newest\"}");
    expect(logs, "show the logs", "{\"which\":\"logs\"}");
    expect(logs, "show the log", "{\"which\":\"log\"}");
    expect(logs, "sort by created_at", "{\"which\":\"created_at\"}");
    expect(logs, "write it in C++", "{\"which\":\"c++\"}");
    expect(months, "查看十一月的账单", "{\"which\":\"十一月\"}");
    expect(months, "查看一月的账单", "{\"which\":\"一月\"}");
}

/* The places that choice_find_all() compares of a text. */
static size_t places_of(const char *text, struct parameter_text *choices, size_t count,
                        size_t all) {
    const struct parameter parameter = {.choices = choices, .choice_count = count};
    CLEANUP(values_destroyp) struct values *values = NULL;
    CLEANUP(freep) struct choice_match *matches = calloc(count, sizeof *matches);
    assert_non_null(matches);
    assert_int_equal(values_read(text, strlen(text), NULL, &values, NULL), 0);
    return choice_find_all(values, &parameter, all, matches);
}

static void the_work_for_choices_does_not_grow_with_the_text(void **state) {
    (void)state;
    struct parameter_text choices[] = {{"first choice", 12}, {"second", 6}, {"word else", 9}};
    struct buf other = BUF_INIT;
    struct buf same = BUF_INIT;
    for (size_t i = 0; i < 1500; i++) {
        buf_printf(&other, "other%zu ", i);
        buf_add_text(&same, "word ");
    }
    buf_add_text(&other, "second");
    assert_int_equal(places_of(other.data, choices, ARRAY_LENGTH(choices), 3), 1);
    assert_in_range(places_of(same.data, choices, ARRAY_LENGTH(choices), 3), 1,
                    2 * MENTION_PLACES_MAX);
    /* Of very many choices of a tool each is looked for at fewer places. */
    assert_in_range(places_of(same.data, choices, ARRAY_LENGTH(choices), 16384), 1, 2 * 4);
    buf_finish(&other);
    buf_finish(&same);
}

/* How long it takes to fit the largest schemas to a long text is printed, and not judged. */
static void many_choices_and_a_long_text(void **state) {
    (void)state;
    struct buf schema = BUF_INIT;
    struct buf text = BUF_INIT;
    buf_add_text(&schema, "{\"type\":\"object\",\"properties\":{");
    for (size_t p = 0; p < 60; p++) {
        buf_printf(&schema, "%s\"setting%zu\":{\"type\":\"string\",\"enum\":[", p > 0 ? "," : "",
                   p);
        for (size_t i = 0; i < 256; i++) {
            buf_printf(&schema, "%s\"option%zu of %zu\"", i > 0 ? "," : "", i, p);
        }
        buf_add_text(&schema, "]}");
    }
    buf_add_text(&schema, "}}");
    buf_add_text(&text, "option255 of 7. ");
    for (size_t i = 0; text.length < 9000; i++) {
        buf_printf(&text, "word%zu is said, ", i);
    }
    assert_false(schema.failed || text.failed);
    uint64_t began = clock_cpu_ns();
    CLEANUP(arguments_destroyp) struct arguments *arguments = fill(schema.data, text.data);
    print_message("60 parameters of 256 choices, 9 KB of text: %u us\n",
                  (unsigned)((clock_cpu_ns() - began) / 1000));
    assert_non_null(strstr(arguments->json, "\"setting7\":\"option255 of 7\""));
    buf_finish(&schema);
    buf_finish(&text);
}

#define TEXT(name, description) MEMBER(name, "string", description)

static void a_repository_gives_its_owner_and_its_name(void **state) {
    (void)state;
    static const char create[] =
            TOOL("\"owner\",\"repo\",\"title\"",
                 TEXT("owner", "Repository owner") "," TEXT("repo", "Repository name") "," TEXT(
                         "title", "Issue title"));
    static const char get[] =
            TOOL("\"owner\",\"repo\",\"issue_number\"",
                 TEXT("owner", "Repository owner") "," TEXT("repo", "Repository name") "," MEMBER(
                         "issue_number", "number", "Issue number"));
    static const char one[] = TOOL("\"repo\"", TEXT("repo", "Repository in the form owner/repo"));
    static const char project[] = TOOL("\"project_id\",\"issue_iid\"",
                                       TEXT("project_id", "Project ID or path") "," MEMBER(
                                               "issue_iid", "integer", "Number of the issue"));
    static const char issue[] =
            "{\"owner\":\"octocat\",\"repo\":\"hello-world\",\"issue_number\":12}";
    expect(create, "open an issue in octocat/hello-world titled Crash",
           "{\"owner\":\"octocat\",\"repo\":\"hello-world\",\"title\":\"Crash\"}");
    expect(create, "在octocat/hello-world里新建一个标题为“登录失败”的issue",
           "{\"owner\":\"octocat\",\"repo\":\"hello-world\",\"title\":\"登录失败\"}");
    expect(one, "list the branches of octocat/hello-world", "{\"repo\":\"octocat/hello-world\"}");
    expect(get, "show issue 12 of octocat/hello-world", issue);
    expect(get, "show octocat/hello-world#12", issue);
    expect(get, "show me https://github.com/octocat/hello-world/issues/12", issue);
    expect(get, "看一下https://github.com/octocat/hello-world/issues/12这个问题", issue);
    expect(project, "show https://gitlab.com/group/project/-/issues/7",
           "{\"project_id\":\"group/project\",\"issue_iid\":7}");
    CLEANUP(arguments_destroyp)
    struct arguments *arguments = fill(one, "list the branches and/or the tags");
    assert_null(strstr(arguments->json, "and/or"));
}

static void channels_people_and_hosts_are_read(void **state) {
    (void)state;
    static const char post[] =
            TOOL("\"channel_id\",\"text\"", TEXT("channel_id", "The channel to post to") "," TEXT(
                                                    "text", "The message text to post"));
    static const char general[] =
            TOOL("\"channel\",\"text\"", TEXT("channel", "Channel name, e.g. #general") "," TEXT(
                                                 "text", "The message text to post"));
    static const char assign[] = TOOL("\"issue_number\",\"assignee\"",
                                      MEMBER("issue_number", "integer", "Issue number") "," TEXT(
                                              "assignee", "GitHub user to assign"));
    static const char ping[] =
            TOOL("\"host\"",
                 TEXT("host", "Host name or IP address") "," MEMBER("port", "integer", "TCP port"));
    expect(post, "post \"hello team\" to #general",
           "{\"channel_id\":\"general\",\"text\":\"hello team\"}");
    expect(general, "在 #general 频道发消息“部署完成”",
           "{\"channel\":\"#general\",\"text\":\"部署完成\"}");
    expect(assign, "assign issue 17 to @octocat", "{\"issue_number\":17,\"assignee\":\"octocat\"}");
    expect(ping, "check whether db.internal:5432 is open",
           "{\"host\":\"db.internal\",\"port\":5432}");
    expect(ping, "is localhost:3000 up", "{\"host\":\"localhost\",\"port\":3000}");
    expect(ping, "检查10.0.0.1:22是否可用", "{\"host\":\"10.0.0.1\",\"port\":22}");
    expect(ping, "ping 10.0.0.1 on port 8080", "{\"host\":\"10.0.0.1\",\"port\":8080}");
}

static void versions_colors_and_addresses_are_read(void **state) {
    (void)state;
    static const char install[] =
            TOOL("\"package\"",
                 TEXT("package", "Package name") "," TEXT("version", "Version to install"));
    static const char paint[] = TOOL("\"color\"", TEXT("color", "Color as hex, such as #ff0000"));
    static const char mail[] =
            TOOL("\"to\"",
                 TEXT("to", "Recipient email address") "," TEXT("subject", "Subject of the mail"));
    static const char lodash[] = "{\"package\":\"lodash\",\"version\":\"4.17.21\"}";
    expect(install, "install lodash@4.17.21", lodash);
    expect(install, "install lodash 4.17.21", lodash);
    expect(install, "install react v18.2.0-beta.1",
           "{\"package\":\"react\",\"version\":\"v18.2.0-beta.1\"}");
    expect(paint, "set the color to #FF8800", "{\"color\":\"#FF8800\"}");
    expect(paint, "把颜色改成#0af", "{\"color\":\"#0af\"}");
    expect(mail, "发送给bob@example.com吧", "{\"to\":\"bob@example.com\"}");
    expect(mail, "给bob@example.com发邮件，主题是周报",
           "{\"to\":\"bob@example.com\",\"subject\":\"周报\"}");
}

static void a_day_that_is_none_is_asked_for(void **state) {
    (void)state;
    static const char event[] =
            TOOL("\"title\",\"date\"", TEXT("title", "The title of the event") "," TEXT(
                                               "date", "The date of the event, YYYY-MM-DD"));
    static const char start[] =
            TOOL("\"start\"", "\"start\":{\"type\":\"string\",\"format\":\"date-time\"}");
    static const struct {
        const char *text;
        const char *reason;
    } rows[] = {
            {"add 'Lunch' on 31 Nov", "\"31 Nov\" is no day of the calendar"},
            {"add 'Lunch' on November 31, 2026", "\"November 31, 2026\" is no day of the calendar"},
            {"add 'Lunch' on 2026-02-30", "\"2026-02-30\" is no day of the calendar"},
            {"add 'Lunch' on Feb 29, 2027", "\"Feb 29, 2027\" is no day of the calendar"},
            {"add 'Lunch' on 30.02.2027", "\"30.02.2027\" is no day of the calendar"},
            {"把“午餐”加到11月31日", "“11月31日”不是日历上的日期"},
            {"add 'Lunch' on the Monday after Easter", "\"Monday\" does not say which day it is"},
            {"add 'Lunch' on the second Friday of December",
             "\"Friday\" does not say which day it is"},
            {"add 'Lunch' on the last Friday of the month",
             "\"last Friday\" does not say which day it is"},
            {"add 'Lunch' two weeks from Friday", "\"Friday\" does not say which day it is"},
            {"add 'Lunch' on Thanksgiving", "\"Thanksgiving\" does not say which day it is"},
            {"把“午餐”加到12月的第二个星期五", "“星期五”不能确定是哪一天"},
            {"把“午餐”加到中秋节", "“中秋节”不能确定是哪一天"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        expect_asked(event, rows[i].text, rows[i].reason);
    }
    expect_asked(start, "on Nov 31 at 5 pm", "\"Nov 31 at 5 pm\" is no day of the calendar");
    expect(event, "add 'Lunch' on Feb 29, 2028", "{\"title\":\"Lunch\",\"date\":\"2028-02-29\"}");
    expect(event, "add 'Lunch' on next Friday", "{\"title\":\"Lunch\",\"date\":\"2026-12-04\"}");
    expect(event, "add 'Lunch' on Monday the 30th",
           "{\"title\":\"Lunch\",\"date\":\"2026-11-30\"}");
}

/* Where all words have capitals, they say nothing of one of them. */
static void capitals_of_all_words_say_nothing(void **state) {
    (void)state;
    static const char search[] = TOOL("\"query\"", TEXT("query", "Search query"));
    static const char convert[] =
            TOOL("\"amount\",\"to\"",
                 MEMBER("amount", "number", "Amount") "," TEXT("to", "Target currency code, ISO "
                                                                     "4217"));
    static const char send[] =
            TOOL("\"to\",\"text\"",
                 TEXT("to", "Recipient email address") "," TEXT("text", "The text of the message"));
    expect(search, "search for red shoes", "{\"query\":\"red shoes\"}");
    expect(search, "SEARCH FOR RED SHOES", "{\"query\":\"RED SHOES\"}");
    expect(search, "Search For Red Shoes", "{\"query\":\"Red Shoes\"}");
    expect(search, "Find The Lord of the Rings", "{\"query\":\"The Lord of the Rings\"}");
    expect(convert, "CONVERT 5K DOLLARS TO YEN", "{\"amount\":5000,\"to\":\"JPY\"}");
    expect(send, "SEND \"I AM LATE\" TO bob@example.com",
           "{\"to\":\"bob@example.com\",\"text\":\"I AM LATE\"}");
}

static void numbers_are_written_in_several_ways(void **state) {
    (void)state;
    static const char speed[] =
            "{\"type\":\"object\",\"properties\":{\"speed\":{\"type\":\"number\"}}}";
    static const char position[] = "{\"type\":\"object\",\"properties\":{\"latitude\":{\"type\":"
                                   "\"number\"},\"longitude\":{\"type\":\"number\"}}}";
    expect(speed, "set the speed to 1e3", "{\"speed\":1000}");
    expect(speed, "set the speed to 1.5e-3", "{\"speed\":0.0015}");
    expect(speed, "set the speed to 0x1F", "{\"speed\":31}");
    expect(speed, "set the speed to 0x1G", "{}");
    expect(position, "the location is 33.8688°S 151.2093°E",
           "{\"latitude\":-33.8688,\"longitude\":151.2093}");
    expect(position, "the location is 40.7128 N, 74.0060 W",
           "{\"latitude\":40.7128,\"longitude\":-74.006}");
    expect(position, "the location is 33.8688 South, 151.2093 East",
           "{\"latitude\":-33.8688,\"longitude\":151.2093}");
    expect(position, "位置是南纬33.9 西经116.4", "{\"latitude\":-33.9,\"longitude\":-116.4}");
    expect(speed, "set the speed to 1.5 W", "{\"speed\":1.5}"); /* watts, and not west */
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(an_integer_keeps_its_digits),
            cmocka_unit_test(an_integer_beyond_64_bits_is_asked_for),
            cmocka_unit_test(words_and_magnitudes_are_exact),
            cmocka_unit_test(full_width_digits_are_digits),
            cmocka_unit_test(every_choice_is_found),
            cmocka_unit_test(a_choice_is_named_by_whole_words),
            cmocka_unit_test(the_work_for_choices_does_not_grow_with_the_text),
            cmocka_unit_test(a_repository_gives_its_owner_and_its_name),
            cmocka_unit_test(channels_people_and_hosts_are_read),
            cmocka_unit_test(versions_colors_and_addresses_are_read),
            cmocka_unit_test(a_day_that_is_none_is_asked_for),
            cmocka_unit_test(capitals_of_all_words_say_nothing),
            cmocka_unit_test(many_choices_and_a_long_text),
            cmocka_unit_test(numbers_are_written_in_several_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
