/* When a tool goes on the blacklist by itself, and how it comes off: the rules alone, then over
 * several hosts of one state folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "record/health.h"
#include "store/health-rules.h"
#include "store/marks.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define NOW      INT64_C(1700000000000)
#define MINUTE   (INT64_C(60) * 1000)
#define IDENTITY "broken app" /* of the plugin of the tools */

static struct store_health health;

static void note_outcomes(struct toolrack *of, const struct health_outcome *outcomes,
                          size_t count) {
    health_note_outcomes(
            &(struct record_options){.log = &of->log, .store = of->store, .permit = of->permit},
            outcomes, count);
}

static enum health_change note(int code, int64_t now_ms) {
    return health_note(&health, code, now_ms);
}

static int make_healthy(void **state) {
    (void)state;
    health = (struct store_health){0};
    return 0;
}

/* It goes on the list at `now_ms`. */
static void fail_until_it_rests(int64_t now_ms) {
    for (int i = 1; i < HEALTH_FAILURES; i++) {
        assert_int_equal(note(TOOLRACK_E_EXECUTION_FAILED, now_ms), HEALTH_NOTED);
    }
    assert_int_equal(note(TOOLRACK_E_TIMEOUT, now_ms), HEALTH_RESTS);
}

static void failures_in_a_row_put_it_on_the_list(void **state) {
    (void)state;
    fail_until_it_rests(NOW);
    assert_int_equal(health.since_ms, NOW);
    assert_int_equal(health.retry_ms, NOW + HEALTH_COOL_DOWN_MS);
    assert_true(health_rests(&health, NOW));
    assert_true(health_rests(&health, NOW + HEALTH_COOL_DOWN_MS - 1));
    assert_false(health_rests(&health, NOW + HEALTH_COOL_DOWN_MS));
}

/* No number of a damaged file overflows, or lets a tool rest without end or not at all. */
static void what_a_damaged_file_says_is_bounded(void **state) {
    (void)state;
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        health = (struct store_health){.since_ms = 1, .cool_down_ms = numbers[i]};
        assert_true(health_offer(&health, NOW));
        assert_true(health_rests(&health, NOW));
        assert_false(health_rests(&health, NOW + HEALTH_COOL_DOWN_MS_MAX));
        assert_int_equal(note(TOOLRACK_E_TIMEOUT, NOW), HEALTH_RESTS_ON);
        assert_true(health_rests(&health, NOW));
        assert_false(health_rests(&health, NOW + HEALTH_COOL_DOWN_MS_MAX));
        health = (struct store_health){.failed_ms = {numbers[i], NOW, NOW, NOW}};
        (void)note(TOOLRACK_E_TIMEOUT, NOW);
        health = (struct store_health){.since_ms = 1, .retry_ms = numbers[i]};
        assert_false(health_rests(&health, NOW));
    }
}

static void a_result_begins_the_row_anew(void **state) {
    (void)state;
    for (int i = 0; i < 3 * HEALTH_FAILURES; i++) {
        bool result = i % HEALTH_FAILURES == HEALTH_FAILURES - 1;
        assert_int_equal(note(result ? 0 : TOOLRACK_E_TIMEOUT, NOW + i), HEALTH_NOTED);
    }
    assert_int_equal(note(0, NOW), HEALTH_SAME);
    assert_int_equal(health.since_ms, 0);
}

/* The window slides: any five within it count, wherever the first ever was. */
static void failures_far_apart_do_not_count(void **state) {
    (void)state;
    int64_t step = HEALTH_WINDOW_MS / (HEALTH_FAILURES - 1) + 1;
    int64_t at = NOW;
    for (int i = 0; i < 20; i++) {
        at += step;
        assert_int_equal(note(TOOLRACK_E_TIMEOUT, at), HEALTH_NOTED);
    }
    assert_int_equal(note(TOOLRACK_E_TIMEOUT, at + 1), HEALTH_RESTS);
}

