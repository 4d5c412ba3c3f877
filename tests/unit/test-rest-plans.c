/* Plans over REST, without a transport: what is checked, who runs, sees, cancels and resumes what,
 * and that nothing stays behind. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "gate.h"
#include "mcp-client.h"
#include "remove-tree.h"
#include "serve/rest/rest.h"
#include "serve/rest/runs.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/serving.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

static struct toolrack *host;
static struct front *front;
static char folder[64];
static const struct principal one = {.id = "token:1", .party = "token:1", .permissions = ~0u};
static const struct principal other = {.id = "token:2", .party = "token:2", .permissions = ~0u};
static const struct principal admin = {
        .id = "uid:0", .party = "uid:0", .permissions = ~0u, .admin = true};

#define TOOL(name, more)                                                                         \
    "{\"name\": \"" name "\", \"type\": \"function\", \"description\": \"Gives " name "\"," more \
    "\"parameters\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}},"  \
    "\"implementation\": {\"type\": \"mock\", \"mock_response\": {\"a\": 1}}}"

static const char config[] =
        "{\"serve\": {\"profiles\": {\"few\": {\"tools\": [\"low\"]}}}, \"tools\": [" TOOL(
                "low", "") "," TOOL("high", "") "," TOOL("off", "") "," TOOL("asks",
                                                                             "\"permission\": "
                                                                             "\"confirm\",") "]}";

static tr_status stays(struct tr_call *call) {
    return gate_pass(call) ? tr_reply_text(call, "stayed") : TR_CANCELLED;
}
TR_JSON_TOOL(stays, "Stays until the gate is open", TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("stays", .flags = TR_THREAD_SAFE), "1.0.0", stays)

static int setup(void **state) {
    char file[128];
    char dir[128];
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/toolrack-rest-plans-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof file, "%s/toolrack.json", folder);
    (void)snprintf(dir, sizeof dir, "%s/state", folder);
    FILE *stream = fopen(file, "we");
    assert_non_null(stream);
    assert_true(fputs(config, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err = {0};
    options.config_file = file;
    options.state_dir = dir;
    options.no_scan = 1;
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    const struct rest_options serving = {.host = host};
    assert_int_equal(rest_create(&serving, &front, &err), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    assert_int_equal(toolrack_set_enabled(host, "off", false, NULL, NULL), 0);
    gate_reset();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    gate_open();
    rest_destroy(front);
    toolrack_close(host);
    return remove_tree(folder);
}

static void begin(struct talk *talk, const struct principal *principal, const char *method,
                  const char *target, const char *body, bool prefers_events) {
    struct front_route route;
    talk_init(talk);
    assert_true(front->calls->find(front, method, target, &route));
    if (route.route == NULL) {
        fail_msg("%s %s is refused with %u", method, target, route.status);
    }
    const struct front_request request = {.route = route.route,
                                          .target = target,
                                          .id = "r-1",
                                          .prefers_events = prefers_events,
                                          .body = talk->text = strdup(body != NULL ? body : ""),
                                          .length = body != NULL ? strlen(body) : 0};
    front->calls->receive(front, principal, &request, &talk->exchange);
}

static void expect(const struct principal *principal, const char *method, const char *target,
                   const char *body, int status, const char *pattern) {
    static struct talk talk;
    begin(&talk, principal, method, target, body, false);
    (void)talk_wait(&talk);
    assert_int_equal(talk.finishes, 1);
    if (talk.status != status) {
        fail_msg("%s %s gave %d %s", method, target, talk.status, talk.answer);
    }
    assert_matches(talk.answer, pattern);
    talk_finish(&talk);
}

#define NODE(id, tool, more) "{\"id\":\"" id "\",\"tool\":\"" tool "\"" more "}"
#define RUN(nodes)           "{\"plan\":{\"nodes\":[" nodes "]}}"

/* Begin a run; its id, until the next one begins. */
static const char *begin_run(const struct principal *principal, const char *body) {
    static struct talk talk;
    static char id[TOOLRACK_RUN_ID_ROOM];
    begin(&talk, principal, "POST", "/api/runs", body, false);
    (void)talk_wait(&talk);
    if (talk.status != 202 || sscanf(talk.answer, "{\"id\":\"%32[0-9a-f]\"}", id) != 1) {
        fail_msg("%d %s", talk.status, talk.answer);
    }
    assert_non_null(strstr(talk.fields, id));
    talk_finish(&talk);
    return id;
}

