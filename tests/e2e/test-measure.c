/* The CPU time and the memory of calls: of all calls where the configuration asks for them, and of
 * each call that did not end by its deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yyjson.h>

#include <cmocka.h>

#include "e2e.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

/* The two clocks of a call are not read at one moment: a tool that spins may seem to have used more
 * CPU time than there was. */
#define CLOCKS_APART_NS 50000000u

/* So many short calls that a sample leaves some out, however slow the machine is. */
#define CALLS 300u

/* ---------------------------------------------------------------------- host */

static struct toolrack *host;

static void open_host(const char *config) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error *err = NULL;
    e2e_write("toolrack.json", config);
    options.config_file = "toolrack.json";
    options.state_dir = "state";
    if (toolrack_open(&options, &host, err) < 0) {
        fail_msg("the host does not open");
    }
}

static void close_host(void) {
    toolrack_close(host);
    host = NULL;
}

static int call(const char *tool, const char *arguments, uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = deadline_ms;
    int code = toolrack_call(host, tool, arguments, &options, &result, NULL);
    toolrack_result_free(result);
    return code;
}

static void call_often(const char *tool, const char *arguments) {
    for (unsigned i = 0; i < CALLS; i++) {
        (void)call(tool, arguments, TOOLRACK_NO_DEADLINE);
    }
}

static yyjson_doc *statistics_of(const char *tool) {
    struct toolrack_text *text = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_statistics(host, tool, &text, NULL), 0);
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    toolrack_text_unref(text);
    assert_non_null(doc);
    return doc;
}

static uint64_t number_at(yyjson_doc *doc, const char *pointer) {
    yyjson_val *value = yyjson_doc_ptr_get(doc, pointer);
    assert_true(yyjson_is_uint(value));
    return yyjson_get_uint(value);
}

/* Of how many calls of the tool the cost is known. */
static void count_measured(const char *tool, uint64_t *ret_cpu, uint64_t *ret_memory) {
    yyjson_doc *doc = statistics_of(tool);
    assert_int_equal(number_at(doc, "/0/calls"), CALLS);
    *ret_cpu = number_at(doc, "/0/cpu_calls");
    *ret_memory = number_at(doc, "/0/memory_calls");
    yyjson_doc_free(doc);
}

static void expect_all(const char *tool) {
    uint64_t cpu;
    uint64_t memory;
    count_measured(tool, &cpu, &memory);
    assert_int_equal(cpu, CALLS);
    assert_int_equal(memory, CALLS);
}

static void expect_some(const char *tool, bool isolated) {
    uint64_t cpu;
    uint64_t memory;
    count_measured(tool, &cpu, &memory);
    assert_in_range(cpu, 1, CALLS - 1);
    assert_in_range(memory, 1, isolated ? CALLS - 1 : CALLS);
}

/* The cost of the last call in the log; its duration. */
static void last_cost(uint64_t *ret_cpu_ns, uint64_t *ret_memory, uint64_t *ret_duration_ns) {
    struct toolrack_text *text = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_log(host, NULL, &text, NULL), 0);
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *rows = yyjson_doc_get_root(doc);
    yyjson_val *row = yyjson_arr_get_last(rows);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(row, "/error/type")), "Timeout");
    assert_true(yyjson_is_uint(yyjson_obj_get(row, "cpu_ns")));
    assert_true(yyjson_is_uint(yyjson_obj_get(row, "memory")));
    *ret_cpu_ns = yyjson_get_uint(yyjson_obj_get(row, "cpu_ns"));
    *ret_memory = yyjson_get_uint(yyjson_obj_get(row, "memory"));
    *ret_duration_ns = yyjson_get_uint(yyjson_obj_get(row, "duration_ns"));
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
}

/* --------------------------------------------------------------------- cases */

static void a_sample_is_measured_by_default(void **state) {
    (void)state;
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"process\"}");
    call_often("typed", "{\"a\":1}");
    expect_some("typed", true);
    close_host();
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"none\"}");
    call_often("waits_if", "{\"spins\":\"no\"}");
    expect_some("waits_if", false);
    close_host();
}

static void the_host_asks_for_all(void **state) {
    (void)state;
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"process\", \"measure\": \"all\"}");
    call_often("typed", "{\"a\":1}");
    expect_all("typed");
    close_host();
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"none\", \"measure\": \"all\"}");
    call_often("waits_if", "{\"spins\":\"no\"}");
    expect_all("waits_if");
    close_host();
}

static void a_policy_asks_for_all_or_for_a_sample(void **state) {
    (void)state;
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"process\", "
              "\"policies\": {\"says\": {\"measure\": \"all\"}}}");
    call_often("typed", "{\"a\":1}");
    expect_all("typed");
    close_host();
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"none\", \"measure\": \"all\", "
              "\"policies\": {\"says\": {\"measure\": \"sampled\"}}}");
    call_often("waits_if", "{\"spins\":\"no\"}");
    expect_some("waits_if", false);
    close_host();
}

/* A mock runs in the host, a native tool in a worker. */
static void a_definition_asks_for_all(void **state) {
    (void)state;
    open_host("{\"tools\": ["
              "{\"name\": \"every\", \"description\": \"x\", \"type\": \"function\", "
              "\"parameters\": {\"type\": \"object\"}, \"measure\": \"all\", "
              "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}, "
              "{\"name\": \"some\", \"description\": \"x\", \"type\": \"function\", "
              "\"parameters\": {\"type\": \"object\"}, "
              "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}, "
              "{\"name\": \"cosine\", \"description\": \"x\", \"type\": \"function\", "
              "\"measure\": \"all\", \"implementation\": {\"type\": \"native\", "
              "\"library\": \"libm.so.6\", \"symbol\": \"cos\", "
              "\"arguments\": [{\"name\": \"x\", \"type\": \"float64\"}], "
              "\"result\": {\"type\": \"float64\"}}}]}");
    call_often("every", "{}");
    expect_all("every");
    call_often("some", "{}");
    expect_some("some", false);
    call_often("cosine", "{\"x\":0}");
    expect_all("cosine");
    close_host();
}