static void what_is_not_the_tools_fault_does_not_count(void **state) {
    (void)state;
    static const int codes[] = {TOOLRACK_E_NOT_FOUND,         TOOLRACK_E_DISABLED,
                                TOOLRACK_E_INVALID_ARGUMENTS, TOOLRACK_E_PERMISSION_DENIED,
                                TOOLRACK_E_CANCELLED,         TOOLRACK_E_CONFIRMATION_REQUIRED,
                                TOOLRACK_E_LIMIT_EXCEEDED,    TOOLRACK_E_NO_MEMORY};
    for (size_t i = 0; i < 10 * ARRAY_LENGTH(codes); i++) {
        assert_int_equal(note(codes[i % ARRAY_LENGTH(codes)], NOW), HEALTH_SAME);
    }
    /* Nor does it begin the row anew. */
    for (int i = 1; i < HEALTH_FAILURES; i++) {
        assert_int_equal(note(TOOLRACK_E_TIMEOUT, NOW), HEALTH_NOTED);
        assert_int_equal(note(TOOLRACK_E_INVALID_ARGUMENTS, NOW), HEALTH_SAME);
    }
    assert_int_equal(note(TOOLRACK_E_TIMEOUT, NOW), HEALTH_RESTS);
}

static void what_happens_while_it_rests_changes_nothing(void **state) {
    (void)state;
    fail_until_it_rests(NOW);
    struct store_health before = health;
    assert_int_equal(note(TOOLRACK_E_TIMEOUT, NOW + MINUTE), HEALTH_SAME);
    assert_false(health_offer(&health, NOW + MINUTE));
    assert_memory_equal(&health, &before, sizeof before);
    assert_int_equal(note(0, NOW + MINUTE), HEALTH_RECOVERED);
    assert_int_equal(health.since_ms, 0);
}

static void it_is_offered_once_for_a_retry(void **state) {
    (void)state;
    fail_until_it_rests(NOW);
    int64_t now = NOW + HEALTH_COOL_DOWN_MS;
    assert_true(health_offer(&health, now));
    assert_false(health_offer(&health, now));
    assert_true(health_rests(&health, now));
    /* Nobody called it: once more, later, and no longer. */
    assert_true(health_offer(&health, now + HEALTH_COOL_DOWN_MS));
    assert_int_equal(health.cool_down_ms, HEALTH_COOL_DOWN_MS);
    assert_int_equal(note(0, now + HEALTH_COOL_DOWN_MS + 1), HEALTH_RECOVERED);
    assert_false(health_rests(&health, now + HEALTH_COOL_DOWN_MS + 1));
}

static void each_retry_that_fails_doubles_the_cool_down(void **state) {
    (void)state;
    fail_until_it_rests(NOW);
    int64_t now = NOW;
    int64_t cool_down = HEALTH_COOL_DOWN_MS;
    for (int i = 0; i < 20; i++) {
        now += cool_down;
        /* Recommended, or called by who did not ask. */
        assert_int_equal(health_offer(&health, now), true);
        assert_int_equal(note(TOOLRACK_E_EXECUTION_FAILED, now + 1), HEALTH_RESTS_ON);
        now++;
        cool_down =
                2 * cool_down < HEALTH_COOL_DOWN_MS_MAX ? 2 * cool_down : HEALTH_COOL_DOWN_MS_MAX;
        assert_int_equal(health.cool_down_ms, cool_down);
        assert_int_equal(health.retry_ms, now + cool_down);
        assert_int_equal(health.since_ms, NOW);
        /* The retry is over: a second failure of the same moment counts no more. */
        assert_int_equal(note(TOOLRACK_E_EXECUTION_FAILED, now), HEALTH_SAME);
    }
    assert_int_equal(cool_down, HEALTH_COOL_DOWN_MS_MAX);
    assert_int_equal(note(TOOLRACK_E_TIMEOUT, now + cool_down), HEALTH_RESTS_ON);
}

static void a_clock_that_is_set_back_holds_nobody(void **state) {
    (void)state;
    fail_until_it_rests(NOW);
    int64_t long_ago = NOW - 2 * HEALTH_COOL_DOWN_MS_MAX;
    assert_false(health_rests(&health, long_ago));
    assert_int_equal(note(TOOLRACK_E_TIMEOUT, long_ago), HEALTH_RESTS_ON);
    assert_true(health_rests(&health, long_ago));
}

/* ------------------------------------------------------------ over processes */

static char dir[64];
static struct toolrack *host;
static struct toolrack_error err;
static char logged[4096];

static void take_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    size_t length = strlen(logged);
    (void)user;
    (void)snprintf(logged + length, sizeof logged - length, "%d %s: %s\n", (int)level, source,
                   line);
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *opened = NULL;
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.log = take_line;
    options.log_level = TOOLRACK_LOG_INFO;
    assert_int_equal(toolrack_open(&options, &opened, &err), 0);
    return opened;
}

static int open_in_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    logged[0] = '\0';
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    host = open_host();
    return 0;
}

