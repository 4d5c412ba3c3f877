/* Calls while they run: progress, log, cancellation; and what is told of changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "gate.h"
#include "mcp-unit.h"
#include "serve/mcp/progress.h"
#include "serve/mcp/server.h"
#include "toolrack/plugin.h"

static void progress_and_log_come_before_the_answer(void **state) {
    (void)state;
    struct talk talk;
    check_rows(&(struct row){INITIALIZE("2025-11-25"), "*"}, 1);
    talk_pipe(&talk, pipe_, CALL("1", "speak", ",\"_meta\":{\"progressToken\":\"t\"}"));
    (void)talk_wait(&talk);
    static const char *const expected[] = {
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
            "message\",\"params\":{\"level\":\"info\","
            "\"logger\":\"speak\",\"data\":\"a \\\"line\\\"\"}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
            "progress\",\"params\":{\"progressToken\":"
            "\"t\",\"progress\":0*,\"total\":100*}}",
            "*\"progress\":50*,\"total\":100*,\"message\":\"half\"}}",
            "*\"progress\":100*,\"total\":100*}}",
    };
    assert_int_equal(talk.sent_count, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        assert_matches(talk.sent[i], expected[i]);
    }
    talk_finish(&talk);
    /* Without a token no progress, and without a level no log in the stateless era. */
    talk_pipe(&talk, pipe_, CALL("1", "speak", "," META));
    (void)talk_wait(&talk);
    assert_int_equal(talk.sent_count, 0);
    talk_finish(&talk);
    talk_pipe(&talk, pipe_,
              CALL("1", "speak",
                   ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                   "\"io.modelcontextprotocol/clientCapabilities\":{},"
                   "\"io.modelcontextprotocol/logLevel\":\"debug\"}"));
    (void)talk_wait(&talk);
    assert_int_equal(talk.sent_count, 2);
    talk_finish(&talk);
}

/* The value of the progress of a notification. */
static double progress_of(const char *sent) {
    const char *at = strstr(sent, "\"progress\":");
    assert_non_null(at);
    return strtod(at + strlen("\"progress\":"), NULL);
}

static void a_silent_call_gives_signs_of_life(void **state) {
    (void)state;
    mcp->timers.delay_ms[TIMER_HEARTBEAT] = 50;
    static const char *const versions[] = {INITIALIZE("2024-11-05"), INITIALIZE("2025-11-25")};
    static const char *const words[] = {"*,\"progress\":*}}", "*,\"message\":\"still running\"}}"};
    for (size_t v = 0; v < ARRAY_LENGTH(versions); v++) {
        struct talk talk;
        gate_reset();
        check_rows(&(struct row){versions[v], "*"}, 1);
        talk_pipe(&talk, pipe_, CALL("2", "stay", ",\"_meta\":{\"progressToken\":7}"));
        (void)talk_wait_sent(&talk, 3);
        gate_open();
        assert_matches(talk_wait(&talk), "*\"id\":2,\"result\":*stayed*");
        for (size_t i = 0; i < talk.sent_count; i++) {
            assert_matches(talk.sent[i], "*notifications/progress*\"progressToken\":7,*");
            assert_matches(talk.sent[i], words[v]);
            assert_int_equal(strstr(talk.sent[i], "message") == NULL, v == 0);
            assert_true(i == 0 || progress_of(talk.sent[i]) > progress_of(talk.sent[i - 1]));
        }
        talk_finish(&talk);
    }
    /* Who wants no progress gets no signs either. */
    struct talk talk;
    struct talk silent;
    gate_reset();
    talk_pipe(&silent, pipe_, CALL("3", "stay", ""));
    talk_pipe(&talk, pipe_, CALL("2", "stay", ",\"_meta\":{\"progressToken\":7}"));
    (void)talk_wait_sent(&talk, 3);
    gate_open();
    (void)talk_wait(&talk);
    (void)talk_wait(&silent);
    assert_int_equal(silent.sent_count, 0);
    talk_finish(&talk);
    talk_finish(&silent);
}

static void progress_is_told_so_often_and_no_more(void **state) {
    (void)state;
    struct talk talk;
    check_rows(&(struct row){INITIALIZE("2025-11-25"), "*"}, 1);
    uint64_t start_ns = clock_now_ns();
    talk_pipe(&talk, pipe_, CALL("1", "rush", ",\"_meta\":{\"progressToken\":\"t\"}"));
    assert_matches(talk_wait(&talk), "*rushed*");
    /* However long it took: what the rate allows in that time, and the last one. */
    uint64_t more = (clock_now_ns() - start_ns) * PROGRESS_RATE_S / CLOCK_NS_PER_S + 1;
    assert_in_range(talk.sent_count, PROGRESS_BURST, PROGRESS_BURST + more + 1);
    for (size_t i = 1; i < talk.sent_count; i++) {
        assert_true(progress_of(talk.sent[i]) > progress_of(talk.sent[i - 1]));
    }
    assert_true(progress_of(talk.sent[talk.sent_count - 1]) == 1000);
    talk_finish(&talk);
}

