/* What a tool asks the client for, in both eras. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "mcp-unit.h"

#define ASKS_INITIALIZE(capabilities)                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\",\"capabilities\":" capabilities ",\"clientInfo\":{\"name\":\"c\",\"version\":" \
    "\"1\"}}}"

static void a_client_of_the_handshake_is_asked_while_the_tool_waits(void **state) {
    (void)state;
    static const struct row begin = {ASKS_INITIALIZE("{\"elicitation\":{},\"sampling\":{}}"), "*"};
    static const struct row rows[] = {
            /* Others' ids are ignored. */
            {"{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-9\",\"result\":{}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-1\",\"result\":{\"action\":\"accept\","
             "\"content\":{\"name\":\"Ada\"}}}",
             ""},
    };
    static const struct row model = {"{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-2\",\"result\":{"
                                     "\"role\":\"assistant\",\"content\":{"
                                     "\"type\":\"text\",\"text\":\"ho\"},\"model\":\"m\"}}",
                                     ""};
    struct talk talk;
    check_rows(&begin, 1);
    talk_pipe(&talk, pipe_, CALL("1", "quiz", ""));
    assert_matches(talk_wait_sent(&talk, 1),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-1\",\"method\":\"elicitation/create\","
                   "\"params\":{\"mode\":\"form\",\"message\":\"Who?\",\"requestedSchema\":{*"
                   "\"name\"*}}}");
    check_rows(rows, ARRAY_LENGTH(rows));
    assert_matches(
            talk_wait_sent(&talk, 2),
            "{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-2\",\"method\":\"sampling/createMessage\","
            "\"params\":{\"messages\":*\"maxTokens\":5}}");
    check_rows(&model, 1);
    assert_matches(talk_wait(&talk),
                   "*\"text\":\"{\\\"name\\\":\\\"Ada\\\"}|{\\\"role\\\":*ho*\"}]}}");
    talk_finish(&talk);
}

static void who_cannot_answer_is_not_asked(void **state) {
    (void)state;
    static const struct row rows[] = {
            {ASKS_INITIALIZE("{}"), "*"},
            {CALL("1", "quiz", ""), "*\"text\":\"ExecutionFailed: no name\"*\"isError\":true*"},
            {CALL("1", "quiz", "," META), "*\"code\":-32021,*\"data\":{\"requiredCapabilities\":{"
                                          "\"elicitation\":{\"form\":{}}}}}}"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

static void a_question_ends_with_the_client_and_its_call(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":1}}",
             ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-1\",\"result\":{\"action\":\"decline\"}}", ""},
    };
    static const struct row refusal = {"{\"jsonrpc\":\"2.0\",\"id\":\"toolrack-2\",\"error\":{"
                                       "\"code\":-32601,\"message\":\"no\"}}",
                                       ""};
    struct talk cancelled_call;
    struct talk refused;
    struct talk left;
    check_rows(&(struct row){ASKS_INITIALIZE("{\"elicitation\":{}}"), "*"}, 1);
    talk_pipe(&cancelled_call, pipe_, CALL("1", "quiz", ""));
    (void)talk_wait_sent(&cancelled_call, 1);
    check_rows(rows, ARRAY_LENGTH(rows));
    assert_string_equal(talk_wait(&cancelled_call), "");
    talk_finish(&cancelled_call);
    talk_pipe(&refused, pipe_, CALL("1", "quiz", ""));
    (void)talk_wait_sent(&refused, 1);
    check_rows(&refusal, 1);
    assert_matches(talk_wait(&refused), "*no name*");
    talk_finish(&refused);
    /* Nobody answers any more: the tool goes on, and its call is answered. */
    talk_pipe(&left, pipe_, CALL("1", "quiz", ""));
    (void)talk_wait_sent(&left, 1);
    mcp_pipe_close(pipe_, false);
    assert_matches(talk_wait(&left), "*no name*");
    talk_finish(&left);
    talk_finish(&way);
    talk_init(&way);
    struct toolrack_error err;
    assert_int_equal(mcp_pipe_open(mcp, &principal, &way.exchange, &pipe_, &err), 0);
}

#define ABLE(more)                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"sampling\":{}}}" more

/* The state of an answer, for the next round. */
static char *state_of(const char *answer) {
    yyjson_doc *doc = yyjson_read(answer, strlen(answer), 0);
    yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
    const char *text = yyjson_get_str(yyjson_obj_get(result, "requestState"));
    assert_non_null(text);
    char *copy = strdup(text);
    yyjson_doc_free(doc);
    return copy;
}

/* One round of the quiz; the answer. */
static char *round_of(struct mcp_pipe *client, const char *arguments, const char *responses,
                      const char *request_state) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, CALL("1", "quiz", ",\"arguments\":%s%s%s%s%s%s," ABLE("")), arguments,
               responses != NULL ? ",\"inputResponses\":" : "", responses != NULL ? responses : "",
               request_state != NULL ? ",\"requestState\":\"" : "",
               request_state != NULL ? request_state : "", request_state != NULL ? "\"" : "");
    struct talk talk;
    talk_pipe(&talk, client, text.data);
    char *answer = strdup(talk_wait(&talk));
    assert_int_equal(talk.sent_count, 0);
    talk_finish(&talk);
    return answer;
}