static int close_and_remove(void **state) {
    char command[96];
    (void)state;
    toolrack_close(host);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void note_call(struct toolrack *on, const char *version, int code, int64_t now_ms) {
    const struct health_outcome outcome = {.tool = "frail",
                                           .version = version,
                                           .plugin = IDENTITY,
                                           .code = code,
                                           .ended_ms = now_ms};
    note_outcomes(on, &outcome, 1);
}

static void assert_blacklist(const char *expected) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_marked(host, TOOLRACK_MARK_BLACKLIST, &text, &err), 0);
    const char *json = toolrack_text_data(text, NULL);
    if (expected[0] == '\0' ? strcmp(json, "[]") != 0 : strstr(json, expected) == NULL) {
        fail_msg("'%s' is not in %s", expected, json);
    }
}

static void failures_of_several_hosts_add_up(void **state) {
    (void)state;
    for (int i = 0; i < HEALTH_FAILURES; i++) {
        assert_blacklist("");
        note_call(host, "1.0.0", TOOLRACK_E_EXECUTION_FAILED, NOW + i);
        note_call(host, "2.0.0", 0, NOW + i);
        toolrack_close(host);
        host = open_host();
    }
    assert_blacklist("\"tool\":\"frail@1.0.0\"");
    assert_blacklist("\"who\":\"automatic\"");
    assert_blacklist("\"retry_ms\":1700000300004");
    assert_non_null(strstr(logged, "2 recommend: Tool 'frail@1.0.0' is on the blacklist: it failed "
                                   "5 times in a row within 10 minutes; it is tried again in 300 "
                                   "s\n"));
    struct toolrack *other = open_host();
    note_call(other, "1.0.0", 0, NOW + MINUTE);
    toolrack_close(other);
    assert_blacklist("");
    assert_non_null(strstr(logged, "1 recommend: Tool 'frail@1.0.0' is off the blacklist: a call "
                                   "of it gave a result\n"));
}

/* Another plugin that provides the name has its own failures and results. */
static void failures_are_of_one_plugin(void **state) {
    (void)state;
    struct health_outcome other[HEALTH_FAILURES];
    for (int i = 0; i < HEALTH_FAILURES; i++) {
        other[i] = (struct health_outcome){.tool = "frail",
                                           .version = "1.0.0",
                                           .plugin = "other community:/a",
                                           .code = TOOLRACK_E_TIMEOUT,
                                           .ended_ms = NOW + i};
    }
    note_outcomes(host, other, HEALTH_FAILURES - 1);
    note_call(host, "1.0.0", TOOLRACK_E_TIMEOUT, NOW);
    assert_blacklist("");
    note_outcomes(host, &other[HEALTH_FAILURES - 1], 1);
    note_call(host, "1.0.0", 0, NOW + MINUTE);
    assert_blacklist("\"plugin\":\"other\",\"origin\":\"community:/a\"}]");
    other[0].code = 0;
    note_outcomes(host, other, 1);
    assert_blacklist("");
}

/* A batch is taken in the order in which its calls ended, each tool by itself. */
static void a_batch_is_taken_in_order(void **state) {
    (void)state;
    struct health_outcome batch[60];
    for (size_t i = 0; i < ARRAY_LENGTH(batch); i++) {
        static const char *const names[] = {"c", "a", "b"};
        batch[i] = (struct health_outcome){.tool = names[i % 3],
                                           .version = "1.0.0",
                                           .plugin = IDENTITY,
                                           .ended_ms = NOW + (int64_t)i,
                                           /* "a" fails always, "b" but for the last, "c" never */
                                           .code = i % 3 == 0 || i == 59 ? 0 : TOOLRACK_E_TIMEOUT};
    }
    note_outcomes(host, batch, ARRAY_LENGTH(batch));
    assert_blacklist("\"tool\":\"a@1.0.0\"");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_marked(host, TOOLRACK_MARK_BLACKLIST, &text, &err), 0);
    assert_null(strstr(toolrack_text_data(text, NULL), "b@1.0.0"));
    assert_null(strstr(toolrack_text_data(text, NULL), "c@1.0.0"));
}

