/* The recorder: what was called, in the log and in the statistics, and what hides, fills or fails
 * on the way there. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/ring.h"
#include "base/thread.h"
#include "patience.h"
#include "record/meter.h"
#include "schema/own-secrets.h"
#include "schema/secret.h"
#include "store/calls.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#define SECRET        "hunter2-is-a-secret"
#define SECRET_NUMBER "73519773"

/* ----------------------------------------------------------------- fixture */

static char dir[64];
static struct toolrack *host;
static struct toolrack_error err;
static yyjson_doc *read_doc;    /* what was read last */
static atomic_uint store_lines; /* of the host's log, about the store */

static tr_status echo(struct tr_call *call) {
    return tr_put_string(call, NULL, tr_get_string(call, "text", "nothing"));
}

static tr_status refuse(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "no, for a reason");
}

static tr_status hang(struct tr_call *call) {
    AWAIT(tr_cancelled(call));
    return tr_fail(call, TR_CANCELLED, NULL, "told to end");
}

/* Repeats a secret, and has no word for it in its result. */
static tr_status mirror(struct tr_call *call) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "you said %s to me", tr_get_string(call, "password", "nothing"));
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "said", text.data);
    return tr_put_end(call);
}

static tr_status login(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "token", SECRET);
    (void)tr_put_string(call, "user", "ann");
    return tr_put_end(call);
}

static const struct tr_tool echo_tool = {.size = sizeof echo_tool,
                                         .name = "echo",
                                         .description = "Echo",
                                         .schema = "{\"type\":\"object\"}",
                                         .run = echo};
static const struct tr_tool refuse_tool = {.size = sizeof refuse_tool,
                                           .name = "refuse",
                                           .description = "Refuse",
                                           .schema = "{\"type\":\"object\"}",
                                           .run = refuse};
static const struct tr_tool hang_tool = {.size = sizeof hang_tool,
                                         .name = "hang",
                                         .description = "Hang",
                                         .schema = "{\"type\":\"object\"}",
                                         .run = hang};
static const struct tr_tool mirror_tool = {
        .size = sizeof mirror_tool,
        .name = "mirror",
        .description = "Repeat",
        .schema = "{\"type\":\"object\",\"properties\":{\"password\":{\"type\":\"string\","
                  "\"format\":\"password\",\"default\":\"" SECRET "\"}}}",
        .run = mirror};
static const struct tr_tool login_tool = {
        .size = sizeof login_tool,
        .name = "login",
        .description = "Log in",
        .schema = "{\"type\":\"object\",\"properties\":{\"user\":{\"type\":\"string\"},"
                  "\"password\":{\"type\":\"string\",\"format\":\"password\"},"
                  "\"pin\":{\"type\":\"integer\",\"writeOnly\":true,\"maximum\":9999},"
                  "\"keys\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/key\"}}},"
                  "\"$defs\":{\"key\":{\"type\":\"string\",\"writeOnly\":true}}}",
        .result_schema = "{\"type\":\"object\",\"properties\":{\"token\":{\"type\":\"string\","
                         "\"writeOnly\":true}}}",
        .run = login};

static void count_store_lines(void *user, enum toolrack_log_level level, const char *source,
                              const char *line) {
    (void)user;
    (void)level;
    (void)line;
    store_lines += strcmp(source, "store") == 0;
}

static void open_configured_host(const char *state_dir, const char *config_file) {
    static const struct tr_tool *const table[] = {&echo_tool, &refuse_tool, &hang_tool, &login_tool,
                                                  &mirror_tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "recorded",
                                     .version = "1.2.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tools = table,
                                     .tool_count = ARRAY_LENGTH(table),
                                     .tool_size = sizeof(struct tr_tool)};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config_file;
    options.state_dir = state_dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.log = count_store_lines;
    toolrack_close(host);
    host = NULL;
    store_lines = 0;
    assert_int_equal(toolrack_open(&options, &host, &err), 0);
    assert_int_equal(toolrack_register(host, &plugin, NULL, &err), 0);
}

static void open_host(const char *state_dir) {
    open_configured_host(state_dir, "");
}

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    toolrack_close(host);
    host = NULL;
    yyjson_doc_free(read_doc);
    read_doc = NULL;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static int call_with(const char *name, const char *arguments, uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.caller = "ann";
    options.conversation = "talk";
    options.deadline_ms = deadline_ms;
    int code = toolrack_call(host, name, arguments, &options, &result, &err);
    if (code == 0) {
        toolrack_result_free(result);
    }
    return code;
}

static int call(const char *name, const char *arguments) {
    return call_with(name, arguments, TOOLRACK_NO_DEADLINE);
}

static yyjson_val *take(struct toolrack_text *text) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc_free(read_doc);
    read_doc = yyjson_read(json, length, 0);
    toolrack_text_unref(text);
    assert_non_null(read_doc);
    return yyjson_doc_get_root(read_doc);
}

static yyjson_val *read_log(const struct toolrack_log_filter *filter) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_log(host, filter, &text, &err), 0);
    return take(text);
}

static yyjson_val *read_statistics(const char *name) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_statistics(host, name, &text, &err), 0);
    return take(text);
}

static const char *text_at(yyjson_val *root, const char *pointer) {
    return yyjson_get_str(yyjson_ptr_get(root, pointer));
}

static uint64_t number_at(yyjson_val *root, const char *pointer) {
    yyjson_val *value = yyjson_ptr_get(root, pointer);
    assert_true(yyjson_is_uint(value));
    return yyjson_get_uint(value);
}

static yyjson_val *read_metrics(void) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_metrics(host, &text, &err), 0);
    return take(text);
}