static void a_call_is_cancelled(void **state) {
    (void)state;
    struct talk call;
    struct talk twin;
    talk_pipe(&call, pipe_, CALL("\"c\"", "stay", "," META));
    gate_await_come(1);
    /* Its id is in use meanwhile, and other requests are answered. */
    talk_pipe(&twin, pipe_, CALL("\"c\"", "echo", ",\"arguments\":{\"message\":\"a\"}," META));
    assert_matches(talk_wait(&twin), "*\"code\":-32600*another id*");
    talk_finish(&twin);
    check_rows(&(struct row){CALL("\"d\"", "echo", ",\"arguments\":{\"message\":\"a\"}," META),
                             "*\"text\":\"a\"*"},
               1);
    check_rows(
            &(struct row){"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                          "\"requestId\":\"c\",\"reason\":\"enough\"}}",
                          ""},
            1);
    assert_string_equal(talk_wait(&call), "");
    talk_finish(&call);
    gate_await_cancelled(1);
    /* The id is free again. */
    check_rows(&(struct row){CALL("\"c\"", "echo", ",\"arguments\":{\"message\":\"a\"}," META),
                             "*\"text\":\"a\"*"},
               1);
}

static void a_subscription_tells_of_changes(void **state) {
    (void)state;
    struct talk tools;
    struct talk prompts;
    talk_pipe(&tools, pipe_,
              "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"subscriptions/listen\",\"params\":{"
              "\"notifications\":{\"toolsListChanged\":true}," META "}}");
    assert_string_equal(
            talk_wait_sent(&tools, 1),
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
            "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"},"
            "\"notifications\":{\"toolsListChanged\":true}}}");
    talk_pipe(&prompts, pipe_,
              "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"subscriptions/listen\",\"params\":{"
              "\"notifications\":{\"promptsListChanged\":true}," META "}}");
    check_rows(&(struct row){INITIALIZE("2025-11-25"), "*"}, 1);
    /* Many changes are told as one, to the client of the handshake too. */
    assert_int_equal(toolrack_set_enabled(rack, "echo", false, NULL, NULL), 0);
    assert_int_equal(toolrack_set_enabled(rack, "twice", false, NULL, NULL), 0);
    assert_string_equal(
            talk_wait_sent(&tools, 2),
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\","
            "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"}}}");
    assert_string_equal(talk_wait_sent(&way, 1),
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    static const struct row rows[] = {
            {CALL("1", "echo", ""), "*\"code\":-32602*disabled*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
             "*\"result\":{\"tools\":[{\"name\":\"parts\"*"},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":"
             "\"l\"}}",
             ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{" META
             "}}",
             "*\"code\":-32602*"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
    assert_string_equal(talk_wait(&tools), "");
    talk_finish(&tools);
    assert_int_equal(prompts.sent_count, 1);
    mcp_drain(mcp);
    assert_matches(talk_wait(&prompts),
                   "*\"id\":\"p\",\"result\":{\"resultType\":\"complete\",\"_meta\":{"
                   "\"io.modelcontextprotocol/subscriptionId\":\"p\",*");
    talk_finish(&prompts);
}

static void what_runs_is_answered_before_the_pipe_is_closed(void **state) {
    (void)state;
    struct mcp_pipe *second = NULL;
    struct talk second_way;
    struct talk call;
    struct toolrack_error err;
    talk_init(&second_way);
    assert_int_equal(mcp_pipe_open(mcp, &principal, &second_way.exchange, &second, &err), 0);
    talk_pipe(&call, second, CALL("1", "stay", "," META));
    gate_await_come(1);
    gate_open();
    mcp_pipe_close(second, false);
    assert_true(call.finished);
    assert_matches(talk_wait(&call), "*\"text\":\"stayed\"*");
    talk_finish(&call);
    talk_finish(&second_way);
}

static tr_status traced(struct tr_call *call) {
    const char *trace = tr_context(call, TR_CONTEXT_TRACE);
    return tr_reply_text(call, trace != NULL ? trace : "untraced");
}

static void a_call_is_in_the_trace_of_its_message(void **state) {
    (void)state;
    static const struct tr_tool tool = {.size = sizeof tool,
                                        .name = "traced",
                                        .description = "Gives its place in a trace",
                                        .schema = "{\"type\":\"object\"}",
                                        .run = traced};
    static const struct tr_tool *const table[] = {&tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "traces",
                                     .version = "1.0.0",
                                     .tools = table,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool)};
    assert_int_equal(toolrack_register(rack, &plugin, NULL, NULL), 0);
#define TRACE      "4bf92f3577b34da6a3ce929d0e0e4736"
#define OF(parent) "\"traceparent\":\"" parent "\""
    check_rows(
            (const struct row[]){
                    {CALL("1", "traced",
                          ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                          "\"io.modelcontextprotocol/clientCapabilities\":{}," OF(
                                  "00-" TRACE "-00f067aa0ba902b7-01") "}"),
                     "*\"text\":\"00-" TRACE "-*-01\"*"},
                    {CALL("2", "traced", "," META), "*\"text\":\"untraced\"*"},
                    {INITIALIZE("2025-11-25"), "*"},
                    {CALL("3", "traced", ",\"_meta\":{" OF("00-" TRACE "-00f067aa0ba902b7-00") "}"),
                     "*\"text\":\"00-" TRACE "-*-00\"*"},
                    {CALL("4", "traced", ",\"_meta\":{" OF("00-" TRACE "-x-00") "}"),
                     "*\"text\":\"untraced\"*"},
                    {CALL("5", "traced", ",\"_meta\":{\"traceparent\":7}"),
                     "*\"text\":\"untraced\"*"},
                    {CALL("6", "traced", ""), "*\"text\":\"untraced\"*"}},
            7);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)
    const struct CMUnitTest tests[] = {
            TEST(progress_and_log_come_before_the_answer),
            TEST(a_silent_call_gives_signs_of_life),
            TEST(progress_is_told_so_often_and_no_more),
            TEST(a_call_is_cancelled),
            TEST(a_subscription_tells_of_changes),
            TEST(what_runs_is_answered_before_the_pipe_is_closed),
            TEST(a_call_is_in_the_trace_of_its_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