static void a_client_of_the_stateless_era_answers_in_rounds(void **state) {
    (void)state;
    static const char ada[] =
            "{\"user\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}},\"x\":1}";
    static const char ho[] =
            "{\"model\":{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":"
            "\"ho\"},\"model\":\"m\"}}";
    CLEANUP(freep) char *first = round_of(pipe_, "{}", NULL, NULL);
    assert_matches(first,
                   "*\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"user\":{"
                   "\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",*}}},"
                   "\"requestState\":\"*\"," SERVER "}}");
    CLEANUP(freep) char *state_1 = state_of(first);
    /* What is missing or malformed is asked for again. */
    CLEANUP(freep) char *empty = round_of(pipe_, "{}", "{}", state_1);
    assert_matches(empty, "*\"inputRequests\":{\"user\":*");
    CLEANUP(freep)
    char *malformed = round_of(pipe_, "{}", "{\"user\":{\"action\":\"shrug\"}}", state_1);
    assert_matches(malformed, "*\"inputRequests\":{\"user\":*");
    CLEANUP(freep) char *second = round_of(pipe_, "{}", ada, state_1);
    assert_matches(second,
                   "*\"inputRequests\":{\"model\":{\"method\":\"sampling/createMessage\",*}},*");
    CLEANUP(freep) char *state_2 = state_of(second);
    /* The answers of the earlier rounds come with the state. */
    CLEANUP(freep) char *third = round_of(pipe_, "{}", ho, state_2);
    assert_matches(third, "*\"resultType\":\"complete\",*Ada*|*ho*");
    CLEANUP(freep) char *alone = round_of(pipe_, "{}", ho, NULL);
    assert_matches(alone, "*\"inputRequests\":{\"user\":*");

    /* A state is of this principal, this method and these arguments, as it was given. */
    CLEANUP(freep) char *other_arguments = round_of(pipe_, "{\"a\":1}", ho, state_2);
    assert_matches(other_arguments, "*\"code\":-32602,*another request*");
    state_2[strlen(state_2) / 2] ^= 1;
    CLEANUP(freep) char *changed = round_of(pipe_, "{}", ho, state_2);
    assert_matches(changed, "*\"code\":-32602,*");
    struct mcp_pipe *stranger = NULL;
    struct talk stranger_way;
    struct toolrack_error err;
    talk_init(&stranger_way);
    assert_int_equal(mcp_pipe_open(mcp, &(struct principal){.id = "other", .permissions = ~0u},
                                   &stranger_way.exchange, &stranger, &err),
                     0);
    CLEANUP(freep) char *foreign = round_of(stranger, "{}", ada, state_1);
    assert_matches(foreign, "*\"code\":-32602,*another request*");
    mcp_pipe_close(stranger, true);
    talk_finish(&stranger_way);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)
    const struct CMUnitTest tests[] = {
            TEST(a_client_of_the_handshake_is_asked_while_the_tool_waits),
            TEST(who_cannot_answer_is_not_asked),
            TEST(a_question_ends_with_the_client_and_its_call),
            TEST(a_client_of_the_stateless_era_answers_in_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