/* What is told of a name (NULL: of those that have no row of their own); or NULL. */
static yyjson_val *metrics_of(yyjson_val *root, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_obj_get(root, "tools"), at, count, row) {
        const char *tool = text_at(row, "/tool");
        if (name == NULL ? tool == NULL : tool != NULL && strcmp(tool, name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* --------------------------------------------------------------------- log */

static void a_call_is_logged_and_counted(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("echo", "{\"text\":\"hello\"}"), 0);
    assert_int_equal(call("refuse", "{}"), TOOLRACK_E_EXECUTION_FAILED);
    yyjson_val *log = read_log(NULL);
    assert_int_equal(yyjson_arr_size(log), 2);
    assert_string_equal(text_at(log, "/0/tool"), "echo");
    assert_string_equal(text_at(log, "/0/version"), "1.2.0");
    assert_string_equal(text_at(log, "/0/plugin"), "recorded");
    assert_string_equal(text_at(log, "/0/caller"), "ann");
    assert_string_equal(text_at(log, "/0/channel"), "api");
    assert_string_equal(text_at(log, "/0/conversation"), "talk");
    assert_true(yyjson_is_null(yyjson_ptr_get(log, "/0/trace")));
    assert_string_equal(text_at(log, "/0/arguments"), "{\"text\":\"hello\"}");
    assert_string_equal(text_at(log, "/0/result"), "\"hello\"");
    assert_int_equal(number_at(log, "/0/bytes_in"), 16);
    assert_int_equal(number_at(log, "/0/bytes_out"), 7);
    assert_true(yyjson_is_true(yyjson_ptr_get(log, "/0/ok")));
    assert_true(yyjson_is_null(yyjson_ptr_get(log, "/0/error")));
    assert_true(yyjson_is_uint(yyjson_ptr_get(log, "/0/cpu_ns")));
    assert_true(number_at(log, "/0/time_ms") > 1500000000000);
    assert_false(yyjson_is_true(yyjson_ptr_get(log, "/1/ok")));
    assert_string_equal(text_at(log, "/1/error/type"), "ExecutionFailed");
    assert_string_equal(text_at(log, "/1/error/message"), "no, for a reason");
    assert_string_equal(text_at(log, "/1/error/tool_name"), "refuse");
    assert_true(number_at(log, "/1/id") > number_at(log, "/0/id"));
}

static void the_statistics_outlive_the_host(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        open_host(dir);
        assert_int_equal(call("echo", "{}"), 0);
        assert_int_equal(call("refuse", "{}"), TOOLRACK_E_EXECUTION_FAILED);
    }
    open_host(dir);
    yyjson_val *statistics = read_statistics(NULL);
    assert_int_equal(yyjson_arr_size(statistics), 2);
    assert_string_equal(text_at(statistics, "/0/tool"), "echo");
    assert_int_equal(number_at(statistics, "/0/calls"), 3);
    assert_int_equal(number_at(statistics, "/0/failures"), 0);
    assert_true(number_at(statistics, "/0/p50_ns") <= number_at(statistics, "/0/p99_ns"));
    assert_true(number_at(statistics, "/0/p99_ns") <= number_at(statistics, "/0/max_ns"));
    assert_int_equal(number_at(statistics, "/1/failures"), 3);
    assert_string_equal(text_at(statistics, "/1/last_error/type"), "ExecutionFailed");
    assert_true(number_at(statistics, "/1/last_error/time_ms") >=
                number_at(statistics, "/1/first_ms"));
    assert_int_equal(yyjson_arr_size(read_statistics("echo@1.2.0")), 1);
    assert_int_equal(yyjson_arr_size(read_statistics("hang")), 0);
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_statistics(host, "ehco", &text, &err), TOOLRACK_E_NOT_FOUND);
}

static void the_log_is_filtered(void **state) {
    (void)state;
    open_host(dir);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(call("echo", "{}"), 0);
        assert_int_equal(call("refuse", "{}"), TOOLRACK_E_EXECUTION_FAILED);
    }
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.tool = "echo";
    assert_int_equal(yyjson_arr_size(read_log(&filter)), 5);
    filter.tool = "echo@1.2.0";
    assert_int_equal(yyjson_arr_size(read_log(&filter)), 5);
    filter.tool = "echo@1.2.1";
    assert_int_equal(yyjson_arr_size(read_log(&filter)), 0);
    filter.tool = NULL;
    filter.errors = true;
    assert_int_equal(yyjson_arr_size(read_log(&filter)), 5);
    filter.errors = false;
    filter.limit = 3;
    yyjson_val *newest = read_log(&filter);
    assert_int_equal(yyjson_arr_size(newest), 3);
    uint64_t middle = number_at(newest, "/1/id");
    assert_true(number_at(newest, "/0/id") < middle);
    filter.after_id = middle;
    assert_int_equal(yyjson_arr_size(read_log(&filter)), 1);
    filter.after_id = 0;
    filter.since_ms = INT64_MAX;
    assert_int_equal(yyjson_arr_size(read_log(&filter)), 0);
}

static void long_texts_are_cut_at_a_character(void **state) {
    (void)state;
    char arguments[2 * TOOLRACK_LOG_ARGUMENTS_MAX + 64] = "{\"text\":\"x";
    size_t at = strlen(arguments);
    for (unsigned i = 0; i < TOOLRACK_LOG_ARGUMENTS_MAX; i++) {
        memcpy(arguments + at, "\xc3\xbc", 2);
        at += 2;
    }
    memcpy(arguments + at, "\"}", 3);
    open_host(dir);
    assert_int_equal(call("echo", arguments), 0);
    yyjson_val *log = read_log(NULL);
    size_t length = strlen(text_at(log, "/0/arguments"));
    assert_in_range(length, TOOLRACK_LOG_ARGUMENTS_MAX - 1, TOOLRACK_LOG_ARGUMENTS_MAX);
    assert_int_equal(number_at(log, "/0/bytes_in"), at + 2);
    assert_in_range(strlen(text_at(log, "/0/result")), TOOLRACK_LOG_RESULT_MAX - 1,
                    TOOLRACK_LOG_RESULT_MAX);
}

static void arguments_that_are_no_text_do_not_spoil_the_log(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("echo", "{\"text\":\"\xff\xfe\"}"), TOOLRACK_E_INVALID_ARGUMENTS);
    assert_int_equal(call("echo", NULL), 0);
    yyjson_val *log = read_log(NULL);
    assert_string_equal(text_at(log, "/0/arguments"), "{\"text\":\"??\"}");
    assert_string_equal(text_at(log, "/1/arguments"), "");
}

/* ---------------------------------------------------------------- retention */

#define DAY_MS   INT64_C(86400000)
#define OLD_ROWS 40

/* Rows of that age, as large as an argument may be, with no limit in force. */
static void add_rows(int64_t age_ms, size_t count) {
    static char text[TOOLRACK_LOG_ARGUMENTS_MAX + 1];
    const struct store_calls_limits all = {0};
    struct timespec now;
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    const struct store_call row = {.time_ms = (int64_t)now.tv_sec * 1000 - age_ms,
                                   .tool = "old",
                                   .version = "1.0.0",
                                   .plugin = "recorded",
                                   .arguments = text,
                                   .result = "1"};
    const struct store_statistics usage = {
            .tool = row.tool, .version = row.version, .plugin = row.plugin, .calls = 1};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(store_calls_add(host->store, &row, 1, &usage, 1, &all, &err), 0);
    }
}

/* How many rows of `old` stay when there is another call. */
static size_t rows_left(void) {
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(toolrack_flush(host, &err), 0);
    filter.limit = UINT32_MAX;
    size_t count = yyjson_arr_size(read_log(&filter));
    filter.tool = "echo";
    return count - yyjson_arr_size(read_log(&filter));
}

static void configure(const char *text) {
    static char path[96];
    (void)snprintf(path, sizeof path, "%s/toolrack.json", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    open_configured_host(dir, path);
}

static void the_log_is_kept_for_so_long_and_no_longer(void **state) {
    (void)state;
    open_host(dir);
    add_rows(31 * DAY_MS, OLD_ROWS);
    add_rows(29 * DAY_MS, OLD_ROWS);
    assert_int_equal(rows_left(), 2 * OLD_ROWS); /* until so many are newer: a clock may be wrong */
    add_rows(0, STORE_CALLS_CLOCK);
    assert_int_equal(rows_left(), OLD_ROWS + STORE_CALLS_CLOCK);
    configure("{\"log\": {\"days\": 2}}");
    add_rows(1 * DAY_MS, STORE_CALLS_CLOCK);
    assert_int_equal(rows_left(), 2 * STORE_CALLS_CLOCK);
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), 3); /* statistics stay */
}

