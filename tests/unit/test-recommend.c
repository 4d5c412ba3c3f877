/* Which tools are recommended: the formula alone, and a host with its lists, permissions and
 * opinions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "choose/recommend.h"
#include "record/health.h"
#include "store/health-rules.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define NOW INT64_C(1700000000000)
#define DAY (INT64_C(24) * 60 * 60 * 1000)

static void assert_near(double is, double expected) {
    if (!(fabs(is - expected) < 0.0005)) {
        fail_msg("%f is not %f", is, expected);
    }
}

/* ----------------------------------------------------------------- formula */

static struct recommend_row rows[8];
static size_t row_count;

#define RANK(options, ...)                                 \
    rank_all(&(const struct recommend_options)options,     \
             (const struct recommend_tool[]){__VA_ARGS__}, \
             sizeof((const struct recommend_tool[]){__VA_ARGS__}) / sizeof(struct recommend_tool))
#define ANYTHING \
    { .now_ms = NOW, .limit = 8 }
#define THREE \
    { .now_ms = NOW, .limit = 3 }
#define A_TASK \
    { .now_ms = NOW, .limit = 8, .has_task = true }

static void rank_all(const struct recommend_options *options, const struct recommend_tool *tools,
                     size_t count) {
    recommend_rank(tools, count, options, rows, &row_count);
}

static void assert_order(const char *expected) {
    char order[16] = "";
    for (size_t i = 0; i < row_count; i++) {
        order[i] = (char)('a' + rows[i].index);
    }
    assert_string_equal(order, expected);
}

/* Numbers worked out from the formula by another program. */
static void the_bound_is_that_of_wilson(void **state) {
    (void)state;
    assert_near(recommend_wilson(0, 0), 0);
    assert_near(recommend_wilson(0, 10), 0);
    assert_near(recommend_wilson(1, 1), 0.2065);
    assert_near(recommend_wilson(10, 10), 0.7225);
    assert_near(recommend_wilson(5, 10), 0.2366);
    assert_near(recommend_wilson(90, 100), 0.8256);
    assert_near(recommend_wilson(2000000000, 1000000000), 1);
}

static void weights_are_parts_of_one(void **state) {
    (void)state;
    for (int has_task = 0; has_task < 2; has_task++) {
        double sum = 0;
        for (int i = 0; i < RECOMMEND_FACTOR_COUNT; i++) {
            sum += recommend_weight((enum recommend_factor)i, has_task);
        }
        assert_near(sum, 1);
    }
    assert_near(recommend_weight(RECOMMEND_TASK, false), 0);
    assert_near(recommend_weight(RECOMMEND_TASK, true), 0.5);
}

static void each_factor_is_what_it_says(void **state) {
    (void)state;
    RANK(ANYTHING, {.calls = 10,
                    .failures = 5,
                    .median_ns = 1000000,
                    .last_ms = NOW - RECOMMEND_HALF_LIFE_MS,
                    .good = 9,
                    .bad = 1});
    assert_near(rows[0].values[RECOMMEND_SUCCESS], recommend_wilson(5, 10));
    assert_near(rows[0].values[RECOMMEND_EFFICIENCY], 0.5);
    assert_near(rows[0].values[RECOMMEND_FEEDBACK], recommend_wilson(9, 10));
    assert_near(rows[0].values[RECOMMEND_RECENCY], 0.25);
    assert_near(rows[0].values[RECOMMEND_TASK], 0);
    assert_near(rows[0].score, 0.4 * recommend_wilson(5, 10) + 0.15 * 0.5 +
                                       0.25 * recommend_wilson(9, 10) + 0.2 * 0.25);
    /* Half way from 1 ms to 30 s, on the scale of the logarithm; and beyond both ends. */
    static const struct {
        uint64_t ns;
        double value;
    } times[] = {{1, 1}, {173205081, 0.5}, {RECOMMEND_SLOW_NS, 0}, {UINT64_MAX, 0}, {0, 0.5}};
    for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
        RANK(ANYTHING, {.calls = 1, .median_ns = times[i].ns, .last_ms = NOW});
        assert_near(rows[0].values[RECOMMEND_EFFICIENCY], times[i].value);
    }
    /* A clock that was set back makes nothing fresher than fresh. */
    RANK(ANYTHING, {.calls = 1, .last_ms = NOW + DAY});
    assert_near(rows[0].values[RECOMMEND_RECENCY], 1);
}

