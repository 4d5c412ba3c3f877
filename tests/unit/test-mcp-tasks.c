/* Calls that are answered with a task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "gate.h"
#include "mcp-server.h"
#include "serve/mcp/server.h"
#include "toolrack/plugin.h"
#include "toolrack/serving.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* ------------------------------------------------------------------ the tools */

#define ANY "{\"type\":\"object\"}"
#define NAME                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]" \
    "}"

static tr_status quick(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(quick, "At once", ANY)

static tr_status stay(struct tr_call *call) {
    return gate_pass(call) ? tr_reply_json(call, "{\"n\":1}") : TR_CANCELLED;
}
TR_JSON_TOOL(stay, ("Wait", .result_schema = ANY), ANY)

static tr_status nap(struct tr_call *call) {
    (void)nanosleep(&(struct timespec){0, 300000000L}, NULL);
    return tr_reply_text(call, "rested");
}
TR_JSON_TOOL(nap, "Sleep", ANY)

static tr_status job(struct tr_call *call) {
    tr_progress(call, 1, 4, "begun");
    return gate_pass(call) ? tr_reply_text(call, "worked") : TR_CANCELLED;
}
TR_JSON_TOOL(job, ("A long job", .flags = TR_TASK_ALWAYS), ANY)

static tr_status fails(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the machine is broken");
}
TR_JSON_TOOL(fails, ("A job that fails", .flags = TR_TASK_ALWAYS), ANY)

static tr_status asks(struct tr_call *call) {
    struct tr_input inputs[] = {
            {.size = sizeof *inputs, .key = "first", .message = "The first?", .schema = NAME},
            {.size = sizeof *inputs, .key = "second", .message = "The second?", .schema = NAME},
            {.size = sizeof *inputs, .kind = TR_INPUT_ROOTS, .key = "roots"}};
    if (tr_inputs(call, inputs, 3) != TR_OK) {
        return tr_fail(call, TR_FAILED, NULL, "nobody answers");
    }
    return tr_reply_textf(call, "%d %s, %d %s, %d", inputs[0].answer, inputs[0].content,
                          inputs[1].answer, inputs[1].content, inputs[2].answer);
}
TR_JSON_TOOL(asks, ("A job that asks", .flags = TR_TASK_ALWAYS), ANY)

static tr_status asks_first(struct tr_call *call) {
    const char *answer = NULL;
    const char *more = NULL;
    if (tr_ask_as(call, "user", "Who?", NAME, &answer) != TR_OK || !gate_pass(call) ||
        tr_ask_as(call, "more", "What else?", NAME, &more) != TR_OK) {
        return tr_fail(call, TR_FAILED, NULL, "nobody answers");
    }
    return tr_reply_textf(call, "%s %s", answer, more);
}
TR_JSON_TOOL(asks_first, "Ask, and wait", ANY)

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE), "1.0.0", quick, stay, nap, job, fails, asks,
          asks_first)

/* ------------------------------------------------------------------ messages */

#define FORMS               "{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define START(name)         CALL("1", name, META_OF(FORMS))
#define ON_TASK(method, id) REQUEST("2", method, "\"taskId\":\"%s\"," META_OF(FORMS)), id
#define CREATED                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"task\",\"taskId\":\"*\","         \
    "\"status\":\"working\",\"createdAt\":\"20*Z\",\"lastUpdatedAt\":\"20*Z\",\"ttlMs\":3600000," \
    "\"pollIntervalMs\":1000,\"_meta\":{*}}}"
#define ACKNOWLEDGED \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\",\"_meta\"*"
/* No timer makes a call a task. */
#define SLOW UINT64_C(100000000)

static void open_tasks(const char *more) {
    char config[512];
    (void)snprintf(config, sizeof config, "{\"serve\":{\"tasks\":{\"after_ms\":400%s}}}", more);
    server_open(config, &toolrack_plugin, NULL);
    server_mcp->later.delay_ms[TIMER_EXPECT] = server_mcp->later.delay_ms[TIMER_TASK] = SLOW;
    gate_reset();
}