static void the_log_is_so_large_and_no_larger(void **state) {
    (void)state;
    const size_t rows = 2 * 1024 * 1024 / TOOLRACK_LOG_ARGUMENTS_MAX;
    open_host(dir);
    add_rows(0, rows);
    assert_int_equal(rows_left(), rows);
    configure("{\"log\": {\"megabytes\": 1}}");
    assert_in_range(rows_left(), rows / 4, rows / 2);
}

/* ------------------------------------------------------------------ secrets */

/* Whether the files of the state folder hold a text. */
static bool folder_has(const char *text) {
    char command[160];
    (void)snprintf(command, sizeof command, "grep -rqF -- '%s' '%s'", text, dir);
    return system(command) == 0;
}

static void check_secrets_by(void (*collect)(yyjson_val *schema, yyjson_val *value,
                                             struct buf *ret),
                             const char *schema, const char *arguments, const char *text,
                             const char *expected) {
    yyjson_doc *of = yyjson_read(schema, strlen(schema), 0);
    yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), 0);
    struct buf secrets = BUF_INIT;
    char room[256];
    assert_true(of != NULL && doc != NULL);
    collect(yyjson_doc_get_root(of), yyjson_doc_get_root(doc), &secrets);
    (void)snprintf(room, sizeof room, "%s", text);
    secrets_mask(&secrets, room);
    assert_string_equal(room, expected);
    buf_finish(&secrets);
    yyjson_doc_free(of);
    yyjson_doc_free(doc);
}

static void check_secrets(const char *arguments, const char *text, const char *expected) {
    check_secrets_by(schema_collect_secrets,
                     "{\"properties\":{\"s\":{\"writeOnly\":true},\"t\":{\"format\":"
                     "\"password\"}}}",
                     arguments, text, expected);
}