static void what_is_unknown_stands_between_good_and_bad(void **state) {
    (void)state;
    RANK(ANYTHING, {.calls = 1, .failures = 1, .median_ns = 1, .last_ms = NOW}, {0},
         {.calls = 1, .median_ns = 1000000000, .last_ms = NOW - 7 * DAY});
    assert_order("cba");
    RANK(ANYTHING, {.bad = 1}, {0}, {.good = 1});
    assert_order("cba");
    assert_near(rows[1].score, 0.4 * 0.2 + 0.15 * 0.5 + 0.25 * 0.2 + 0.2 * 0.5);
}

static void each_factor_moves_the_order(void **state) {
    (void)state;
    const struct recommend_tool same = {
            .calls = 50, .failures = 5, .median_ns = 50000000, .last_ms = NOW, .good = 5, .bad = 5};
    struct recommend_tool pair[2] = {same, same};
    pair[1].failures = 1;
    RANK(ANYTHING, pair[0], pair[1]);
    assert_order("ba");
    pair[1] = same;
    pair[1].median_ns = 5000000;
    RANK(ANYTHING, pair[0], pair[1]);
    assert_order("ba");
    pair[1] = same;
    pair[1].good = 10;
    RANK(ANYTHING, pair[0], pair[1]);
    assert_order("ba");
    pair[0].last_ms = NOW - 30 * DAY;
    pair[1] = same;
    RANK(ANYTHING, pair[0], pair[1]);
    assert_order("ba");
    pair[0] = pair[1] = same;
    pair[0].task = 0.1;
    pair[1].task = 0.9;
    RANK(A_TASK, pair[0], pair[1]);
    assert_order("ba");
}

static void equal_scores_keep_their_order(void **state) {
    (void)state;
    RANK(ANYTHING, {0}, {.calls = 9, .last_ms = NOW}, {0}, {0}, {.calls = 9, .last_ms = NOW}, {0});
    assert_order("beacdf");
}

static void the_whitelist_goes_first_and_the_limit_cuts(void **state) {
    (void)state;
    RANK(ANYTHING, {.calls = 99, .last_ms = NOW}, {.first = true, .calls = 9, .failures = 9}, {0},
         {.first = true});
    assert_order("dbac");
    assert_true(rows[0].first);
    assert_false(rows[2].first);
    RANK(THREE, {.calls = 99, .last_ms = NOW}, {.first = true}, {0}, {.first = true});
    assert_order("bda");
    recommend_rank(NULL, 0, &(const struct recommend_options)ANYTHING, rows, &row_count);
    assert_int_equal(row_count, 0);
}

static void what_does_not_fit_the_task_is_left_out(void **state) {
    (void)state;
    RANK(A_TASK, {.calls = 99, .last_ms = NOW}, {.task = 0.3}, {.first = true}, {.task = NAN});
    assert_order("cb");
}

/* -------------------------------------------------------------------- host */

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, ("Add two numbers", .tags = "math", .priority = 30), TR_F64, (TR_F64, a, "first"),
        (TR_F64, b, "second"))
static tr_status frail(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "it is broken");
}
TR_JSON_TOOL(frail, ("Break", .priority = 20), TR_SCHEMA({"type" : "object"}))
static tr_status risky(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(risky, ("Risk", .permission = TR_DANGEROUS, .priority = 15),
             TR_SCHEMA({"type" : "object"}))
static tr_status asks(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(asks,
             ("Ask", .permission = TR_CONFIRM, .priority = 10, .purpose = "Settle a doubt",
              .scenarios = "shopping,travel"),
             TR_SCHEMA({"type" : "object"}))
#define IDENTITY "chosen app"
TR_PLUGIN(("chosen", .flags = TR_THREAD_SAFE), "1.0.0", add, frail, risky, asks)

static char dir[64];
static struct toolrack *host;
static struct toolrack_error err;

static void open_host(const char *state_dir) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = state_dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    assert_int_equal(toolrack_open(&options, &host, &err), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, &err), 0);
}

static int open_in_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    open_host(dir);
    return 0;
}

static int close_and_remove(void **state) {
    char command[96];
    (void)state;
    toolrack_close(host);
    host = NULL;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

/* The names that are recommended, in order. */
static void assert_recommended(const char *task, const char *expected) {
    struct toolrack_recommend_options options = TOOLRACK_RECOMMEND_OPTIONS_INIT;
    options.task = task;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_recommend(host, &options, &text, &err));
    char names[256] = "";
    static const char key[] = "{\"tool\":\"";
    for (const char *at = toolrack_text_data(text, NULL); (at = strstr(at, key)) != NULL;) {
        at += strlen(key);
        size_t length = strlen(names);
        (void)snprintf(names + length, sizeof names - length, "%s%.*s", length > 0 ? " " : "",
                       (int)strcspn(at, "\""), at);
    }
    assert_string_equal(names, expected);
}