static const char *target_of(const char *id, const char *more) {
    static char target[128];
    (void)snprintf(target, sizeof target, "/api/runs/%s%s", id, more);
    return target;
}

/* Run a plan, as an event stream, to its end; what its last event says. */
static void run_to_end(const struct principal *principal, const char *body, const char *pattern) {
    static struct talk talk;
    begin(&talk, principal, "POST", "/api/runs", body, true);
    (void)talk_wait(&talk);
    assert_matches(talk.answer, pattern);
    talk_finish(&talk);
}

/* ---------------------------------------------------------------------- before it runs */

static void all_that_is_wrong_is_found_at_once(void **state) {
    (void)state;
    expect(&one, "POST", "/api/plans/check", "{\"nodes\":[" NODE("a", "low", "") "]}", 200,
           "{\"runs\":true,\"nodes\":1,\"depth\":1,\"width\":1,\"findings\":[]}");
    expect(&one, "POST", "/api/plans/check",
           "{\"nodes\":[" NODE("a", "none", "") ",\n" NODE("b", "low",
                                                           ",\"arguments\":{\"a\":\"x\"}") "]}",
           200,
           "{\"runs\":false,\"nodes\":0,*\"findings\":[{\"id\":\"plan-tool\",\"severity\":"
           "\"error\",\"node\":\"a\",\"pointer\":\"/nodes/0/tool\",\"line\":1,\"column\":*,"
           "\"cause\":\"*none*\",\"fix\":*},{\"id\":\"plan-arguments\",*\"node\":\"b\",*\"line\":2,"
           "*}]}");
    expect(&one, "POST", "/api/plans/check", "{\"nodes\":", 200,
           "{\"runs\":false,*{\"id\":\"plan-syntax\",*");
    expect(&one, "POST", "/api/plans/check", "", 200, "{\"runs\":false,*");
    expect(&one, "POST", "/api/plans/check", "{\"nodes\":[" NODE("a", "off", "") "]}", 200,
           "*{\"id\":\"plan-disabled\",*");
}

/* What is not shown to a principal is unknown to it, whatever it is. */
static void a_plan_has_what_its_principal_is_shown(void **state) {
    (void)state;
    static const struct principal few = {
            .id = "token:3", .party = "token:3", .permissions = ~0u, .profile = "few"};
    static const char plan[] = "{\"nodes\":[" NODE("a", "low", "") "," NODE(
            "b", "high", ",\"arguments\":{\"a\":\"x\"}") "," NODE("c", "nothing", "") "]}";
    expect(&few, "POST", "/api/plans/check", plan, 200,
           "*\"findings\":[{*\"node\":\"b\",*\"cause\":\"there is no tool 'high'\",*},{*\"node\":"
           "\"c\",*\"cause\":\"there is no tool 'nothing'\",*}]}");
    expect(&few, "POST", "/api/runs", RUN(NODE("b", "high", "")), 400,
           "*\"detail\":\"the plan cannot run: b: there is no tool 'high'*\"findings\":[{*}]}");
    expect(&few, "POST", "/api/runs",
           RUN(NODE("b", "low", ",\"on_error\":{\"fallback\":{\"tool\":\"high\"}}")), 400,
           "*there is no tool 'high'*");
}