/* Wherever a secret may be among arguments, and whatever may take its place. */
static void secrets_of_arguments_are_found_in_text(void **state) {
    (void)state;
    static const struct {
        const char *arguments;
        const char *text;
        const char *expected;
    } rows[] = {
            {"{\"s\":\"abcd\",\"u\":\"efgh\"}", "abcd efgh", "*** efgh"},
            {"{\"S\":\"abcd\",\"x\":{\"s\":[12345,true]}}", "abcd 12345 true", "*** *** true"},
            {"{\"o\":\"{\\\"s\\\":\\\"abcd\\\",\\\"u\\\":\\\"efgh\\\"}\"}", "abcd efgh",
             "*** efgh"},
            {"{\"o\":\"{\\\"s\\\":\\\"abcd\"}", "{\\\"s\\\":\\\"abcd", "***"},
            {"\"{\\\"s\\\":\\\"abcd\\\"}\"", "abcd", "***"},
            {"\"\\\"{\\\\\\\"s\\\\\\\":\\\\\\\"abcd\\\\\\\"}\\\"\"", "abcd", "***"},
            {"{\"arguments\":\"{\\\"s\\\":\\\"abcd\\\"}\"}", "abcd", "***"},
            {"{}", "default-one default-two other", "*** *** other"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        check_secrets_by(
                schema_collect_arguments,
                "{\"properties\":{\"s\":{\"writeOnly\":true,\"default\":\"default-one\"},"
                "\"u\":{\"default\":\"other\"},\"o\":{\"type\":\"object\",\"default\":{\"s\":"
                "\"default-two\"},\"properties\":{\"u\":{},\"s\":{\"format\":\"password\"}}}}}",
                rows[i].arguments, rows[i].text, rows[i].expected);
    }
}

static void secrets_are_found_in_text(void **state) {
    (void)state;
    check_secrets("{\"s\":\"abcd\",\"u\":\"efgh\"}", "xabcdabcdx efgh", "x******x efgh");
    check_secrets("{\"s\":\"abcd\",\"t\":\"abcdef\"}", "abcdef abcde.", "*** ***e.");
    check_secrets("{\"s\":\"ab\"}", "ab", "ab"); /* too short */
    /* Where it stands by itself. */
    check_secrets("{\"s\":\"abc\"}", "abc", "***");
    check_secrets("{\"s\":123}", "1234 0123 a123 123\u00e9 (123) 12",
                  "1234 0123 a123 123\u00e9 (***) 12");
    check_secrets("{\"s\":\"abc\"}", "abc-abc,\\nabc xabc", "***-***,\\n*** xabc");
    check_secrets("{\"s\":12345}", "pin 12345.", "pin ***.");
    check_secrets("{\"s\":{\"k\":[\"deep-one\",true]}}", "<deep-one> k", "<***> k");
    check_secrets("{\"s\":\"line-1\\nline-2\"}", "line-2 line-1", "*** ***");
    check_secrets("{\"s\":\"long-secret\"}", "cut: long-se", "cut: ***");
    check_secrets("{\"s\":\"long-secret\"}", "lon", "lon");
    check_secrets("{\"u\":\"long-secret\"}", "long-secret", "long-secret");
    /* With JSON escapes, of whatever kind, also at the end of a text that is cut off. */
    check_secrets("{\"s\":\"q\\\"uo\\\\te\"}", "q\\\"uo\\\\te q\"uo\\te", "*** ***");
    check_secrets("{\"s\":\"h\u00e9llo\U0001f600\"}", "h\\u00E9llo\\ud83d\\ude00.", "***.");
    check_secrets("{\"s\":\"long-secret\"}", "\\u006cong\\u002ds\\u00", "***");
    check_secrets("{\"s\":\"long-secret\"}", "\\u006con", "\\u006con");
    /* Too many of them to be looked for. */
    char many[SECRETS_SIZE_MAX + 64];
    (void)snprintf(many, sizeof many, "{\"s\":\"%0*d\"}", (int)SECRETS_SIZE_MAX + 1, 0);
    check_secrets(many, "anything", "***");
    check_secrets(many, "no", "**");
}

#define OWN_SECRET "ann-has-this-key"

static void check_json(const char *secrets, size_t size, const char *json, const char *expected) {
    struct buf known = BUF_INIT;
    struct buf masked = BUF_INIT;
    secrets_add(&known, secrets, size);
    secrets_mask_json(&known, json, strlen(json), &masked);
    assert_string_equal(masked.data, expected);
    buf_finish(&masked);
    buf_finish(&known);
}

static void json_stays_json_without_its_secrets(void **state) {
    static const char some[] = "hunter2\0"
                               "12345\0"
                               "a\"b,c\0"
                               "n0te";
    (void)state;
    check_json(some, sizeof some, "{\"k\":\"a hunter2\",\"hunter2\":[12345,-12345.5,1234]}",
               "{\"k\":\"a ***\",\"***\":[\"***\",\"***\",1234]}");
    check_json(some, sizeof some, "[\"a\\\"b,c\", \"x\\u0068unter\\u0032\", true]",
               "[\"***\", \"x***\", true]");
    check_json(some, sizeof some, "[\"a\",\"b,c\",\"\\n0te\"]", "[\"a\",\"b,c\",\"\\n0te\"]");
    check_json(some, sizeof some, "{\"k\":\"hunt", "{\"k\":\"***"); /* cut off */
    check_json("xsecret\0secret", 15, "[\"secret\"]", "[\"***\"]"); /* the end of another */
    check_json("abc", 4, "[\"abc\",\"abcd\",\"x\\nabc\"]", "[\"***\",\"abcd\",\"x\\n***\"]");
    check_json("123", 4, "{\"k\":123,\"l\":[1234,0.123]}", "{\"k\":\"***\",\"l\":[1234,\"***\"]}");
    check_json("ab", 3, "[\"ab\"]", "[\"ab\"]"); /* too short */
    check_json("", 1, "[\"any\"]", "\"***\"");
}

/* A secret of the process itself, in whatever a tool is given or returns. */
static void own_secrets_do_not_reach_the_disk(void **state) {
    (void)state;
    assert_true(own_secrets_add(OWN_SECRET));
    assert_true(own_secrets_add(OWN_SECRET));
    open_host(dir);
    assert_int_equal(call("login", "{\"user\":\"" OWN_SECRET "\"}"), 0);
    assert_int_equal(call("login", "{\"user\":5,\"x\":\"<" OWN_SECRET ">\"}"),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    yyjson_val *log = read_log(NULL);
    assert_string_equal(text_at(log, "/0/arguments"), "{\"user\":\"***\"}");
    toolrack_close(host);
    host = NULL;
    assert_true(folder_has("recorded"));
    assert_false(folder_has(OWN_SECRET));
    /* The oldest are forgotten for new ones, which fit. */
    char text[128];
    for (unsigned i = 0; i < SECRETS_SIZE_MAX / 8; i++) {
        (void)snprintf(text, sizeof text, "secret-%u", i);
        assert_true(own_secrets_add(text));
    }
    own_secrets_mask(text);
    assert_string_equal(text, "***");
    (void)snprintf(text, sizeof text, "%s", OWN_SECRET);
    own_secrets_mask(text);
    assert_string_equal(text, OWN_SECRET);
    char many[SECRETS_SIZE_MAX + 1];
    (void)snprintf(many, sizeof many, "%0*d", (int)SECRETS_SIZE_MAX, 0);
    assert_false(own_secrets_add(many));
}

static void secrets_do_not_reach_the_disk(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("login", "{\"user\":\"ann\",\"password\":\"" SECRET
                                   "\",\"keys\":[\"" SECRET "\"]}"),
                     0);
    assert_int_equal(call("login", "{\"password\":\"" SECRET), TOOLRACK_E_INVALID_ARGUMENTS);
    assert_int_equal(call("login", "{\"pin\":" SECRET_NUMBER "}"), TOOLRACK_E_INVALID_ARGUMENTS);
    assert_non_null(strstr(err.message, SECRET_NUMBER)); /* the caller knows it */
    assert_int_equal(call("login", "{\"user\":5}"), TOOLRACK_E_INVALID_ARGUMENTS);
    yyjson_val *log = read_log(NULL);
    assert_string_equal(text_at(log, "/2/error/message"), "***");
    assert_string_equal(text_at(log, "/3/error/message"),
                        "must be a string, not an integer; write it in quotes");
    assert_string_equal(text_at(log, "/0/arguments"),
                        "{\"user\":\"ann\",\"password\":\"***\",\"keys\":[\"***\"]}");
    assert_string_equal(text_at(log, "/0/result"), "{\"token\":\"***\",\"user\":\"ann\"}");
    assert_string_equal(text_at(log, "/1/arguments"), "***");
    toolrack_close(host);
    host = NULL;
    assert_true(folder_has("recorded"));
    assert_false(folder_has(SECRET));
    assert_false(folder_has(SECRET_NUMBER));
}

/* The mask of one value by one schema. */
static void check_mask_by(yyjson_mut_val *(*hide)(yyjson_val *schema, yyjson_mut_doc *doc,
                                                  yyjson_mut_val *value),
                          const char *schema, const char *value, const char *expected) {
    yyjson_doc *schema_doc = yyjson_read(schema, strlen(schema), 0);
    yyjson_doc *value_doc = yyjson_read(value, strlen(value), 0);
    yyjson_mut_doc *changed = yyjson_doc_mut_copy(value_doc, NULL);
    yyjson_val *root = yyjson_doc_get_root(schema_doc);
    assert_true(schema_has_secrets(root));
    yyjson_mut_doc_set_root(changed, hide(root, changed, yyjson_mut_doc_get_root(changed)));
    char *text = yyjson_mut_write(changed, 0, NULL);
    assert_string_equal(text, expected);
    free(text);
    yyjson_mut_doc_free(changed);
    yyjson_doc_free(value_doc);
    yyjson_doc_free(schema_doc);
}

static void check_mask(const char *schema, const char *value, const char *expected) {
    check_mask_by(schema_mask, schema, value, expected);
}

static void every_part_of_a_schema_can_hide(void **state) {
    (void)state;
    check_mask("{\"writeOnly\":true}", "{\"a\":1}", "\"***\"");
    check_mask("{\"additionalProperties\":{\"format\":\"password\"},\"properties\":{\"a\":{}}}",
               "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":\"***\"}");
    check_mask("{\"patternProperties\":{\"^x\":{\"writeOnly\":true}}}", "{\"y\":1}",
               "{\"y\":\"***\"}");
    check_mask("{\"prefixItems\":[{},{\"writeOnly\":true}]}", "[1,2,3]", "[1,\"***\",3]");
    check_mask("{\"anyOf\":[{},{\"properties\":{\"a\":{\"writeOnly\":true}}}]}", "{\"a\":[1]}",
               "{\"a\":\"***\"}");
    check_mask("{\"properties\":{\"a\":{\"$ref\":\"#elsewhere\"},\"b\":{\"writeOnly\":true}}}",
               "{\"a\":1}", "{\"a\":\"***\"}");
    /* A tree of itself; and one that leads to itself without an end. */
    check_mask("{\"properties\":{\"p\":{\"writeOnly\":true},\"next\":{\"$ref\":\"#\"}}}",
               "{\"next\":{\"next\":{\"p\":1,\"q\":2}}}",
               "{\"next\":{\"next\":{\"p\":\"***\",\"q\":2}}}");
    check_mask("{\"type\":[\"object\",\"null\"],\"properties\":{\"p\":{\"writeOnly\":true}}}",
               "\"{\\\"p\\\":1}\"", "\"***\"");
    check_mask("{\"type\":[\"array\",\"string\"],\"items\":{\"writeOnly\":true}}", "\"x\"",
               "\"x\"");
    check_mask("{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}],"
               "\"properties\":{\"p\":{\"writeOnly\":true}}}",
               "{\"q\":2}", "\"***\"");
}

/* A secret under a misspelled name is none by its schema. */
static void what_a_schema_does_not_know_is_masked_beside_secrets(void **state) {
    (void)state;
    static const char schema[] =
            "{\"additionalProperties\":false,\"properties\":{\"api_key\":{\"writeOnly\":true},"
            "\"q\":{\"type\":\"string\"},\"list\":{\"items\":{\"$ref\":\"#/$defs/item\"}},"
            "\"free\":{},\"map\":{\"additionalProperties\":{\"type\":\"string\"}}},"
            "\"allOf\":[{\"properties\":{\"more\":{\"anyOf\":[{\"properties\":{\"a\":true}},"
            "{\"properties\":{\"b\":{}}}]}}}],\"$defs\":{\"item\":{\"properties\":{\"k\":{}}}}}";
    static const struct {
        const char *arguments;
        const char *expected;
    } rows[] = {
            {"{\"api_key\":\"x\",\"q\":\"y\"}", "{\"api_key\":\"***\",\"q\":\"y\"}"},
            {"{\"apikey\":\"x\",\"q\":\"y\"}", "{\"apikey\":\"***\",\"q\":\"y\"}"},
            {"{\"key\":{\"api\":[\"x\",7,true,null]},\"q\":\"y\"}",
             "{\"key\":{\"api\":[\"***\",\"***\",true,null]},\"q\":\"y\"}"},
            {"{\"list\":[{\"k\":\"x\"},{\"key\":\"x\"},\"y\"]}",
             "{\"list\":[{\"k\":\"x\"},{\"key\":\"***\"},\"y\"]}"},
            {"{\"free\":\"y\",\"map\":{\"a\":\"y\"}}", "{\"free\":\"y\",\"map\":{\"a\":\"y\"}}"},
            {"{\"free\":{\"api_key\":\"x\"},\"q\":{\"api_key\":\"x\"}}",
             "{\"free\":{\"api_key\":\"***\"},\"q\":{\"api_key\":\"***\"}}"},
            {"{\"more\":{\"a\":\"y\",\"b\":\"y\",\"c\":\"x\"}}",
             "{\"more\":{\"a\":\"y\",\"b\":\"y\",\"c\":\"***\"}}"},
            {"[\"y\",{\"api_key\":\"x\"}]", "[\"y\",{\"api_key\":\"***\"}]"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        check_mask_by(schema_mask_arguments, schema, rows[i].arguments, rows[i].expected);
    }
    check_mask_by(schema_mask_arguments,
                  "{\"allOf\":[{\"$ref\":\"#\"}],\"properties\":{\"p\":{\"writeOnly\":true},"
                  "\"n\":{\"$ref\":\"#/properties\"}},\"patternProperties\":{\"\":{}}}",
                  "{\"n\":{},\"q\":\"x\"}", "\"***\"");
    /* Results and what a tool prints are as they were. */
    check_mask(schema, "{\"apikey\":\"x\"}", "{\"apikey\":\"x\"}");
}

static void a_misspelled_secret_does_not_reach_the_disk(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("login", "{\"user\":\"ann\",\"pasword\":\"" SECRET "\"}"), 0);
    assert_int_equal(call("login", "{\"user\":5,\"pasword\":\"" SECRET "\"}"),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    yyjson_val *log = read_log(NULL);
    assert_string_equal(text_at(log, "/0/arguments"), "{\"user\":\"ann\",\"pasword\":\"***\"}");
    assert_string_equal(text_at(log, "/1/arguments"), "{\"user\":5,\"pasword\":\"***\"}");
    toolrack_close(host);
    host = NULL;
    assert_false(folder_has(SECRET));
}

/* A result that has no schema repeats what a caller gave, or a default. */
static void a_secret_that_a_result_repeats_does_not_reach_the_disk(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("mirror", "{\"password\":\"" SECRET "\"}"), 0);
    assert_int_equal(call("mirror", "{}"), 0);
    assert_int_equal(call("mirror", NULL), 0);
    assert_int_equal(call("mirror", "{\"password\":\"no\"}"), 0);
    yyjson_val *log = read_log(NULL);
    assert_string_equal(text_at(log, "/0/result"), "{\"said\":\"you said *** to me\"}");
    assert_string_equal(text_at(log, "/1/result"), "{\"said\":\"you said *** to me\"}");
    assert_string_equal(text_at(log, "/2/result"), "{\"said\":\"you said *** to me\"}");
    assert_string_equal(text_at(log, "/3/result"), "{\"said\":\"you said no to me\"}");
    toolrack_close(host);
    host = NULL;
    assert_false(folder_has(SECRET));
}

/* -------------------------------------------------------------------- ends */

static void count_done(void *user, struct toolrack_result *result,
                       const struct toolrack_error *why) {
    (void)why;
    toolrack_result_free(result);
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void each_end_of_a_call_is_logged_once(void **state) {
    (void)state;
    open_host(dir);
    atomic_uint done = 0;
    struct toolrack_call *submitted = NULL;
    assert_int_equal(call_with("echo", "{}", 10000), 0);
    assert_int_equal(call_with("hang", "{}", 20), TOOLRACK_E_TIMEOUT);
    assert_int_equal(toolrack_submit(host, "hang", "{}", NULL, count_done, &done, &submitted, &err),
                     0);
    toolrack_cancel(submitted);
    toolrack_call_unref(submitted);
    assert_int_equal(toolrack_set_enabled(host, "echo", false, NULL, &err), 0);
    assert_int_equal(call("echo", "{}"), TOOLRACK_E_DISABLED);
    AWAIT(atomic_load(&done) != 0);
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    yyjson_val *log = read_log(&filter);
    assert_int_equal(yyjson_arr_size(log), 4);
    filter.tool = "hang";
    log = read_log(&filter);
    assert_string_equal(text_at(log, "/0/error/type"), "Timeout");
    assert_string_equal(text_at(log, "/1/error/type"), "Cancelled");
    filter.tool = "echo";
    log = read_log(&filter);
    assert_string_equal(text_at(log, "/1/error/type"), "Disabled");
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), 2);
}