static tr_status answer(struct tr_call *call) {
    return tr_reply_text(call, "here");
}
TR_JSON_TOOL(answer, "Answers", TR_SCHEMA({"type" : "object"}))

static void a_plugin_of_the_app_is_measured_likewise(void **state) {
    (void)state;
    static const struct tr_tool *const tools[] = {&tr_tool_answer};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "own",
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tools = tools,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool)};
    open_host("{\"measure\": \"all\"}");
    assert_int_equal(toolrack_register(host, &plugin, NULL, NULL), 0);
    call_often("answer", "{}");
    expect_all("answer");
    close_host();
}

/* The call that does not end is not one that the sample would have taken. */
static void a_late_call_has_its_cost(void **state) {
    (void)state;
    static const char *const configs[] = {
            "{\"folders\": [\"tools\"], \"isolation\": \"process\"}",
            "{\"folders\": [\"tools\"], \"isolation\": \"none\"}",
            "{\"folders\": [\"tools\"], \"isolation\": \"process\", \"measure\": \"all\"}"};
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        uint64_t cpu_ns;
        uint64_t memory;
        uint64_t duration_ns;
        open_host(configs[i]);
        for (unsigned n = 0; n < 3; n++) {
            assert_int_equal(call("waits_if", "{\"spins\":\"no\"}", 0), 0);
        }
        assert_int_equal(call("waits_if", "{\"spins\":\"yes\"}", 300), TOOLRACK_E_TIMEOUT);
        last_cost(&cpu_ns, &memory, &duration_ns);
        assert_in_range(cpu_ns, 1, duration_ns + CLOCKS_APART_NS);
        assert_true(memory > 0 || strstr(configs[i], "none") != NULL);
        close_host();
    }
}

/* It blocks the signal by which the host asks. */
static void a_late_call_that_does_not_answer_has_its_cost(void **state) {
    (void)state;
    uint64_t cpu_ns;
    uint64_t memory;
    uint64_t duration_ns;
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"process\"}");
    assert_int_equal(call("waits_if", "{\"spins\":\"deaf\"}", 300), TOOLRACK_E_TIMEOUT);
    last_cost(&cpu_ns, &memory, &duration_ns);
    assert_in_range(cpu_ns, 1, duration_ns + CLOCKS_APART_NS);
    assert_true(memory > 0);
    close_host();
}

/* Its worker has computed before; the call itself only sleeps. */
static void a_late_call_has_only_its_own_cost(void **state) {
    (void)state;
    uint64_t cpu_ns;
    uint64_t memory;
    uint64_t duration_ns;
    open_host("{\"folders\": [\"tools\"], \"isolation\": \"process\", "
              "\"policies\": {\"says\": {\"workers\": 1}}}");
    for (unsigned n = 0; n < 3; n++) {
        assert_int_equal(call("waits_if", "{\"spins\":\"for a while\"}", 0), 0);
    }
    assert_int_equal(call("waits_if", "{\"spins\":\"sleeps\"}", 300), TOOLRACK_E_TIMEOUT);
    last_cost(&cpu_ns, &memory, &duration_ns);
    assert_in_range(cpu_ns, 0, duration_ns / 2);
    assert_true(memory > 0);
    close_host();
}

static void it_is_shown(void **state) {
    (void)state;
    e2e_write("toolrack.json",
              "{\"folders\": [\"tools\"], \"isolation\": \"process\", \"measure\": \"all\"}");
#define WITH(...) \
    RUN_WITH({.bare = true}, "--config", "toolrack.json", "--state", "state", __VA_ARGS__)
    EXPECT(WITH("call", "spins", "--timeout", "300"), 6, "", NULL);
    EXPECT(WITH("log", "1"), 0, "*\ncpu *\nmemory *", NULL);
    EXPECT_JSON(WITH("statistics", "--json"), 0, "/0/cpu_calls", "1", "/0/memory_calls", "1");
    EXPECT(WITH("statistics", "spins"), 0, "*\ncpu *, of 1 call\nmemory * KiB, of 1 call\n*", NULL);
}

static void anything_else_is_refused(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\"measure\": \"some\", \"folders\": [\"tools\"]}");
    EXPECT(WITH("list"), 1, "", "*/measure must be one of \"sampled\", \"all\"*");
}

static int setup(void **state) {
    char from[512];
    int code = e2e_setup(state) | mkdir("tools", 0755);
    (void)snprintf(from, sizeof from, "%s/says.so", getenv("E2E_BUILDS"));
    e2e_copy(from, "tools/says.so", 0);
    return code;
}

static int teardown(void **state) {
    close_host();
    return e2e_teardown(state);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
            CASE(a_sample_is_measured_by_default),
            CASE(the_host_asks_for_all),
            CASE(a_policy_asks_for_all_or_for_a_sample),
            CASE(a_definition_asks_for_all),
            CASE(a_plugin_of_the_app_is_measured_likewise),
            CASE(a_late_call_has_its_cost),
            CASE(a_late_call_that_does_not_answer_has_its_cost),
            CASE(a_late_call_has_only_its_own_cost),
            CASE(it_is_shown),
            CASE(anything_else_is_refused),
    };
    return cmocka_run_group_tests_name("measure", tests, NULL, NULL);
}