/* What is told of a batch is the last thing that people should hear of, not the last thing. */
static void a_recovery_is_told_though_a_failure_follows(void **state) {
    (void)state;
    for (int i = 0; i < HEALTH_FAILURES; i++) {
        note_call(host, "1.0.0", TOOLRACK_E_TIMEOUT, NOW);
    }
    logged[0] = '\0';
    const struct health_outcome batch[] = {{.tool = "frail",
                                            .version = "1.0.0",
                                            .plugin = IDENTITY,
                                            .code = 0,
                                            .ended_ms = NOW + MINUTE},
                                           {.tool = "frail",
                                            .version = "1.0.0",
                                            .plugin = IDENTITY,
                                            .code = TOOLRACK_E_TIMEOUT,
                                            .ended_ms = NOW + MINUTE + 1}};
    note_outcomes(host, batch, ARRAY_LENGTH(batch));
    assert_non_null(strstr(logged, "Tool 'frail@1.0.0' is off the blacklist"));
    assert_blacklist("");
}

static void a_person_takes_it_off(void **state) {
    (void)state;
    for (int i = 0; i < HEALTH_FAILURES; i++) {
        note_call(host, "1.0.0", TOOLRACK_E_EXECUTION_FAILED, NOW);
    }
    assert_int_equal(
            toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "frail@2.0.0", false, NULL, NULL, &err),
            TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "frail", false, NULL, NULL, &err),
                     0);
    assert_blacklist("");
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "frail", false, NULL, NULL, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_string_equal(err.message, "'frail' is not on the blacklist");
}

/* Rows of the first round count so much more. */
#define OLDEST 10000

static void count_row(void *user, const char *tool, const char *version, const char *plugin,
                      const struct store_health *kept) {
    (void)version;
    (void)plugin;
    (void)kept;
    *(int *)user += 1 + (strncmp(tool, "tool_0_", strlen("tool_0_")) == 0 ? OLDEST : 0);
}

static void what_is_kept_is_bounded(void **state) {
    (void)state;
    static struct health_outcome batch[STORE_HEALTH_MAX / 8];
    static char names[ARRAY_LENGTH(batch)][32];
    for (int round = 0; round < 9; round++) {
        for (size_t i = 0; i < ARRAY_LENGTH(batch); i++) {
            (void)snprintf(names[i], sizeof names[i], "tool_%d_%zu", round, i);
            batch[i] = (struct health_outcome){.tool = names[i],
                                               .version = "1.0.0",
                                               .plugin = IDENTITY,
                                               .code = TOOLRACK_E_TIMEOUT,
                                               .ended_ms = NOW + round};
        }
        note_outcomes(host, batch, round < 8 ? ARRAY_LENGTH(batch) : 3);
    }
    int count = 0;
    assert_int_equal(store_health_read(host->store, count_row, &count, &err), 0);
    assert_int_equal(count % OLDEST, STORE_HEALTH_MAX);
    assert_int_equal(count / OLDEST, ARRAY_LENGTH(batch) - 3);
}

static int count_kept(void) {
    int count = 0;
    assert_int_equal(store_health_read(host->store, count_row, &count, &err), 0);
    return count;
}

static void mark_frail(enum store_list list) {
    static const char *const plugins[] = {IDENTITY};
    assert_int_equal(
            store_mark(host->store,
                       &(struct store_mark){
                               .selector = "frail", .list = list, .who = "ann", .since_ms = NOW},
                       plugins, 1, &err),
            0);
}

/* To be on the blacklist by hand does not clear them. */
static void the_whitelist_clears_failures(void **state) {
    (void)state;
    note_call(host, "1.0.0", TOOLRACK_E_TIMEOUT, NOW);
    mark_frail(STORE_BLACKLIST);
    assert_int_equal(count_kept(), 1);
    mark_frail(STORE_WHITELIST);
    assert_int_equal(count_kept(), 0);
}

#define RULE(name) cmocka_unit_test_setup(name, make_healthy)
#define KEPT(name) cmocka_unit_test_setup_teardown(name, open_in_folder, close_and_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
            RULE(failures_in_a_row_put_it_on_the_list),
            RULE(what_a_damaged_file_says_is_bounded),
            RULE(a_result_begins_the_row_anew),
            RULE(failures_far_apart_do_not_count),
            RULE(what_is_not_the_tools_fault_does_not_count),
            RULE(what_happens_while_it_rests_changes_nothing),
            RULE(it_is_offered_once_for_a_retry),
            RULE(each_retry_that_fails_doubles_the_cool_down),
            RULE(a_clock_that_is_set_back_holds_nobody),
            KEPT(failures_of_several_hosts_add_up),
            KEPT(failures_are_of_one_plugin),
            KEPT(a_batch_is_taken_in_order),
            KEPT(a_recovery_is_told_though_a_failure_follows),
            KEPT(a_person_takes_it_off),
            KEPT(what_is_kept_is_bounded),
            KEPT(the_whitelist_clears_failures),
    };
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