#define THREADS 4
#define EACH    500

static void *call_often(void *unused) {
    for (int i = 0; i < EACH; i++) {
        struct toolrack_result *result = NULL;
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        options.deadline_ms = TOOLRACK_NO_DEADLINE;
        if (toolrack_call(host, "echo", "{}", &options, &result, NULL) == 0) {
            toolrack_result_free(result);
        }
    }
    return unused;
}

static void call_from_threads(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(toolrack_flush(host, &err), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static void calls_of_many_threads_are_all_counted(void **state) {
    (void)state;
    open_host(dir);
    call_from_threads();
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.limit = 2 * THREADS * EACH;
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), THREADS * EACH);
    assert_int_equal(number_at(read_statistics("echo"), "/0/unlogged"), 0);
    assert_int_equal(yyjson_arr_size(read_log(&filter)), THREADS * EACH);
    assert_int_equal(number_at(metrics_of(read_metrics(), "echo"), "/calls"), THREADS * EACH);
    assert_int_equal(number_at(read_metrics(), "/calls/running"), 0);
}

/* Rings that a host has: a power of two, one for each CPU. */
static unsigned ring_count(void) {
    unsigned count = 1;
    while (2 * count <= thread_cpu_count() && 2 * count <= RECORD_RINGS_MAX) {
        count *= 2;
    }
    return count;
}

/* Another process writes to the store: the writer has taken one call out of the rings and waits,
 * until the connection is closed. */