static void what_is_no_plan_is_refused(void **state) {
    (void)state;
    expect(&one, "POST", "/api/runs", "{\"plan\":", 400, "*no JSON object*");
    expect(&one, "POST", "/api/runs", "{}", 400, "*the member 'plan' is missing*");
    expect(&one, "POST", "/api/runs", "{\"plan\":null}", 400, "*the plan cannot run: *");
    expect(&one, "POST", "/api/runs", "{\"plan\":[]}", 400, "*'plan' must be an object*");
    expect(&one, "POST", "/api/runs", "{\"plan\":{},\"more\":1}", 400, "*no member 'more'*");
    expect(&one, "POST", "/api/runs", RUN(NODE("a", "off", "")), 400, "*\"plan-disabled\"*");
    expect(&one, "POST", "/api/runs",
           "{\"plan\":{\"inputs\":{\"n\":{\"type\":\"integer\"}},\"nodes\":[" NODE("a", "low",
                                                                                   "") "]}}",
           422, "*\"InvalidArguments\"*n*");
    expect(&one, "GET", "/api/runs", NULL, 200, "{\"runs\":[]}");
}

static void a_plan_of_many_nodes_is_checked(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf plan = BUF_INIT;
    buf_add_text(&plan, "{\"nodes\":[");
    for (int i = 0; i < 10001; i++) {
        buf_printf(&plan, "%s{\"id\":\"n%d\",\"tool\":\"low\"}", i > 0 ? "," : "", i);
    }
    buf_add_text(&plan, "]}");
    expect(&one, "POST", "/api/plans/check", plan.data, 200, "{\"runs\":false,*/nodes*10000*");
}

static void a_text_becomes_a_plan(void **state) {
    (void)state;
    expect(&one, "POST", "/api/plans", "{\"text\":\"gives low\"}", 200, "{\"plan\":*\"unsure\":*");
    expect(&one, "POST", "/api/plans", "{\"text\":\"\"}", 400, "*\"Invalid\"*");
}

/* ------------------------------------------------------------------------------- runs */

static void numbers_stay_as_they_are_written(void **state) {
    (void)state;
    run_to_end(
            &one,
            "{\"plan\":{\"nodes\":[" NODE(
                    "a", "low",
                    "") "],\"result\":[1.0,"
                        "12345678901234567890123,{\"$ref\":\"#/inputs/n\"}],\"inputs\":{\"n\":{}}},"
                        "\"inputs\":{\"n\":98765432109876543210987}}",
            "{\"run\":{*\"state\":\"succeeded\",*\"result\":[1.0,12345678901234567890123,"
            "98765432109876543210987],*");
}

static void each_sees_its_own_runs_and_an_administrator_all(void **state) {
    (void)state;
    char id[TOOLRACK_RUN_ID_ROOM];
    static struct talk stream;
    (void)snprintf(id, sizeof id, "%s", begin_run(&one, RUN(NODE("a", "stays", ""))));
    gate_await_come(1);
    expect(&one, "GET", "/api/runs", NULL, 200,
           "{\"runs\":[{\"id\":\"*\",*\"state\":\"running\",\"owner\":\"token:1\",*\"channel\":"
           "\"rest\",*}]}");
    expect(&admin, "GET", "/api/runs", NULL, 200,
           "{\"runs\":[{\"id\":\"*\"owner\":\"token:1\"*}]}");
    expect(&other, "GET", "/api/runs", NULL, 200, "{\"runs\":[]}");
    expect(&one, "GET", target_of(id, ""), NULL, 200,
           "*\"nodes\":[{\"id\":\"a\",\"tool\":\"stays\",*\"state\":\"running\",*");
    expect(&other, "GET", target_of(id, ""), NULL, 404, "*\"NotFound\"*");
    expect(&other, "POST", target_of(id, "/cancel"), NULL, 404, "*\"NotFound\"*");
    expect(&other, "POST", target_of(id, "/resume"), NULL, 404, "*\"NotFound\"*");
    expect(&other, "DELETE", target_of(id, ""), NULL, 404, "*\"NotFound\"*");
    expect(&one, "DELETE", target_of(id, ""), NULL, 409, "*\"Refused\"*");
    assert_int_equal(gate_cancelled(), 0);
    /* What watches it sees its end. */
    begin(&stream, &other, "POST", "/api/runs", RUN(NODE("b", "stays", "")), true);
    gate_await_come(2);
    assert_matches(talk_wait_sent(&stream, 2),
                   "{\"event\":\"began\",\"state\":\"running\",*\"b\"}");
    assert_matches(stream.sent[0], "{\"id\":\"*\"}");
    expect(&admin, "POST", target_of(id, "/cancel"), NULL, 200, "*");
    gate_await_cancelled(1);
    gate_open();
    assert_matches(talk_wait(&stream), "{\"run\":{*\"state\":\"succeeded\",*\"stayed\"*");
    talk_finish(&stream);
}