static void only_what_may_run_is_recommended(void **state) {
    (void)state;
    assert_recommended(NULL, "add frail asks");
    assert_ok(toolrack_grant(host, "risky", 0, NULL, &err));
    assert_recommended(NULL, "add frail risky asks");
    assert_ok(toolrack_set_enabled(host, "frail", false, NULL, &err));
    assert_recommended(NULL, "add risky asks");
    assert_recommended("add up some numbers", "add");
    assert_recommended("doubts of mine", "asks"); /* by its purpose */
    assert_recommended("go shopping", "asks");    /* by a scenario */
    assert_recommended("sing", "");
}

static void an_opinion_is_about_a_call_of_the_tool(void **state) {
    (void)state;
    struct toolrack_result *result = NULL;
    assert_ok(toolrack_call(host, "add", "{\"a\":1,\"b\":2}", NULL, &result, &err));
    toolrack_result_free(result);
    assert_ok(toolrack_feedback(host, "add", true, 1, NULL, &err));
    assert_int_equal(toolrack_feedback(host, "frail", true, 1, NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "call 1 was of 'add@"));
    assert_int_equal(toolrack_feedback(host, "add", true, 2, NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_string_equal(err.message, "there is no call 2 in the log");
}

static void opinions_count(void **state) {
    (void)state;
    assert_ok(toolrack_feedback(host, "asks", true, 0, NULL, &err));
    assert_recommended(NULL, "asks add frail");
    for (int i = 0; i < 2; i++) {
        assert_ok(toolrack_feedback(host, "asks@1.0.0", false, 0, "ann", &err));
    }
    assert_recommended(NULL, "add frail asks");
    assert_int_equal(toolrack_feedback(host, "ask", true, 0, NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'asks'"));
}

/* What is in a range changes: nothing is decided or counted for one. */
static void no_range_is_marked_or_counted(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.tool = "add@^1";
    for (int on = 0; on < 2; on++) {
        assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, filter.tool, on == 1, NULL,
                                       "ann", &err),
                         TOOLRACK_E_INVALID);
    }
    assert_int_equal(toolrack_statistics(host, filter.tool, &text, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_log(host, &filter, &text, &err), TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "'add@^1' is a range of versions"));
}

static void lists_come_before_scores(void **state) {
    (void)state;
    assert_ok(toolrack_mark(host, TOOLRACK_MARK_WHITELIST, "asks", true, NULL, "ann", &err));
    assert_recommended(NULL, "asks add frail");
    assert_recommended("add", "asks add");
    assert_ok(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "asks@1.0.0", true, "it asks", "ann",
                            &err));
    /* All versions are on the whitelist, this one on the blacklist: that is never recommended. */
    assert_recommended(NULL, "add frail");
    assert_ok(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "asks", true, "it asks", "ann", &err));
    assert_recommended(NULL, "add frail");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_marked(host, TOOLRACK_MARK_BLACKLIST, &text, &err));
    assert_non_null(strstr(toolrack_text_data(text, NULL),
                           "\"who\":\"ann\",\"why\":\"it asks\",\"tool\":\"asks\","
                           "\"retry_ms\":null,\"plugin\":null,\"origin\":null}]"));
    assert_int_equal(
            toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "asks@1.0.0", false, NULL, NULL, &err),
            TOOLRACK_E_NOT_FOUND);
    assert_string_equal(err.message, "'asks@1.0.0' is not on the blacklist by itself; all versions "
                                     "of 'asks' are: take that off");
    assert_ok(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "asks", false, NULL, NULL, &err));
    assert_recommended(NULL, "add frail asks");
    assert_int_equal(
            toolrack_mark(host, TOOLRACK_MARK_WHITELIST, "nothing", true, NULL, NULL, &err),
            TOOLRACK_E_NOT_FOUND);
}

static void note_frail(int code, int64_t ago_ms) {
    const struct health_outcome outcome = {.tool = "frail",
                                           .version = "1.0.0",
                                           .plugin = IDENTITY,
                                           .code = code,
                                           .ended_ms = clock_wall_ms() - ago_ms};
    health_note_outcomes(&(struct record_options){.log = &host->log,
                                                  .store = host->store,
                                                  .permit = host->permit},
                         &outcome, 1);
}

