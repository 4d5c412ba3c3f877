/* run_plan: plans of models, over the Model Context Protocol. */
#include <malloc.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "gate.h"
#include "mcp-server.h"
#include "patience.h"
#include "serve/mcp/server.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/serving.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

#define NUMBER "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"

static atomic_uint acts;

static tr_status number(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(number, ("Give a number", .category = "some"), NUMBER)

static tr_status act(struct tr_call *call) {
    acts++;
    return tr_reply_text(call, "acted");
}
TR_JSON_TOOL(act, ("Do something", .permission = TR_CONFIRM), NUMBER)

static tr_status breaks(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "it broke");
}
TR_JSON_TOOL(breaks, "Fail", NUMBER)

static tr_status stays(struct tr_call *call) {
    return gate_pass(call) ? tr_reply_text(call, "stayed") : TR_CANCELLED;
}
TR_JSON_TOOL(stays, "Stay until the gate is open", NUMBER)

static sem_t steps;

static tr_status step(struct tr_call *call) {
    while (sem_wait(&steps) != 0) {
    }
    return tr_reply_text(call, "stepped");
}
TR_JSON_TOOL(step, "Wait until it is let go", NUMBER)

static tr_status tasks(struct tr_call *call) {
    struct toolrack_text *text = NULL;
    if (toolrack_tasks(server_host, NULL, &text, NULL) < 0) {
        return tr_fail(call, TR_FAILED, NULL, "no list");
    }
    tr_status status = tr_reply_text(
            call, strstr(toolrack_text_data(text, NULL), "\"taskId\"") != NULL ? "some" : "none");
    toolrack_text_unref(text);
    return status;
}
TR_JSON_TOOL(tasks, "Say whether there are tasks", NUMBER)

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE), "1.0.0", number, act, breaks, stays, step, tasks)

#define FORMS                "{\"elicitation\":{}}"
#define NODE(id, tool, more) "{\"id\":\"" id "\",\"tool\":\"" tool "\"" more "}"
#define PLAN(nodes)          "\"name\":\"run_plan\",\"arguments\":{\"plan\":{\"nodes\":[" nodes "]}},"
#define RUN(nodes)           REQUEST("1", "tools/call", PLAN(nodes) META_NONE)
#define RUN_WITH(arguments)  CALL("1", "run_plan", "\"arguments\":" arguments "," META_NONE)
#define CHAIN                                       \
    NODE("a", "number", ",\"arguments\":{\"n\":1}") \
    "," NODE("b", "number", ",\"arguments\":{\"n\":{\"$ref\":\"#/nodes/a/result/n\"}}")

static void open_plans(const char *more) {
    char config[256];
    (void)snprintf(config, sizeof config, "{\"serve\":{\"expose\":\"search\"%s}}", more);
    server_open(config, &toolrack_plugin, NULL);
    gate_reset();
    acts = 0;
}