static sqlite3 *hold_up_the_writer(void) {
    char path[96];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    assert_int_equal(toolrack_flush(host, &err), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(call("echo", "{}"), 0);
    (void)usleep(2 * RECORD_GATHER_MS * 1000);
    return db;
}

/* While nobody empties them the rings are filled. */
static void what_does_not_fit_is_counted(void **state) {
    (void)state;
    char arguments[2000];
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%01500d\"}", 0);
    open_host(dir);
    assert_int_equal(call("echo", "{}"), 0);
    /* Each with its arguments and its result, which are as long. */
    unsigned calls = ring_count() * (RECORD_RING_SIZE / 1500);
    sqlite3 *other = hold_up_the_writer();
    for (unsigned i = 0; i < calls; i++) {
        assert_int_equal(call("echo", arguments), 0);
    }
    (void)sqlite3_close(other);
    yyjson_val *statistics = read_statistics("echo");
    uint64_t unlogged = number_at(statistics, "/0/unlogged");
    assert_int_equal(number_at(statistics, "/0/calls"), calls + 2);
    assert_in_range(unlogged, calls / 3, calls - 1);
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.limit = calls + 2;
    assert_int_equal(yyjson_arr_size(read_log(&filter)) + unlogged, calls + 2);
    yyjson_val *metrics = read_metrics();
    assert_int_equal(number_at(metrics, "/unlogged/full") + number_at(metrics, "/unlogged/limit"),
                     unlogged);
    assert_true(store_lines >= 1);
}

/* One thread has the room of all rings: nobody may empty them, and half of it is filled. */
static void a_burst_finds_room_in_every_ring(void **state) {
    (void)state;
    char arguments[2000];
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%01500d\"}", 0);
    open_host(dir);
    assert_int_equal(call("echo", "{}"), 0);
    unsigned calls = ring_count() * (RECORD_RING_SIZE / 2 / 1500) * 3 / 4;
    sqlite3 *other = hold_up_the_writer();
    for (unsigned i = 0; i < calls; i++) {
        assert_int_equal(call("echo", arguments), 0);
    }
    (void)sqlite3_close(other);
    yyjson_val *statistics = read_statistics("echo");
    assert_int_equal(number_at(statistics, "/0/calls"), calls + 2);
    assert_int_equal(number_at(statistics, "/0/unlogged"), 0);
}

/* ------------------------------------------------------------------- limits */

/* Open with a configuration that says no more than `log`. */
static int open_with_log(const char *log) {
    char path[96];
    (void)snprintf(path, sizeof path, "%s/toolrack.json", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "{\"log\": %s} // how much is kept\n", log);
    (void)fclose(file);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *refused = NULL;
    options.config_file = path;
    options.state_dir = dir;
    options.no_scan = true;
    int code = toolrack_open(&options, &refused, &err);
    toolrack_close(refused);
    if (code == 0) {
        open_configured_host(dir, path);
    }
    return code;
}

static void what_the_configuration_says_of_the_log_is_checked(void **state) {
    (void)state;
    static const char *const wrong[] = {"30",
                                        "{\"days\": 0}",
                                        "{\"days\": -1}",
                                        "{\"days\": 1.5}",
                                        "{\"megabytes\": \"many\"}",
                                        "{\"megabytes\": 4294967296}",
                                        "{\"hours\": 3}"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_true(open_with_log(wrong[i]) < 0);
        assert_int_equal(strncmp(err.field, "/log", 4), 0);
    }
    assert_int_equal(open_with_log("{}"), 0);
    assert_int_equal(open_with_log("{\"days\": 1, \"megabytes\": 2}"), 0);
    assert_int_equal(config_settings(host->config)->log_days, 1);
    assert_int_equal(config_settings(host->config)->log_megabytes, 2);
}

/* Some three megabytes of calls, of which the newest stay. */
static void the_configured_size_of_the_log_is_kept_to(void **state) {
    (void)state;
    char arguments[2000];
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%01500d\"}", 0);
    assert_int_equal(open_with_log("{\"megabytes\": 1}"), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(call("echo", arguments), 0);
        if (i % 100 == 99) {
            assert_int_equal(toolrack_flush(host, &err), 0);
        }
    }
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.limit = 2000;
    yyjson_val *log = read_log(&filter);
    size_t count = yyjson_arr_size(log);
    assert_in_range(count, 300, 400);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(yyjson_arr_get_last(log), "id")), 1000);
    assert_int_equal(number_at(log, "/0/id"), 1001 - count);
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), 1000);
}

/* ------------------------------------------------------------------- faults */

/* A call from somewhere; its row of the log. */
static yyjson_val *log_of(const char *name, const char *channel, const char *caller,
                          const char *conversation, const char *trace) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    struct toolrack_result *result = NULL;
    options.channel = channel;
    options.caller = caller;
    options.conversation = conversation;
    options.trace = trace;
    if (toolrack_call(host, name, "{}", &options, &result, &err) == 0) {
        toolrack_result_free(result);
    }
    filter.limit = 1;
    filter.before_id = INT64_MAX;
    return yyjson_arr_get_first(read_log(&filter));
}

static bool is_json(yyjson_val *value, const char *expected) {
    yyjson_doc *doc = yyjson_read(expected, strlen(expected), 0);
    bool is = yyjson_equals(value, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return is;
}

static void the_log_has_the_names_of_opentelemetry(void **state) {
    (void)state;
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    open_host(dir);
    yyjson_val *row = log_of("echo", "mcp", "session:s1", "s1", trace);
    assert_true(is_json(yyjson_obj_get(row, "attributes"),
                        "{\"gen_ai.operation.name\":\"execute_tool\",\"gen_ai.tool.name\":"
                        "\"echo\",\"mcp.method.name\":\"tools/call\",\"mcp.session.id\":\"s1\"}"));
    assert_string_equal(text_at(row, "/trace"), trace);
    assert_string_equal(text_at(row, "/trace_id"), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_string_equal(text_at(row, "/span_id"), "00f067aa0ba902b7");
    assert_string_equal(text_at(row, "/trace_flags"), "01");
    row = log_of("refuse", "rest", "token:t", "c1", "r-1");
    assert_true(is_json(yyjson_obj_get(row, "attributes"),
                        "{\"gen_ai.operation.name\":\"execute_tool\",\"gen_ai.tool.name\":"
                        "\"refuse\",\"gen_ai.conversation.id\":\"c1\",\"error.type\":"
                        "\"ExecutionFailed\"}"));
    assert_string_equal(text_at(row, "/trace"), "r-1");
    assert_null(yyjson_obj_get(row, "trace_id"));
    row = log_of("echo", "mcp", "stdio:1", "p1", NULL); /* a pipe has no session of the protocol */
    assert_null(yyjson_ptr_get(row, "/attributes/mcp.session.id"));
    assert_string_equal(text_at(row, "/attributes/mcp.method.name"), "tools/call");
}

/* ----------------------------------------------------------------- metrics */

static uint64_t sum_of(yyjson_val *numbers) {
    uint64_t sum = 0;
    size_t at;
    size_t count;
    yyjson_val *number;
    yyjson_arr_foreach (numbers, at, count, number) {
        sum += yyjson_get_uint(number);
    }
    return sum;
}

static void a_call_is_in_the_metrics_when_it_has_ended(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(read_metrics(), "tools")), 0);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(call("refuse", "{}"), TOOLRACK_E_EXECUTION_FAILED);
    assert_int_equal(call_with("hang", "{}", 20), TOOLRACK_E_TIMEOUT);
    assert_int_equal(call("echo", "["), TOOLRACK_E_INVALID_ARGUMENTS);
    yyjson_val *root = read_metrics(); /* nothing was flushed */
    yyjson_val *echo_row = metrics_of(root, "echo");
    yyjson_val *hang_row = metrics_of(root, "hang");
    assert_int_equal(number_at(echo_row, "/calls"), 3);
    assert_int_equal(number_at(echo_row, "/errors/InvalidArguments"), 1);
    assert_int_equal(yyjson_obj_size(yyjson_obj_get(echo_row, "errors")), 1);
    assert_int_equal(number_at(metrics_of(root, "refuse"), "/errors/ExecutionFailed"), 1);
    assert_int_equal(number_at(hang_row, "/errors/Timeout"), 1);
    assert_true(number_at(hang_row, "/total_ns") >= 20000000);
    assert_int_equal(sum_of(yyjson_obj_get(echo_row, "times")), 3);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(echo_row, "times")),
                     yyjson_arr_size(yyjson_obj_get(root, "bounds_ns")) + 1);
    for (size_t i = 0; i < 6; i++) { /* of 10 ms at most */
        yyjson_val *times = yyjson_obj_get(hang_row, "times");
        assert_int_equal(yyjson_get_uint(yyjson_arr_get(times, i)), 0);
    }
    assert_int_equal(number_at(root, "/registered/enabled"), 5);
    assert_int_equal(number_at(root, "/plugins/loaded") + number_at(root, "/plugins/stuck"), 1);
    assert_int_equal(number_at(root, "/unlogged/limit"), 0);
}