static void what_fails_too_often_is_tried_again_once(void **state) {
    (void)state;
    for (int i = 0; i < HEALTH_FAILURES; i++) {
        note_frail(TOOLRACK_E_EXECUTION_FAILED, HEALTH_COOL_DOWN_MS / 2);
    }
    assert_recommended(NULL, "add asks");
    note_frail(0, 0);
    assert_recommended(NULL, "add frail asks");
    for (int i = 0; i < HEALTH_FAILURES; i++) {
        note_frail(TOOLRACK_E_EXECUTION_FAILED, HEALTH_COOL_DOWN_MS + 1000);
    }
    /* The cool-down is over; the second does not have it any more, but it can be called. */
    assert_recommended(NULL, "add frail asks");
    assert_recommended(NULL, "add asks");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "frail", "{}", NULL, &result, &err),
                     TOOLRACK_E_EXECUTION_FAILED);
    note_frail(0, 0);
    assert_recommended(NULL, "add asks frail"); /* one call of it has failed */
}

static void the_same_records_give_the_same_answer(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *one = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *two = NULL;
    assert_ok(toolrack_feedback(host, "add", true, 0, NULL, &err));
    assert_ok(toolrack_recommend(host, NULL, &one, &err));
    assert_ok(toolrack_recommend(host, NULL, &two, &err));
    assert_string_equal(toolrack_text_data(one, NULL), toolrack_text_data(two, NULL));
    const char *json = toolrack_text_data(one, NULL);
    assert_non_null(strstr(json, "[{\"tool\":\"add\",\"version\":\"1.0.0\",\"score\":"));
    assert_non_null(strstr(json, "\"whitelisted\":false,\"retry\":false,\"factors\":{\"success\":{"
                                 "\"value\":0.2,\"weight\":0.4},\"efficiency\":{\"value\":0.5,"
                                 "\"weight\":0.15},\"feedback\":{\"value\":0.2065,\"weight\":0.25},"
                                 "\"recency\":{\"value\":0.5,\"weight\":0.2},\"task\":{\"value\":"
                                 "0.0,\"weight\":0.0}},\"description\":\"Add two numbers\"}"));
}

static void without_a_state_folder_it_is_kept_as_long_as_the_host(void **state) {
    (void)state;
    open_host("");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "add", "{\"a\":1,\"b\":\"x\"}", NULL, &result, &err),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_recommended(NULL, "frail asks add");
    for (int i = 0; i < 9; i++) {
        assert_ok(toolrack_call(host, "add", "{\"a\":1,\"b\":2}", NULL, &result, &err));
        toolrack_result_free(result);
    }
    assert_recommended(NULL, "add frail asks");
    assert_ok(toolrack_feedback(host, "add", true, 0, NULL, &err));
    assert_ok(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "add", true, NULL, NULL, &err));
    assert_recommended(NULL, "frail asks");
    toolrack_close(host);
    host = NULL;
    open_host("");
    assert_recommended(NULL, "add frail asks");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_marked(host, TOOLRACK_MARK_BLACKLIST, &text, &err));
    assert_string_equal(toolrack_text_data(text, NULL), "[]");
    toolrack_close(host);
    host = NULL;
}

#define KEPT(name) cmocka_unit_test_setup_teardown(name, open_in_folder, close_and_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_bound_is_that_of_wilson),
            cmocka_unit_test(weights_are_parts_of_one),
            cmocka_unit_test(each_factor_is_what_it_says),
            cmocka_unit_test(what_is_unknown_stands_between_good_and_bad),
            cmocka_unit_test(each_factor_moves_the_order),
            cmocka_unit_test(equal_scores_keep_their_order),
            cmocka_unit_test(the_whitelist_goes_first_and_the_limit_cuts),
            cmocka_unit_test(what_does_not_fit_the_task_is_left_out),
            KEPT(only_what_may_run_is_recommended),
            KEPT(an_opinion_is_about_a_call_of_the_tool),
            KEPT(opinions_count),
            KEPT(no_range_is_marked_or_counted),
            KEPT(lists_come_before_scores),
            KEPT(what_fails_too_often_is_tried_again_once),
            KEPT(the_same_records_give_the_same_answer),
            cmocka_unit_test(without_a_state_folder_it_is_kept_as_long_as_the_host),
    };
    return cmocka_run_group_tests_name("recommend", tests, NULL, NULL);
}