static void await_end(const char *id, const char *state) {
    CLEANUP(buf_finish) struct buf pattern = BUF_INIT;
    buf_printf(&pattern, "*\"state\":\"%s\"*", state);
    for (;;) { /* the call has ended: its end is being stored */
        struct toolrack_text *text = NULL;
        assert_int_equal(toolrack_run_get(host, NULL, id, &text, NULL), 0);
        bool is_over =
                strstr(toolrack_text_data(text, NULL), "\"state\":\"running\",\"owner\"") == NULL;
        if (is_over) {
            assert_matches(toolrack_text_data(text, NULL), pattern.data);
        }
        toolrack_text_unref(text);
        if (is_over) {
            return;
        }
    }
}

static void a_client_that_leaves_ends_no_run(void **state) {
    (void)state;
    static struct talk stream;
    char id[TOOLRACK_RUN_ID_ROOM] = "";
    begin(&stream, &one, "POST", "/api/runs", RUN(NODE("a", "stays", "")), true);
    gate_await_come(1);
    (void)talk_wait_sent(&stream, 2);
    assert_int_equal(sscanf(stream.sent[0], "{\"id\":\"%32[0-9a-f]", id), 1);
    front->calls->gone(front, &stream.exchange);
    (void)talk_wait(&stream);
    talk_finish(&stream);
    assert_int_equal(gate_cancelled(), 0);
    gate_open();
    await_end(id, "succeeded");
    expect(&one, "POST", target_of(id, "/cancel"), NULL, 409, "*\"Refused\"*");
    expect(&one, "POST", target_of(id, "/resume"), NULL, 409, "*\"Refused\"*");
    expect(&one, "DELETE", target_of(id, ""), NULL, 200, "{\"id\":\"*\",\"removed\":true}");
    expect(&one, "GET", target_of(id, ""), NULL, 404, "*\"NotFound\"*");
}

/* Also where no connection waits for it. */
static void a_run_ends_with_its_token(void **state) {
    (void)state;
    char id[TOOLRACK_RUN_ID_ROOM];
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    struct toolrack_text *secret = NULL;
    struct principal principal = one;
    token.name = "one";
    assert_int_equal(toolrack_token_add(host, &token, &secret, NULL, NULL), 0);
    assert_int_equal(
            toolrack_token_find(host, toolrack_text_data(secret, NULL), &principal.grant, NULL), 0);
    toolrack_text_unref(secret);
    (void)snprintf(id, sizeof id, "%s",
                   begin_run(&principal, RUN(NODE("a", "stays", "") "," NODE(
                                                 "b", "stays", ",\"depends_on\":[\"a\"]"))));
    toolrack_token_grant_unref(principal.grant); /* the transport forgets who it was */
    gate_await_come(1);
    assert_int_equal(gate_cancelled(), 0);
    assert_int_equal(toolrack_token_revoke(host, "one", NULL, NULL), 0);
    gate_await_cancelled(1);
    await_end(id, "cancelled");
    assert_int_equal(gate_come(), 1);
}