static void a_name_keeps_its_metrics(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(toolrack_unregister_name(host, "echo", &err), 0);
    assert_int_equal(number_at(metrics_of(read_metrics(), "echo"), "/calls"), 1);
    static const struct tr_tool other = {.size = sizeof other,
                                         .name = "echo",
                                         .version = "3.0.0",
                                         .description = "Another",
                                         .schema = "{\"type\":\"object\",\"maxProperties\":2}",
                                         .run = refuse};
    static const struct tr_tool *const table[] = {&other};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "recorded",
                                     .version = "3.0.0",
                                     .tools = table,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool)};
    assert_int_equal(toolrack_register(host, &plugin, NULL, &err), 0);
    assert_int_equal(call("echo", "{}"), TOOLRACK_E_EXECUTION_FAILED);
    yyjson_val *row = metrics_of(read_metrics(), "echo");
    assert_int_equal(number_at(row, "/calls"), 2);
    assert_int_equal(number_at(row, "/errors/ExecutionFailed"), 1);
}

static void what_runs_is_in_the_metrics_while_it_runs(void **state) {
    (void)state;
    open_host(dir);
    struct toolrack_call *submitted[2] = {NULL};
    assert_int_equal(number_at(read_metrics(), "/calls/running"), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(toolrack_submit(host, "hang", "{}", NULL, NULL, NULL, &submitted[i], &err),
                         0);
    }
    AWAIT(number_at(read_metrics(), "/calls/running") == 2);
    assert_null(metrics_of(read_metrics(), "hang"));
    for (size_t i = 0; i < 2; i++) {
        toolrack_cancel(submitted[i]);
        toolrack_call_unref(submitted[i]);
        AWAIT(number_at(read_metrics(), "/calls/running") == 1 - i);
    }
}

/* Tools that are many: FIRST_many_0, ... */
static void register_many(const char *first, size_t count) {
    struct tr_tool *tools = calloc(count, sizeof *tools);
    const struct tr_tool **table = calloc(count, sizeof(struct tr_tool *));
    char(*names)[32] = calloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s_many_%zu", first, i);
        tools[i] = echo_tool;
        tools[i].name = names[i];
        table[i] = &tools[i];
    }
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = first,
                                     .version = "1.0.0",
                                     .tools = table,
                                     .tool_count = (uint32_t)count,
                                     .tool_size = sizeof(struct tr_tool)};
    assert_int_equal(toolrack_register(host, &plugin, NULL, &err), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(call(names[i], "{}"), 0);
    }
    free(names);
    free(table);
    free(tools);
}

static void names_beyond_the_bound_share_their_metrics(void **state) {
    (void)state;
    open_host("");
    register_many("a", METER_NAMES_MAX / 2);
    register_many("b", METER_NAMES_MAX / 2 + 7);
    yyjson_val *root = read_metrics();
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "tools")), METER_NAMES_MAX + 1);
    assert_int_equal(number_at(metrics_of(root, NULL), "/calls"), 7);
    assert_int_equal(number_at(metrics_of(root, "a_many_0"), "/calls"), 1);
    assert_int_equal(call("a_many_0", "{}"), 0);
    assert_int_equal(call("echo", "{}"), 0);
    root = read_metrics();
    assert_int_equal(number_at(metrics_of(root, "a_many_0"), "/calls"), 2);
    assert_int_equal(number_at(metrics_of(root, NULL), "/calls"), 8);
}

static void without_a_store_there_are_statistics(void **state) {
    (void)state;
    open_host("");
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(toolrack_flush(host, &err), 0);
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), 2);
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), 2);
    assert_int_equal(yyjson_arr_size(read_log(NULL)), 0);
}

/* A file stands where the folder should be; then it is moved away. */
static void a_store_that_cannot_be_written_costs_no_call(void **state) {
    (void)state;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/state", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    open_host(path);
    store_lines = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call("echo", "{}"), 0);
        assert_int_equal(toolrack_flush(host, &err), TOOLRACK_E_IO);
    }
    assert_int_equal(store_lines, 1);
    assert_int_equal(number_at(read_metrics(), "/unlogged/unwritten"), 3);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(toolrack_flush(host, &err), 0);
    assert_int_equal(store_lines, 2);
    assert_int_equal(number_at(read_statistics("echo"), "/0/calls"), 4);
    assert_int_equal(yyjson_arr_size(read_log(NULL)), 1);
}

static void run_sql(const char *text) {
    char path[96];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

/* A store that can be read and takes no statistics: what is counted meanwhile is read from memory,
 * and written later. */
static void counts_wait_for_a_store_that_takes_them(void **state) {
    (void)state;
    open_host(dir);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(toolrack_flush(host, &err), 0);
    run_sql("CREATE TRIGGER shut BEFORE INSERT ON usage BEGIN SELECT raise(ABORT, 'shut'); END");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call("echo", "{}"), 0);
        assert_int_equal(call("refuse", "{}"), TOOLRACK_E_EXECUTION_FAILED);
        assert_int_equal(toolrack_flush(host, &err), TOOLRACK_E_IO);
    }
    for (int i = 0; i < 2; i++) {
        yyjson_val *all = read_statistics(NULL);
        assert_int_equal(yyjson_arr_size(all), 2);
        assert_int_equal(number_at(all, "/0/calls"), 4);
        assert_int_equal(number_at(all, "/1/calls"), 3);
        assert_int_equal(number_at(all, "/1/failures"), 3);
        assert_true(number_at(all, "/1/p50_ns") > 0);
        if (i == 0) {
            run_sql("DROP TRIGGER shut");
        }
    }
    /* By buckets too, each call is there once. */
    run_sql("CREATE TABLE seen AS SELECT sum(count) AS n FROM usage_times");
    run_sql("CREATE TABLE right_sum (n INTEGER CHECK (n = 7));"
            "INSERT INTO right_sum SELECT n FROM seen");
    assert_int_equal(yyjson_arr_size(read_log(NULL)), 1);
}