struct task_id {
    char text[TOOLRACK_TASK_ID_ROOM];
};

static struct task_id read_id(const char *answer) {
    struct task_id id = {""};
    const char *at = strstr(answer, "\"taskId\":\"");
    assert_non_null(at);
    (void)snprintf(id.text, sizeof id.text, "%s", at + strlen("\"taskId\":\""));
    assert_int_equal(strspn(id.text, "0123456789abcdef"), 32);
    return id;
}

/* Call a tool whose call is answered with a task. */
static struct task_id start(const char *message) {
    struct talk talk;
    talk_pipe(&talk, server_pipe, message);
    assert_matches(talk_wait(&talk), CREATED);
    struct task_id id = read_id(talk.answer);
    talk_finish(&talk);
    return id;
}

TOOLRACK_PRINTF(2, 3)
static void check(const char *answer, const char *format, ...) {
    char message[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    server_check(message, answer);
}

/* Wait until the subscription was told of the task as the pattern says. */
static void wait_told(struct talk *talk, size_t *at, const char *pattern) {
    while (!matches(talk_wait_sent(talk, *at + 1), pattern)) {
        (*at)++;
    }
}

/* Wait until a task is as the pattern says. */
static void wait_until(const struct task_id *id, const char *pattern) {
    struct talk talk;
    char message[512];
    size_t at = 0;
    (void)snprintf(message, sizeof message,
                   REQUEST("\"w\"", "subscriptions/listen",
                           "\"notifications\":{\"taskIds\":[\"%s\"]}," META_OF(FORMS)),
                   id->text);
    talk_pipe(&talk, server_pipe, message);
    wait_told(&talk, &at, pattern);
    server_check("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                 "\"requestId\":\"w\"}}",
                 "");
    (void)talk_wait(&talk);
    talk_finish(&talk);
}

/* ------------------------------------------------------------------ the tests */

static void a_tool_that_says_so_is_a_task(void **state) {
    (void)state;
    open_tasks("");
    server_check(REQUEST("1", "server/discover", META_OF(FORMS)),
                 "*\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}*");
    struct task_id id = start(START("job"));
    wait_until(&id, "*\"method\":\"notifications/tasks\",\"params\":{\"_meta\":{*subscriptionId\":"
                    "\"w\"},\"taskId\":*\"status\":\"working\",\"statusMessage\":\"begun (1 of "
                    "4)\",*}}");
    check("*\"resultType\":\"complete\",\"taskId\":\"*\",\"status\":\"working\",\"statusMessage\":"
          "\"begun (1 of 4)\"*",
          ON_TASK("tasks/get", id.text));
    gate_open();
    wait_until(&id,
               "*\"status\":\"completed\",*\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
               "\"worked\"}]}}}");
    check("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\",\"taskId\":\"*\","
          "\"status\":\"completed\",\"createdAt\":*,\"result\":{\"content\":[{\"type\":\"text\","
          "\"text\":\"worked\"}]},\"_meta\"*",
          ON_TASK("tasks/get", id.text));
    /* What has ended is not cancelled, and answers to nothing are ignored. */
    check(ACKNOWLEDGED, ON_TASK("tasks/cancel", id.text));
    check(ACKNOWLEDGED,
          REQUEST("2", "tasks/update",
                  "\"taskId\":\"%s\",\"inputResponses\":{\"a\":1}," META_OF(FORMS)),
          id.text);
    check("*\"status\":\"completed\"*", ON_TASK("tasks/get", id.text));
    /* A failure of the tool is a result. */
    id = start(START("fails"));
    wait_until(&id, "*\"status\":\"completed\",*\"result\":{\"content\":[*the machine is broken*]"
                    ",\"isError\":true}}}");
    server_close();
}

static void tasks_are_for_clients_that_know_them(void **state) {
    (void)state;
    open_tasks(",\"tools\":{\"quick\":\"always\",\"job\":\"never\",\"fails\":\"auto\"}");
    gate_open();
#define REFUSED                                                       \
    "*\"code\":-32021,*io.modelcontextprotocol/"                      \
    "tasks*\"data\":{\"requiredCapabilities\":{\"extensions\":{\"io." \
    "modelcontextprotocol/tasks\":{}}}}}}"
    static const struct server_row rows[] = {
            {CALL("1", "quick", META_NONE), REFUSED},
            {REQUEST("1", "tasks/get", "\"taskId\":\"a\"," META_NONE), REFUSED},
            {REQUEST("1", "tasks/update", "\"taskId\":\"a\"," META_NONE), REFUSED},
            {REQUEST("1", "tasks/cancel", "\"taskId\":\"a\"," META_NONE), REFUSED},
            {REQUEST("1", "subscriptions/listen",
                     "\"notifications\":{\"taskIds\":[\"a\"]}," META_NONE),
             REFUSED},
            {REQUEST("1", "subscriptions/listen",
                     "\"notifications\":{\"taskIds\":[1]}," META_OF(TASKS)),
             "*\"code\":-32602*"},
            {REQUEST("1", "tasks/get", META_OF(TASKS)), "*\"code\":-32602*"},
            {REQUEST("1", "tasks/get", "\"taskId\":\"a\"," META_OF(TASKS)),
             "*\"code\":-32602*no task a*"},
            {REQUEST("1", "tasks/cancel", "\"taskId\":\"a\"," META_OF(TASKS)), "*\"code\":-32602*"},
            {REQUEST("1", "tasks/update", "\"taskId\":\"a\",\"inputResponses\":{}," META_OF(TASKS)),
             "*\"code\":-32602*"},
            {REQUEST("1", "tasks/update", "\"taskId\":\"a\"," META_OF(TASKS)), "*\"code\":-32602*"},
            {REQUEST("1", "tasks/result", "\"taskId\":\"a\"," META_OF(TASKS)), "*\"code\":-32601*"},
            {REQUEST("1", "tasks/list", META_OF(TASKS)), "*\"code\":-32601*"},
            /* The configuration has the last word. */
            {CALL("1", "quick", META_OF(TASKS)), "*\"resultType\":\"task\"*"},
            {CALL("1", "job", META_OF(TASKS)), "*\"text\":\"worked\"*"},
            {CALL("1", "job", META_NONE), "*\"text\":\"worked\"*"},
            {CALL("1", "fails", META_OF(TASKS)), "*\"isError\":true*"},
            {CALL("1", "stay", "\"task\":{\"ttl\":1}," META_OF(TASKS)), "*\"n\":1*"},
            /* The handshake era has no tasks. */
            {INITIALIZE_WITH("2025-11-25", "{\"tasks\":{}}"),
             "*\"capabilities\":{\"logging\":{},\"tools\":{\"listChanged\":true}}*"},
            {CALL("3", "quick", "\"task\":{\"ttl\":1}"), "*\"text\":\"done\"}]}}"},
            {REQUEST("4", "tasks/get", "\"taskId\":\"a\""), "*\"code\":-32601*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

static void a_task_is_its_owners(void **state) {
    (void)state;
    open_tasks("");
    static const struct principal other = {.id = "token:b", .permissions = ~0u};
    struct task_id id = start(START("job"));
    char message[512];
    static const char *const methods[] = {"tasks/get", "tasks/cancel", "tasks/update"};
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        (void)snprintf(
                message, sizeof message,
                REQUEST("2", "%s", "\"taskId\":\"%s\",\"inputResponses\":{}," META_OF(FORMS)),
                methods[i], id.text);
        server_check_post(&other, methods[i], id.text, message, "*\"code\":-32602*no task*");
    }
    struct talk talk;
    static const struct mcp_headers headers = {.version = "2026-07-28",
                                               .method = "subscriptions/listen"};
    (void)snprintf(message, sizeof message,
                   REQUEST("3", "subscriptions/listen",
                           "\"notifications\":{\"taskIds\":[\"%s\"]}," META_OF(FORMS)),
                   id.text);
    talk_post(&talk, server_mcp, &other, &headers, message);
    assert_matches(talk_wait_sent(&talk, 1), "*acknowledged*\"notifications\":{}*");
    mcp_gone(&talk.exchange);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    gate_open();
    wait_until(&id, "*\"status\":\"completed\"*");
    server_close();
}

static void a_task_asks_and_waits(void **state) {
    (void)state;
    open_tasks("");
    struct task_id id = start(START("asks"));
#define UPDATE(responses)                                                            \
    REQUEST("2", "tasks/update",                                                     \
            "\"taskId\":\"%s\",\"inputResponses\":{" responses "}," META_OF(FORMS)), \
            id.text
    /* Kinds that the client does not declare are not asked for. */
    wait_until(&id, "*\"status\":\"input_required\",*\"inputRequests\":{\"first\":{\"method\":"
                    "\"elicitation/create\",\"params\":{*\"The first?\"*}},\"second\":{*}}}}");
    check(ACKNOWLEDGED, UPDATE("\"third\":{\"action\":\"accept\"},\"first\":7"));
    check("*\"inputRequests\":{\"first\":{*\"second\":{*", ON_TASK("tasks/get", id.text));
    check(ACKNOWLEDGED, UPDATE("\"first\":{\"action\":\"accept\",\"content\":{\"name\":\"A\"}}"));
    check("*\"status\":\"input_required\",*\"inputRequests\":{\"second\":{*",
          ON_TASK("tasks/get", id.text));
    /* An answer is taken once. */
    check(ACKNOWLEDGED, UPDATE("\"first\":{\"action\":\"decline\"}"));
    check(ACKNOWLEDGED, UPDATE("\"second\":{\"action\":\"decline\"}"));
    wait_until(&id, "*\"status\":\"completed\",*\"1 {\\\"name\\\":\\\"A\\\"}, 2 (null), 0\"*");

    /* A task that waits can be cancelled. */
    id = start(START("asks"));
    wait_until(&id, "*\"status\":\"input_required\"*");
    check(ACKNOWLEDGED, ON_TASK("tasks/cancel", id.text));
    check("*\"status\":\"cancelled\"*", ON_TASK("tasks/get", id.text));
    /* Its thread is free for the next one. */
    id = start(START("asks"));
    wait_until(&id, "*\"status\":\"input_required\"*");
    server_close();
}

static void few_threads_wait_for_clients(void **state) {
    (void)state;
    server_open("{\"serve\":{\"limits\":{\"questions\":1}}}", &toolrack_plugin, NULL);
    struct task_id first = start(START("asks"));
    wait_until(&first, "*\"status\":\"input_required\"*");
    struct task_id second = start(START("asks"));
    wait_until(&second, "*\"status\":\"completed\",*\"isError\":true*");
    server_close();
}

/* Call a tool by POST, whose call is answered with a task. */
static struct task_id start_of(const struct principal *principal, const char *name,
                               const char *message) {
    struct talk talk;
    const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = name};
    talk_post(&talk, server_mcp, principal, &headers, message);
    assert_matches(talk_wait(&talk), CREATED);
    struct task_id id = read_id(talk.answer);
    talk_finish(&talk);
    return id;
}

/* Wait until a task is as the pattern says, as the administrator sees it. */
static void await_row(const struct task_id *id, const char *pattern) {
    for (bool is = false; !is;) {
        struct toolrack_text *text = NULL;
        assert_int_equal(toolrack_task_get(server_host, NULL, id->text, &text, NULL), 0);
        is = matches(toolrack_text_data(text, NULL), pattern);
        toolrack_text_unref(text);
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

static void a_principal_has_a_share_of_the_questions(void **state) {
    (void)state;
    static const struct principal first = {.id = "token:first", .permissions = ~0u};
    static const struct principal second = {.id = "token:second", .permissions = ~0u};
    server_open("{\"serve\":{\"limits\":{\"questions\":4}}}", &toolrack_plugin, NULL);
    struct task_id ids[3];
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        ids[i] = start_of(&first, "asks", START("asks"));
        await_row(&ids[i], i < 2 ? "*\"status\":\"input_required\"*"
                                 : "*\"status\":\"completed\"*\"isError\":true*");
    }
    struct task_id other = start_of(&second, "asks", START("asks"));
    await_row(&other, "*\"status\":\"input_required\"*");
    server_close();
}

/* What runs, and what waits for an answer. */
static void a_task_ends_with_its_token(void **state) {
    (void)state;
    open_tasks("");
    server_mcp->later.delay_ms[TIMER_GUARD] = 5;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    struct toolrack_text *secret = NULL;
    struct principal principal = {.id = "token:one", .permissions = ~0u};
    token.name = "one";
    assert_int_equal(toolrack_token_add(server_host, &token, &secret, NULL, NULL), 0);
    assert_int_equal(toolrack_token_find(server_host, toolrack_text_data(secret, NULL),
                                         &principal.grant, NULL),
                     0);
    toolrack_text_unref(secret);
    struct task_id running = start_of(&principal, "job", START("job"));
    struct task_id asking = start_of(&principal, "asks", START("asks"));
    toolrack_token_grant_unref(principal.grant); /* the transport forgets who it was */
    gate_await_come(1);
    await_row(&asking, "*\"status\":\"input_required\"*");
    await_row(&running, "*\"status\":\"working\"*");
    assert_int_equal(toolrack_token_revoke(server_host, "one", NULL, NULL), 0);
#define REVOKED "*\"status\":\"cancelled\",\"statusMessage\":\"the token that began it is revoked*"
    await_row(&running, REVOKED);
    await_row(&asking, REVOKED);
    gate_await_cancelled(1);
    server_close();
}

static void a_long_call_becomes_a_task(void **state) {
    (void)state;
    open_tasks("");
    /* As nothing makes it a task, it is a call. */
    server_check(CALL("1", "nap", META_OF(FORMS)), "*\"text\":\"rested\"*");
    server_mcp->later.delay_ms[TIMER_EXPECT] = 0;
    struct talk talk;
    talk_pipe(&talk, server_pipe, CALL("1", "stay", META_OF(FORMS)));
    gate_await_come(1);
    gate_open();
    /* It was not expected to take long. */
    assert_matches(talk_wait(&talk), "*\"structuredContent\":{\"n\":1}*");
    talk_finish(&talk);

    server_mcp->later.delay_ms[TIMER_TASK] = 0;
    gate_reset();
    struct task_id id = start(START("stay"));
    gate_open();
    wait_until(&id, "*\"status\":\"completed\",*\"structuredContent\":{\"n\":1}*");
    server_close();
}

static void a_call_that_is_expected_to_be_long_is_a_task(void **state) {
    (void)state;
    open_tasks("");
    server_mcp->settings.task_after_ms = 260;
    server_check(CALL("1", "nap", META_OF(FORMS)), "*\"text\":\"rested\"*");
    assert_int_equal(toolrack_flush(server_host, NULL), 0);
    server_mcp->later.delay_ms[TIMER_EXPECT] = 0;
    struct task_id id = start(START("nap"));
    wait_until(&id, "*\"status\":\"completed\",*\"text\":\"rested\"*");
    server_close();
}

static void a_call_asks_before_it_is_a_task(void **state) {
    (void)state;
    open_tasks("");
    struct talk talk;
    talk_pipe(&talk, server_pipe, START("asks_first"));
    assert_matches(talk_wait(&talk), "*\"resultType\":\"input_required\",*\"inputRequests\":{"
                                     "\"user\":{*\"requestState\":\"*");
    char message[2048];
    const char *from = strstr(talk.answer, "\"requestState\":");
    (void)snprintf(message, sizeof message,
                   CALL("1", "asks_first",
                        "\"inputResponses\":{\"user\":{\"action\":\"accept\",\"content\":{\"name\":"
                        "\"A\"}}},%.*s," META_OF(FORMS)),
                   (int)strcspn(from, ",}"), from);
    talk_finish(&talk);
    server_mcp->later.delay_ms[TIMER_EXPECT] = server_mcp->later.delay_ms[TIMER_TASK] = 0;
    struct task_id id = start(message);
    gate_open();
    /* What it asks for now is of the task. */
    wait_until(&id, "*\"status\":\"input_required\",*\"inputRequests\":{\"more\":{*}}}}");
    check(ACKNOWLEDGED, UPDATE("\"more\":{\"action\":\"accept\",\"content\":{\"name\":\"B\"}}"));
    wait_until(&id,
               "*\"status\":\"completed\",*{\\\"name\\\":\\\"A\\\"} {\\\"name\\\":\\\"B\\\"}*");
    server_close();
}

static void a_task_is_cancelled(void **state) {
    (void)state;
    open_tasks("");
    struct task_id id = start(START("job"));
    gate_await_come(1);
    check(ACKNOWLEDGED, ON_TASK("tasks/cancel", id.text));
    check("*\"status\":\"cancelled\",\"statusMessage\":*", ON_TASK("tasks/get", id.text));
    gate_await_cancelled(1);
    check(ACKNOWLEDGED, ON_TASK("tasks/cancel", id.text));
    /* As an administrator does. */
    id = start(START("job"));
    gate_await_come(2);
    assert_int_equal(toolrack_task_cancel(server_host, NULL, id.text, NULL), 0);
    wait_until(&id, "*\"status\":\"cancelled\"*");
    gate_await_cancelled(2);
    /* The cancellation of its request comes too late. */
    id = start(START("job"));
    server_check("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                 "\"requestId\":1}}",
                 "");
    gate_open();
    wait_until(&id, "*\"status\":\"completed\"*");
    server_close();
}

static void a_server_that_ends_ends_its_tasks(void **state) {
    (void)state;
    open_tasks("");
    struct task_id running = start(START("job"));
    struct task_id asking = start(START("asks"));
    gate_await_come(1);
    wait_until(&asking, "*\"status\":\"input_required\"*");
    struct toolrack_text *text = NULL;
    mcp_pipe_close(server_pipe, false);
    assert_int_equal(gate_cancelled(), 1);
    const char *const ids[] = {running.text, asking.text};
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        assert_int_equal(toolrack_task_get(server_host, "stdio", ids[i], &text, NULL), 0);
        assert_matches(
                toolrack_text_data(text, NULL),
                "*\"status\":\"failed\",\"statusMessage\":\"the server ended before*\"error\":{"
                "\"code\":-32603,*");
        toolrack_text_unref(STEAL(text));
    }
    server_pipe = NULL;
    server_close();
}

static void a_client_has_so_many_tasks(void **state) {
    (void)state;
    open_tasks(",\"max\":1");
    struct task_id id = start(START("job"));
    server_check(START("job"), "*\"code\":-32603,*there is no room for a task*");
    assert_true(gate_come() <= 1);
    /* A call that would become one goes on as a call. */
    server_mcp->later.delay_ms[TIMER_EXPECT] = server_mcp->later.delay_ms[TIMER_TASK] = 0;
    struct talk talk;
    talk_pipe(&talk, server_pipe, CALL("1", "stay", META_OF(FORMS)));
    gate_await_come(2);
    gate_open();
    assert_matches(talk_wait(&talk), "*\"resultType\":\"complete\",*\"n\":1*");
    talk_finish(&talk);
    wait_until(&id, "*\"status\":\"completed\"*");
    server_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_tool_that_says_so_is_a_task),
            cmocka_unit_test(tasks_are_for_clients_that_know_them),
            cmocka_unit_test(a_task_is_its_owners),
            cmocka_unit_test(a_task_asks_and_waits),
            cmocka_unit_test(few_threads_wait_for_clients),
            cmocka_unit_test(a_principal_has_a_share_of_the_questions),
            cmocka_unit_test(a_task_ends_with_its_token),
            cmocka_unit_test(a_long_call_becomes_a_task),
            cmocka_unit_test(a_call_that_is_expected_to_be_long_is_a_task),
            cmocka_unit_test(a_call_asks_before_it_is_a_task),
            cmocka_unit_test(a_task_is_cancelled),
            cmocka_unit_test(a_server_that_ends_ends_its_tasks),
            cmocka_unit_test(a_client_has_so_many_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