/* The server ends while a run goes on: it is interrupted, and another server resumes it. */
static void a_run_is_resumed_after_its_server(void **state) {
    (void)state;
    char id[TOOLRACK_RUN_ID_ROOM];
    char file[128];
    char dir[128];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    const struct principal part = {
            .id = "token:1", .party = "token:1", .permissions = ~0u, .profile = "few"};
    (void)snprintf(id, sizeof id, "%s",
                   begin_run(&one, RUN(NODE("a", "high", "") "," NODE("b", "stays",
                                                                      ",\"depends_on\":[\"a\"]"))));
    gate_await_come(1);
    rest_destroy(front);
    toolrack_close(host);
    gate_await_cancelled(1);
    (void)snprintf(file, sizeof file, "%s/toolrack.json", folder);
    (void)snprintf(dir, sizeof dir, "%s/state", folder);
    options.config_file = file;
    options.state_dir = dir;
    options.no_scan = 1;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    const struct rest_options serving = {.host = host};
    assert_int_equal(rest_create(&serving, &front, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    gate_reset();
    gate_open();
    expect(&one, "GET", target_of(id, ""), NULL, 200,
           "*\"state\":\"interrupted\",*\"id\":\"b\",*\"word\":\"needed\"*");
    expect(&one, "POST", target_of(id, "/resume"), NULL, 409, "*\"InputRequired\"*b*");
    expect(&other, "POST", target_of(id, "/resume"), "{\"repeat\":[\"b\"]}", 404, "*");
    expect(&one, "POST", target_of(id, "/resume"), "{\"repeat\":[\"c\"]}", 400, "*no node 'c'*");
    /* Who is shown less than before goes on with nothing. */
    expect(&part, "POST", target_of(id, "/resume"), "{\"repeat\":[\"b\"]}", 403,
           "*not shown any more*");
    expect(&one, "POST", target_of(id, "/resume"), "{\"repeat\":[\"b\"]}", 202, "{\"id\":\"*\"}");
    await_end(id, "succeeded");
    expect(&one, "GET", target_of(id, ""), NULL, 200, "*\"id\":\"b\",*\"result\":\"stayed\"*");
}

/* One approval for the plan, which a person gives elsewhere; a token cannot give its own. It is for
 * this plan alone. */
static void a_plan_waits_for_a_person(void **state) {
    (void)state;
    static const char plan[] = RUN(NODE("a", "asks", "") "," NODE("b", "asks", ""));
    static const char less[] = RUN(NODE("a", "asks", ""));
    static struct talk talk;
    char id[64] = "";
    char target[128];
    expect(&one, "POST", "/api/runs", plan, 409, "*\"ConfirmationRequired\"*");
    expect(&one, "GET", "/api/runs", NULL, 200, "{\"runs\":[]}");
    begin(&talk, &admin, "GET", "/api/approvals", NULL, false);
    assert_matches(talk_wait(&talk),
                   "{\"approvals\":[{*\"arguments\":[{\"node\":\"a\",*\"node\":\"b\"*}]}");
    const char *at = strstr(talk.answer, "\"id\":\"");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"id\":\"%63[^\"]", id), 1);
    talk_finish(&talk);
    (void)snprintf(target, sizeof target, "/api/approvals/%s", id);
    expect(&admin, "POST", target, "{\"answer\":\"always\"}", 400,
           "*is a whole plan: allow this run, or deny it*");
    expect(&admin, "POST", target, "{\"answer\":\"once\"}", 200, "*");
    expect(&one, "POST", "/api/runs", less, 409, "*\"ConfirmationRequired\"*");
    expect(&other, "POST", "/api/runs", plan, 409, "*\"ConfirmationRequired\"*");
    run_to_end(&one, plan, "{\"run\":{*\"state\":\"succeeded\",*");
    expect(&one, "POST", "/api/runs", plan, 409, "*\"ConfirmationRequired\"*");
}

static void a_scope_that_is_missing_is_told(void **state) {
    (void)state;
    const struct principal safe = {
            .id = "oauth:1", .party = "oauth:1", .permissions = 1u << TOOLRACK_PERMISSION_SAFE};
    static const char plan[] = RUN(NODE("a", "low", "") "," NODE("b", "asks", ""));
    expect(&safe, "POST", "/api/runs", plan, 403, "*tools of the permission confirm*");
    expect(&safe, "POST", "/api/runs",
           RUN(NODE("a", "low", ",\"on_error\":{\"fallback\":{\"tool\":\"asks\"}}")), 403,
           "*tools of the permission confirm*");
}