static void a_damaged_store_stays_as_it_is(void **state) {
    (void)state;
    char path[96];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("somebody's own words, and by no means a database", file);
    (void)fclose(file);
    open_host(dir);
    assert_int_equal(call("echo", "{}"), 0);
    assert_int_equal(toolrack_flush(host, &err), TOOLRACK_E_IO);
    toolrack_close(host);
    host = NULL;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 48);
}

/* -------------------------------------------------------------------- ring */

static void a_ring_goes_round(void **state) {
    (void)state;
    struct ring ring;
    unsigned put = 0;
    unsigned got = 0;
    assert_true(ring_init(&ring, 1024));
    while (got < 2000) {
        unsigned *record;
        size_t size = sizeof *record * (1 + put % 17);
        while ((record = ring_reserve(&ring, size)) != NULL) {
            *record = put++;
            ring_commit(record, size);
            size = sizeof *record * (1 + put % 17);
        }
        assert_true(put > got);
        size_t at = ring_start(&ring);
        const unsigned *read;
        for (unsigned i = 0; i < 5 && (read = ring_next(&ring, &at)) != NULL; i++) {
            assert_int_equal(*read, got++);
        }
        ring_release(&ring, at);
    }
    ring_finish(&ring);
}

static void what_is_not_committed_holds_up_the_rest(void **state) {
    (void)state;
    struct ring ring;
    assert_true(ring_init(&ring, 1024));
    char *first = ring_reserve(&ring, 8);
    char *second = ring_reserve(&ring, 8);
    ring_commit(second, 8);
    size_t at = ring_start(&ring);
    assert_null(ring_next(&ring, &at));
    ring_commit(first, 8);
    assert_ptr_equal(ring_next(&ring, &at), first);
    assert_ptr_equal(ring_next(&ring, &at), second);
    assert_null(ring_next(&ring, &at));
    ring_release(&ring, at);
    assert_int_equal(ring_used(&ring), 0);
    assert_null(ring_reserve(&ring, 1024));
    ring_finish(&ring);
}

static void an_emptied_ring_begins_again(void **state) {
    (void)state;
    struct ring ring;
    assert_true(ring_init(&ring, 1024));
    char *first = ring_reserve(&ring, 240);
    ring_commit(first, 240);
    char *second = ring_reserve(&ring, 8);
    ring_commit(second, 8);
    size_t at = ring_start(&ring);
    assert_ptr_equal(ring_next(&ring, &at), first);
    ring_release(&ring, at);
    char *third = ring_reserve(&ring, 8); /* there was one left */
    assert_ptr_equal(third, second + 2 * RING_ALIGN);
    ring_commit(third, 8);
    assert_ptr_equal(ring_next(&ring, &at), second);
    assert_ptr_equal(ring_next(&ring, &at), third);
    ring_release(&ring, at);
    assert_int_equal(ring_used(&ring), 0);
    assert_ptr_equal(ring_reserve(&ring, 1024 - RING_ALIGN), first);
    assert_null(ring_reserve(&ring, 0));
    ring_finish(&ring);
}

/* ------------------------------------------------------------------ buckets */

static void buckets_are_narrow_and_in_order(void **state) {
    (void)state;
    uint32_t before = 0;
    for (uint64_t ns = 1; ns < UINT64_C(1) << 44; ns += 1 + ns / 100) {
        uint32_t bucket = store_time_bucket(ns);
        uint64_t middle = store_time_middle(bucket);
        uint64_t off = middle > ns ? middle - ns : ns - middle;
        assert_true(bucket >= before && bucket < STORE_TIME_BUCKETS);
        assert_true(off * 32 <= ns);
        before = bucket;
    }
    assert_int_equal(store_time_bucket(UINT64_MAX), STORE_TIME_BUCKETS - 1);
    const struct store_time times[] = {{.bucket = 1, .count = 50},
                                       {.bucket = 2, .count = 45},
                                       {.bucket = 3, .count = 4},
                                       {.bucket = 4, .count = 1}};
    assert_int_equal(store_time_quantile(times, 4, 50), 1);
    assert_int_equal(store_time_quantile(times, 4, 95), 2);
    assert_int_equal(store_time_quantile(times, 4, 99), 3);
    assert_int_equal(store_time_quantile(times, 0, 99), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_call_is_logged_and_counted),
            TEST(the_statistics_outlive_the_host),
            TEST(the_log_is_filtered),
            TEST(long_texts_are_cut_at_a_character),
            TEST(arguments_that_are_no_text_do_not_spoil_the_log),
            TEST(the_log_is_kept_for_so_long_and_no_longer),
            TEST(the_log_is_so_large_and_no_larger),
            TEST(secrets_are_found_in_text),
            TEST(json_stays_json_without_its_secrets),
            TEST(secrets_do_not_reach_the_disk),
            TEST(what_a_schema_does_not_know_is_masked_beside_secrets),
            TEST(a_misspelled_secret_does_not_reach_the_disk),
            cmocka_unit_test(every_part_of_a_schema_can_hide),
            cmocka_unit_test(secrets_of_arguments_are_found_in_text),
            TEST(a_secret_that_a_result_repeats_does_not_reach_the_disk),
            TEST(each_end_of_a_call_is_logged_once),
            TEST(calls_of_many_threads_are_all_counted),
            TEST(what_does_not_fit_is_counted),
            TEST(a_burst_finds_room_in_every_ring),
            TEST(what_the_configuration_says_of_the_log_is_checked),
            TEST(the_configured_size_of_the_log_is_kept_to),
            TEST(the_log_has_the_names_of_opentelemetry),
            TEST(a_call_is_in_the_metrics_when_it_has_ended),
            TEST(a_name_keeps_its_metrics),
            TEST(what_runs_is_in_the_metrics_while_it_runs),
            TEST(names_beyond_the_bound_share_their_metrics),
            TEST(without_a_store_there_are_statistics),
            TEST(a_store_that_cannot_be_written_costs_no_call),
            TEST(counts_wait_for_a_store_that_takes_them),
            TEST(a_damaged_store_stays_as_it_is),
            cmocka_unit_test(a_ring_goes_round),
            cmocka_unit_test(what_is_not_committed_holds_up_the_rest),
            cmocka_unit_test(an_emptied_ring_begins_again),
            cmocka_unit_test(buckets_are_narrow_and_in_order),
            /* It leaves as many secrets as there can be. */
            TEST(own_secrets_do_not_reach_the_disk),
    };
    return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