static void a_plan_is_one_call(void **state) {
    (void)state;
    open_plans("");
    static const struct server_row rows[] = {
            {REQUEST("1", "tools/list", META_NONE),
             "*{\"name\":\"run_plan\",*\"inputSchema\":{\"type\":\"object\",\"properties\":{"
             "\"plan\":{\"type\":\"object\",\"properties\":{\"nodes\":*\"required\":[\"plan\"],*"
             "\"destructiveHint\":true,*"},
            {RUN(CHAIN), "*\"structuredContent\":{\"run\":\"*\",\"result\":{\"b\":{\"n\":1}}}*"},
            {RUN_WITH("{\"plan\":{\"inputs\":{\"n\":{\"type\":\"integer\"}},\"nodes\":[" NODE(
                     "a", "number",
                     ",\"arguments\":{\"n\":{\"$ref\":\"#/inputs/n\"}}") "],\"result\":{\"$ref\":"
                                                                         "\"#/nodes/a/result/"
                                                                         "n\"}},\"inputs\":{\"n\":"
                                                                         "7}}"),
             "*\"structuredContent\":{\"run\":\"*\",\"result\":7}*"},
            /* It runs, and the model is told what it has probably not meant. */
            {RUN_WITH("{\"plan\":{\"nodes\":[" NODE("a", "number",
                                                    "") "],\"result\":\"got {{a.result.n}}\"}}"),
             "*\"structuredContent\":{\"run\":\"*\",\"result\":\"got "
             "{{a.result.n}}\",\"findings\":[{"
             "\"id\":\"plan-reference\",\"severity\":\"warning\",*\"pointer\":\"/result\",*"
             "write ${nodes.a.result.n};*}]}*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

/* A model pays for each byte of the definition. */
static void the_definition_is_small(void **state) {
    (void)state;
    open_plans("");
    struct talk talk;
    talk_pipe(&talk, server_pipe, REQUEST("1", "tools/list", META_NONE));
    const char *from = strstr(talk_wait(&talk), "{\"name\":\"run_plan\"");
    assert_non_null(from);
    const char *to = strstr(from, "\"ttlMs\"");
    assert_non_null(to);
    assert_in_range(to - from, 1000, 2600);
    talk_finish(&talk);
    server_close();
}

static void what_is_wrong_comes_back_and_nothing_runs(void **state) {
    (void)state;
    open_plans("");
    assert_int_equal(toolrack_set_enabled(server_host, "breaks", false, NULL, NULL), 0);
    static const struct server_row rows[] = {
            {RUN(NODE("a", "act", "") "," NODE("b", "none", "") "," NODE(
                     "c", "number", ",\"arguments\":{\"n\":\"x\"}")),
             "*\"structuredContent\":{\"error\":\"Invalid\",*\"findings\":[{\"id\":\"plan-tool\",*"
             "\"node\":\"b\",\"pointer\":\"/nodes/1/tool\",*},{\"id\":\"plan-arguments\",*}]},"
             "\"isError\":true*"},
            {RUN(NODE("a", "breaks", "")), "*plan-disabled*\"isError\":true*"},
            {RUN(NODE("a", "number", ",\"depends_on\":[\"a\"]")), "*plan-cycle*\"isError\":true*"},
            {RUN_WITH("{}"), "*InvalidArguments: plan: run_plan needs this*\"isError\":true*"},
            {RUN_WITH("{\"plan\":\"x\"}"), "*plan: must be an object*\"isError\":true*"},
            /* So models write objects. */
            {RUN_WITH("{\"plan\":\"{\\\"nodes\\\":[{\\\"id\\\":\\\"a\\\",\\\"tool\\\":"
                      "\\\"number\\\",\\\"arguments\\\":{\\\"n\\\":7}}]}\"}"),
             "*\"result\":{\"a\":{\"n\":7}}}*"},
            {RUN_WITH("{\"plan\":null}"), "*\"findings\":[{*\"isError\":true*"},
            {RUN_WITH("{\"nodes\":[]}"), "*nodes: run_plan has no such argument;*"},
            {RUN_WITH("{\"plan\":{\"inputs\":{\"n\":{}},\"nodes\":[" NODE("a", "act", "") "]}}"),
             "*InvalidArguments: /n: *\\nNothing has run.\"}],\"isError\":true*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    assert_int_equal(acts, 0);
    server_close();
}

static void a_failure_says_what_was_done(void **state) {
    (void)state;
    open_plans("");
    server_check(RUN(NODE("a", "number", "") "," NODE("b", "breaks", ",\"depends_on\":[\"a\"]")),
                 "*ExecutionFailed: *it broke*Run * has ended. *a: succeeded\\nb: failed: *it "
                 "broke*\"isError\":true*");
    /* So does a result, of what did not plainly succeed. */
    server_check(
            RUN(NODE("a", "number", "") "," NODE("b", "breaks", ",\"on_error\":\"skip\"") "," NODE(
                    "c", "number",
                    ",\"arguments\":{\"n\":{\"$ref\":\"#/nodes/"
                    "b/result/n\"}}") "," NODE("d", "breaks",
                                               ",\"depends_on\":"
                                               "[\"c\"],\"on_"
                                               "error\":{"
                                               "\"fallback\":{"
                                               "\"value\":{"
                                               "\"n\":2}}}")),
            "*\"nodes\":{\"b\":\"failed: *it broke*\",\"c\":\"skipped\",\"d\":\"succeeded by its "
            "fallback: *it broke*\"}*");
    server_close();
}

/* What is not shown, or may not be called, is in no plan. */
static void a_plan_is_of_its_principal(void **state) {
    (void)state;
    open_plans(",\"profiles\":{\"few\":{\"categories\":[\"some\"]}}");
    static const struct principal few = {.id = "token:a", .permissions = ~0u, .profile = "few"};
    static const struct principal safe = {.id = "token:b",
                                          .permissions = 1u << TOOLRACK_PERMISSION_SAFE};
    const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = "run_plan"};
    struct talk talk;
    server_check_post(&few, "tools/call", "run_plan", RUN(CHAIN), "*\"result\":{\"b\":{\"n\":1}}*");
    server_check_post(&few, "tools/call", "run_plan", RUN(NODE("a", "act", "")),
                      "*there is no tool 'act'*\"isError\":true*");
    talk_post(&talk, server_mcp, &safe, &headers, RUN(NODE("a", "act", "")));
    (void)talk_wait(&talk);
    assert_int_equal(talk.status, 403);
    talk_finish(&talk);
    server_close();
}

/* Where lists have all tools, there is no run_plan. */
static void it_is_there_with_those_for_searching(void **state) {
    (void)state;
    server_open("{}", &toolrack_plugin, NULL);
    server_check(RUN(CHAIN), "*\"code\":-32602*");
    server_close();
}

static void each_node_is_progress(void **state) {
    (void)state;
    open_plans("");
    struct talk talk;
    server_check(INITIALIZE_WITH("2025-06-18", "{}"), "*");
    talk_pipe(&talk, server_pipe,
              REQUEST("2", "tools/call", PLAN(CHAIN) "\"_meta\":{\"progressToken\":\"t\"}"));
    assert_matches(talk_wait(&talk), "*\"structuredContent\":{\"run\":*");
    assert_int_equal(talk.sent_count, 2);
    assert_matches(talk.sent[0], "*\"progress\":1.0,\"total\":2.0,\"message\":\"a: succeeded\"*");
    assert_matches(talk.sent[1], "*\"progress\":2.0,\"total\":2.0,\"message\":\"b: succeeded\"*");
    talk_finish(&talk);
    server_close();
}

static void a_call_that_is_cancelled_ends_its_run(void **state) {
    (void)state;
    open_plans("");
    struct talk talk;
    struct talk note;
    server_check(INITIALIZE_WITH("2025-06-18", "{}"), "*");
    talk_pipe(&talk, server_pipe,
              REQUEST("2", "tools/call",
                      PLAN(NODE("a", "stays", "") "," NODE(
                              "b", "stays", ",\"depends_on\":[\"a\"]")) "\"_meta\":{}"));
    gate_await_come(1);
    talk_pipe(&note, server_pipe,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
              "\"requestId\":2}}");
    gate_await_cancelled(1);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    (void)talk_wait(&note);
    talk_finish(&note);
    server_close();
    assert_int_equal(gate_come(), 1);
}

/* The server ends while a plan runs. */
static void a_server_that_ends_ends_its_plans(void **state) {
    (void)state;
    open_plans("");
    struct talk talk;
    talk_pipe(&talk, server_pipe, RUN(NODE("a", "stays", "")));
    gate_await_come(1);
    mcp_cancel(server_mcp);
    gate_await_cancelled(1);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    server_close();
}

#define ACTS NODE("a", "act", ",\"arguments\":{\"n\":1}") "," NODE("b", "act", "")

static void a_plan_waits_for_a_person_elsewhere(void **state) {
    (void)state;
    open_plans("");
    server_check(RUN(ACTS), "*ConfirmationRequired: this plan waits for somebody*Nothing has "
                            "run.\"}],\"isError\":true*");
    assert_int_equal(acts, 0);
    server_close();
}

/* The call of a plan again, with a person's decision about what was asked in the answer. */
static void write_call_again(const char *answer, const char *nodes, const char *decision,
                             const char *capabilities, char *ret, size_t room) {
    const char *key = strstr(answer, "\"inputRequests\":{\"");
    const char *sealed = strstr(answer, "\"requestState\":\"");
    assert_non_null(key);
    assert_non_null(sealed);
    key += strlen("\"inputRequests\":{\"");
    sealed += strlen("\"requestState\":\"");
    int length = snprintf(ret, room,
                          REQUEST("2", "tools/call",
                                  PLAN("%s") "\"inputResponses\":{\"%.*s\":{\"action\":"
                                             "\"accept\",\"content\":{\"decision\":\"%s\"}}},"
                                             "\"requestState\":\"%.*s\"," META_OF("%s")),
                          nodes, (int)strcspn(key, "\""), key, decision, (int)strcspn(sealed, "\""),
                          sealed, capabilities);
    assert_in_range(length, 1, room - 1);
}

/* One question for the whole plan; its answer comes with another call, and lets one run. */
static void the_client_is_asked_once(void **state) {
    (void)state;
    open_plans(",\"elicitation\":\"approve\"");
    struct talk talk;
    char message[8192];
    talk_pipe(&talk, server_pipe, REQUEST("1", "tools/call", PLAN(ACTS) META_OF(FORMS)));
    assert_matches(talk_wait(&talk),
                   "*\"resultType\":\"input_required\",*may plan* run once, with all these "
                   "calls?\\na: act*needs approval\\n  n: 1\\nb: act*needs approval\\n*");
    write_call_again(talk.answer, ACTS, "allow once", FORMS, message, sizeof message);
    talk_finish(&talk);
    assert_int_equal(acts, 0);
    server_check(message, "*\"structuredContent\":{\"run\":*\"acted\"*");
    assert_int_equal(acts, 2);
    server_check(message, "*\"resultType\":\"input_required\"*"); /* asked anew */
    assert_int_equal(acts, 2);
    server_close();
}

/* ------------------------------------------------------------------------ as a task */

#define BOTH         "{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define START(nodes) REQUEST("1", "tools/call", PLAN(nodes) META_OF(BOTH))
#define STAYS        NODE("a", "stays", "") "," NODE("b", "stays", ",\"depends_on\":[\"a\"]")
#define ALWAYS       ",\"tasks\":{\"poll_ms\":1,\"tools\":{\"run_plan\":\"always\"}}"

static const struct mcp_headers headers_of_plans = {
        .version = "2026-07-28", .method = "tools/call", .name = "run_plan"};

/* Call run_plan, which is answered by a task: its id. */
static const char *start(const struct principal *principal, const char *message) {
    static char id[TOOLRACK_TASK_ID_ROOM];
    struct talk talk;
    talk_post(&talk, server_mcp, principal, &headers_of_plans, message);
    const char *answer = talk_wait(&talk);
    assert_matches(answer, "*\"resultType\":\"task\",\"taskId\":\"*\",\"status\":\"working\",*");
    (void)snprintf(id, sizeof id, "%s", strstr(answer, "\"taskId\":\"") + strlen("\"taskId\":\""));
    talk_finish(&talk);
    return id;
}

/* Wait until a task is as the pattern says. */
static void await_task(const char *id, const char *pattern) {
    uint64_t since = 0;
    for (bool is = false; !is;) {
        struct toolrack_text *text = NULL;
        assert_int_equal(toolrack_task_get(server_host, NULL, id, &text, NULL), 0);
        is = matches(toolrack_text_data(text, NULL), pattern);
        if (!is && !patience_yield(&since)) {
            fail_msg("the task is %s", toolrack_text_data(text, NULL));
        }
        toolrack_text_unref(text);
    }
}

/* Wait until the one run is in a state. */
static void await_run(const char *state) {
    char pattern[64];
    (void)snprintf(pattern, sizeof pattern, "[{*\"state\":\"%s\"*", state);
    uint64_t since = 0;
    for (bool is = false; !is;) {
        struct toolrack_text *text = NULL;
        assert_int_equal(toolrack_runs(server_host, NULL, &text, NULL), 0);
        is = matches(toolrack_text_data(text, NULL), pattern);
        if (!is && !patience_yield(&since)) {
            fail_msg("the runs are %s", toolrack_text_data(text, NULL));
        }
        toolrack_text_unref(text);
    }
}

static void check_task(const char *method, const char *id, const char *more, const char *answer) {
    char message[1024];
    (void)snprintf(message, sizeof message,
                   REQUEST("2", "%s", "\"taskId\":\"%s\",%s" META_OF(BOTH)), method, id, more);
    server_check_post(&server_principal, method, id, message, answer);
}

#define STEPS NODE("a", "step", "") "," NODE("b", "step", ",\"depends_on\":[\"a\"]")

static void a_long_plan_becomes_a_task(void **state) {
    (void)state;
    open_plans(",\"tasks\":{\"poll_ms\":1}");
    server_mcp->later.delay_ms[TIMER_EXPECT] = 0;
    assert_int_equal(sem_init(&steps, 0, 0), 0);
    const char *id = start(&server_principal, START(STEPS));
    assert_int_equal(sem_post(&steps), 0);
    await_task(id, "*\"status\":\"working\",\"statusMessage\":\"a: succeeded (1 of 2)\"*");
    assert_int_equal(sem_post(&steps), 0);
    await_task(id, "*\"status\":\"completed\",*");
    check_task("tasks/get", id, "",
               "*\"status\":\"completed\",*\"structuredContent\":{\"run\":\"*\",\"result\":{\"b\":"
               "\"stepped\"}}*");
    (void)sem_destroy(&steps);
    server_close();
}

/* A node whose arguments were not known when the person agreed asks again, for the task: the
 * question is in the task, and tasks/update answers it. */
static void a_node_of_a_task_asks(void **state) {
#define OPEN                                        \
    NODE("a", "number", ",\"arguments\":{\"n\":7}") \
    "," NODE("b", "act", ",\"arguments\":{\"n\":{\"$ref\":\"#/nodes/a/result/n\"}}")
    static const char *const decisions[] = {"allow once", "deny"};
    static const char *const ends[] = {
            "*\"status\":\"completed\",*\"result\":{\"b\":\"acted\"}*",
            "*\"status\":\"completed\",*PermissionDenied*b: failed: *\"isError\":true*"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(decisions); i++) {
        struct toolrack_text *text = NULL;
        struct talk talk;
        char message[8192];
        char key[64];
        char more[256];
        open_plans(",\"elicitation\":\"approve\"" ALWAYS);
        talk_post(&talk, server_mcp, &server_principal, &headers_of_plans, START(OPEN));
        (void)talk_wait(&talk);
        write_call_again(talk.answer, OPEN, "allow once", BOTH, message, sizeof message);
        talk_finish(&talk);
        const char *id = start(&server_principal, message);
        await_task(id, "*\"status\":\"input_required\",*");
        assert_int_equal(acts, 0);
        assert_int_equal(toolrack_task_get(server_host, NULL, id, &text, NULL), 0);
        assert_matches(toolrack_text_data(text, NULL), "*\"inputRequests\":{\"*\\nn: 7\\n*");
        const char *from = strstr(toolrack_text_data(text, NULL), "\"inputRequests\":{\"");
        from += strlen("\"inputRequests\":{\"");
        (void)snprintf(key, sizeof key, "%.*s", (int)strcspn(from, "\""), from);
        toolrack_text_unref(text);
        (void)snprintf(more, sizeof more,
                       "\"inputResponses\":{\"%s\":{\"action\":\"accept\",\"content\":{"
                       "\"decision\":\"%s\"}}},",
                       key, decisions[i]);
        check_task("tasks/update", id, more, "*\"resultType\":\"complete\"*");
        await_task(id, "*\"status\":\"completed\",*");
        check_task("tasks/get", id, "", ends[i]);
        assert_int_equal(acts, i == 0);
        server_close();
    }
}

/* Else the question of a node that begins at once would find no task to be asked in. */
static void a_plan_that_is_always_a_task_is_one_before_its_nodes_begin(void **state) {
    (void)state;
    open_plans(ALWAYS);
    const char *id = start(&server_principal, START(NODE("a", "tasks", "")));
    await_task(id, "*\"status\":\"completed\",*\"result\":{\"a\":\"some\"}*");
    server_close();
}

static void a_plan_can_always_be_a_task(void **state) {
    (void)state;
    open_plans(ALWAYS);
    server_check(RUN(CHAIN), "*\"code\":-32021,*io.modelcontextprotocol/tasks*");
    /* What is wrong is said at once. */
    server_check(START(NODE("a", "none", "")), "*\"findings\":[{*\"isError\":true*");
    server_check(START(ACTS), "*Nothing has run.*\"isError\":true*");
    const char *id = start(&server_principal, START(STAYS));
    gate_await_come(1);
    check_task("tasks/cancel", id, "", "*\"resultType\":\"complete\"*");
    gate_await_cancelled(1);
    await_task(id, "*\"status\":\"cancelled\"*");
    await_run("cancelled");
    assert_int_equal(gate_come(), 1);
    gate_reset();
    id = start(&server_principal,
               START(NODE("a", "stays", "") "," NODE("b", "breaks", ",\"depends_on\":[\"a\"]")));
    gate_open();
    await_task(
            id,
            "*\"status\":\"completed\",*it broke*Run * has ended. *b: failed: *\"isError\":true*");
    server_close();
}

/* A principal with a token, which is told who it is as a transport tells it. */
static struct principal add_token(void) {
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    struct toolrack_text *secret = NULL;
    struct principal principal = {.id = "token:one", .permissions = ~0u};
    token.name = "one";
    assert_int_equal(toolrack_token_add(server_host, &token, &secret, NULL, NULL), 0);
    assert_int_equal(toolrack_token_find(server_host, toolrack_text_data(secret, NULL),
                                         &principal.grant, NULL),
                     0);
    toolrack_text_unref(secret);
    return principal;
}

static void a_task_of_a_plan_ends_with_its_token(void **state) {
    (void)state;
    open_plans(ALWAYS);
    server_mcp->later.delay_ms[TIMER_GUARD] = 5;
    struct principal principal = add_token();
    const char *id = start(&principal, START(STAYS));
    toolrack_token_grant_unref(principal.grant); /* the transport forgets who it was */
    gate_await_come(1);
    assert_int_equal(toolrack_token_revoke(server_host, "one", NULL, NULL), 0);
    await_task(id, "*\"status\":\"cancelled\",\"statusMessage\":\"the token that began it is "
                   "revoked*");
    gate_await_cancelled(1);
    await_run("cancelled");
    server_close();
}

/* The client of a session is away, so no connection ends with the token. */
static void a_plan_ends_with_its_token(void **state) {
    (void)state;
    open_plans("");
    server_mcp->later.delay_ms[TIMER_GUARD] = 5;
    struct principal principal = add_token();
    struct talk talk;
    char session[64];
    talk_post(&talk, server_mcp, &principal, &(struct mcp_headers){.session = NULL},
              INITIALIZE_WITH("2025-11-25", "{}"));
    (void)talk_wait(&talk);
    assert_non_null(talk.session);
    (void)snprintf(session, sizeof session, "%s", talk.session);
    talk_finish(&talk);
    talk_post(&talk, server_mcp, &principal, &(struct mcp_headers){.session = session},
              REQUEST("2", "tools/call", PLAN(STAYS) "\"_meta\":{}"));
    toolrack_token_grant_unref(principal.grant);
    gate_await_come(1);
    mcp_gone(&talk.exchange);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    assert_int_equal(gate_cancelled(), 0);
    assert_int_equal(toolrack_token_revoke(server_host, "one", NULL, NULL), 0);
    gate_await_cancelled(1);
    await_run("cancelled");
    server_close();
}

/* A request takes the memory of one before it, and nothing else. */
static void what_comes_after_a_plan_has_nothing_of_it(void **state) {
    (void)state;
    open_plans("");
    for (int i = 0; i < 4; i++) {
        server_check(RUN(CHAIN), "*\"result\":{\"b\":{\"n\":1}}*");
        server_check(CALL("1", "call_tool",
                          "\"arguments\":{\"name\":\"number\",\"arguments\":{\"n\":123456789}}"
                          "," META_NONE),
                     "*123456789*");
        server_check(REQUEST("1", "tools/list", META_NONE), "*run_plan*");
    }
    server_close();
}

/* Threads keep memory for the next call: let all begin that will. */
#define WARM_PLANS 16

static void warm_threads(void) {
    static struct talk talks[WARM_PLANS];
    for (unsigned i = 0; i < WARM_PLANS; i++) {
        talk_post(&talks[i], server_mcp, &server_principal, &headers_of_plans,
                  RUN(NODE("a", "stays", "")));
    }
    gate_await_come(WARM_PLANS);
    gate_open();
    for (unsigned i = 0; i < WARM_PLANS; i++) {
        assert_matches(talk_wait(&talks[i]), "*\"result\":{\"a\":\"stayed\"}*");
        talk_finish(&talks[i]);
    }
}

static void two_hundred_plans_leave_nothing_behind(void **state) {
    (void)state;
    open_plans("");
    size_t before = 0;       /* the most of 25 runs: */
    size_t after = SIZE_MAX; /* the least: what other threads have comes and goes */
    warm_threads();
    for (int i = 0; i < 250; i++) {
        server_check(RUN(CHAIN), "*\"result\":{\"b\":{\"n\":1}}*");
        assert_int_equal(toolrack_flush(server_host, NULL), 0); /* the writer of the log rests */
        size_t used = mallinfo2().uordblks;
        before = i >= 25 && i < 50 && used > before ? used : before;
        after = i >= 225 && used < after ? used : after;
    }
    print_message("# 200 plans left %ld bytes\n", (long)after - (long)before);
    if (after > before + 200 * 256) {
        fail_msg("200 plans left %zu bytes", after - before);
    }
    server_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_plan_is_one_call),
            cmocka_unit_test(the_definition_is_small),
            cmocka_unit_test(what_is_wrong_comes_back_and_nothing_runs),
            cmocka_unit_test(a_failure_says_what_was_done),
            cmocka_unit_test(a_plan_is_of_its_principal),
            cmocka_unit_test(it_is_there_with_those_for_searching),
            cmocka_unit_test(each_node_is_progress),
            cmocka_unit_test(a_call_that_is_cancelled_ends_its_run),
            cmocka_unit_test(a_server_that_ends_ends_its_plans),
            cmocka_unit_test(a_plan_waits_for_a_person_elsewhere),
            cmocka_unit_test(the_client_is_asked_once),
            cmocka_unit_test(a_long_plan_becomes_a_task),
            cmocka_unit_test(a_node_of_a_task_asks),
            cmocka_unit_test(a_plan_that_is_always_a_task_is_one_before_its_nodes_begin),
            cmocka_unit_test(a_plan_can_always_be_a_task),
            cmocka_unit_test(a_task_of_a_plan_ends_with_its_token),
            cmocka_unit_test(a_plan_ends_with_its_token),
            cmocka_unit_test(what_comes_after_a_plan_has_nothing_of_it),
            cmocka_unit_test(two_hundred_plans_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