/* A party has as many runs as it leaves to others. */
static void a_party_leaves_runs_to_others(void **state) {
    (void)state;
    for (unsigned i = 0; i < REST_RUNS_MAX / 2; i++) {
        (void)begin_run(&one, RUN(NODE("a", "stays", "")));
    }
    expect(&one, "POST", "/api/runs", RUN(NODE("a", "stays", "")), 429, "*too many of your plans*");
    (void)begin_run(&other, RUN(NODE("a", "low", "")));
    gate_open();
}

/* Threads keep memory for the next call: let all begin that will. */
#define WARM_RUNS 16

static void warm_threads(void) {
    char ids[WARM_RUNS][TOOLRACK_RUN_ID_ROOM];
    for (unsigned i = 0; i < WARM_RUNS; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%s", begin_run(&one, RUN(NODE("a", "stays", ""))));
    }
    gate_await_come(WARM_RUNS);
    gate_open();
    for (unsigned i = 0; i < WARM_RUNS; i++) {
        await_end(ids[i], "succeeded");
    }
}

static void two_hundred_runs_leave_nothing_behind(void **state) {
    (void)state;
    static const char plan[] = RUN(NODE("a", "low", "") "," NODE(
            "b", "high", ",\"arguments\":{\"a\":{\"$ref\":\"#/nodes/a/result/a\"}}"));
    size_t before = 0;       /* the most of 25 runs: */
    size_t after = SIZE_MAX; /* the least: what other threads have comes and goes */
    warm_threads();
    for (int i = 0; i < 250; i++) {
        run_to_end(&one, plan, "{\"run\":{*\"state\":\"succeeded\",*");
        assert_int_equal(toolrack_flush(host, NULL), 0); /* the writer of the log rests */
        size_t used = mallinfo2().uordblks;
        before = i >= 25 && i < 50 && used > before ? used : before;
        after = i >= 225 && used < after ? used : after;
    }
    expect(&admin, "GET", "/metrics", NULL, 200,
           "*\ntoolrack_plan_runs_in_flight 0\n*\ntoolrack_plan_runs_total{state=\"succeeded\"} "
           "266\n*\ntoolrack_plan_nodes_total{state=\"succeeded\"} 516\n*");
    print_message("# 200 runs left %ld bytes\n", (long)after - (long)before);
    if (after > before + 200 * 256) {
        fail_msg("200 runs left %zu bytes", after - before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(all_that_is_wrong_is_found_at_once, setup, teardown),
            cmocka_unit_test_setup_teardown(a_plan_has_what_its_principal_is_shown, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(what_is_no_plan_is_refused, setup, teardown),
            cmocka_unit_test_setup_teardown(a_plan_of_many_nodes_is_checked, setup, teardown),
            cmocka_unit_test_setup_teardown(a_text_becomes_a_plan, setup, teardown),
            cmocka_unit_test_setup_teardown(numbers_stay_as_they_are_written, setup, teardown),
            cmocka_unit_test_setup_teardown(each_sees_its_own_runs_and_an_administrator_all, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(a_client_that_leaves_ends_no_run, setup, teardown),
            cmocka_unit_test_setup_teardown(a_run_is_resumed_after_its_server, setup, teardown),
            cmocka_unit_test_setup_teardown(a_plan_waits_for_a_person, setup, teardown),
            cmocka_unit_test_setup_teardown(a_scope_that_is_missing_is_told, setup, teardown),
            cmocka_unit_test_setup_teardown(a_party_leaves_runs_to_others, setup, teardown),
            cmocka_unit_test_setup_teardown(a_run_ends_with_its_token, setup, teardown),
            cmocka_unit_test_setup_teardown(two_hundred_runs_leave_nothing_behind, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
