/* Tools that run after a person agreed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "gate.h"
#include "mcp-server.h"
#include "patience.h"
#include "serve/mcp/approve.h"
#include "serve/mcp/server.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

#define ANY "{\"type\":\"object\"}"

static unsigned runs;

static tr_status act(struct tr_call *call) {
    runs++;
    return tr_reply_textf(call, "did %s", tr_arguments(call));
}
TR_JSON_TOOL(act, ("Do something", .permission = TR_CONFIRM), ANY)

static tr_status login(struct tr_call *call) {
    runs++;
    return tr_reply_text(call, "in");
}
TR_JSON_TOOL(login, ("Log in", .permission = TR_CONFIRM),
             "{\"type\":\"object\",\"properties\":{\"user\":{\"type\":\"string\"},\"pin\":{"
             "\"type\":\"string\",\"writeOnly\":true}}}")

static tr_status erase(struct tr_call *call) {
    runs++;
    return tr_reply_text(call, "erased");
}
TR_JSON_TOOL(erase, ("Erase a disk", .permission = TR_DANGEROUS), ANY)

static tr_status job(struct tr_call *call) {
    runs++;
    return tr_reply_text(call, "worked");
}
TR_JSON_TOOL(job, ("A long job", .permission = TR_CONFIRM, .flags = TR_TASK_ALWAYS), ANY)

/* Asks in the words of the server. */
static tr_status sly(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask_as(call, "toolrack", "The server asks for approval", NULL, &answer);
    runs += status == TR_OK;
    return status == TR_OK ? tr_reply_text(call, "sly") : status;
}
TR_JSON_TOOL(sly, ("Ask", .permission = TR_CONFIRM), ANY)

/* Does something before each question; fails if the person declines. */
static tr_status dig(struct tr_call *call) {
    static const char *const questions[] = {"one", "two"};
    const char *answer = NULL;
    runs++;
    tr_status status = TR_OK;
    for (size_t i = 0; i < 2 && status == TR_OK; i++) {
        status = tr_ask_as(call, questions[i], "Deeper?", NULL, &answer);
    }
    return status == TR_OK ? tr_reply_text(call, "dug") : status;
}
TR_JSON_TOOL(dig, ("Dig", .permission = TR_CONFIRM), ANY)

/* The same with a question whose run is still there when the next one comes. */
static tr_status slow(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask_as(call, "one", "Deeper?", NULL, &answer);
    if (status != TR_OK) {
        return status;
    }
    return gate_pass(call) ? tr_reply_text(call, "passed") : TR_CANCELLED;
}
TR_JSON_TOOL(slow, ("Dig slowly", .permission = TR_CONFIRM), ANY)

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE), "1.0.0", act, erase, job, sly, dig, slow, login)

#define FORMS          "{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define ACT(arguments) "\"name\":\"act\",\"arguments\":" arguments ","
#define PENDING \
    "*ConfirmationRequired: *waits for somebody to allow it, as *toolrack *approvals allow *"
#define APPROVE "{\"serve\":{\"elicitation\":\"approve\"}}"

static void open_approvals(const char *config) {
    server_open(config, &toolrack_plugin, NULL);
    runs = 0;
}

/* A question of the server, and how it is answered. */
struct question {
    char key[64];
    char state[4096];
};

/* What an answer asks. */
static struct question read_question(struct talk *talk) {
    struct question question = {"", ""};
    assert_matches(talk_wait(talk), "*\"resultType\":\"input_required\",*\"inputRequests\":{*");
    const char *key =
            strstr(talk->answer, "\"inputRequests\":{\"") + strlen("\"inputRequests\":{\"");
    const char *state = strstr(talk->answer, "\"requestState\":\"");
    assert_non_null(state);
    state += strlen("\"requestState\":\"");
    (void)snprintf(question.key, sizeof question.key, "%.*s", (int)strcspn(key, "\""), key);
    (void)snprintf(question.state, sizeof question.state, "%.*s", (int)strcspn(state, "\""), state);
    talk_finish(talk);
    return question;
}

static void post_call(struct talk *talk, const struct principal *principal,
                      const char *parameters) {
    char message[8192];
    const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = NULL};
    struct mcp_headers named = headers;
    char name[64];
    (void)sscanf(parameters, "\"name\":\"%63[^\"]", name);
    named.name = name;
    (void)snprintf(message, sizeof message, REQUEST("1", "tools/call", "%s" META_OF(FORMS)),
                   parameters);
    talk_post(talk, server_mcp, principal, &named, message);
}

static struct question ask_as(const struct principal *principal, const char *parameters) {
    struct talk talk;
    post_call(&talk, principal, parameters);
    return read_question(&talk);
}

static struct question ask(const char *parameters) {
    return ask_as(&server_principal, parameters);
}

static void answer_as(const struct principal *principal, const char *parameters,
                      const struct question *question, const char *response, const char *expected) {
    char message[8192];
    char name[64];
    (void)sscanf(parameters, "\"name\":\"%63[^\"]", name);
    (void)snprintf(
            message, sizeof message,
            REQUEST("2", "tools/call",
                    "%s\"inputResponses\":{\"%s\":%s},\"requestState\":\"%s\"," META_OF(FORMS)),
            parameters, question->key, response, question->state);
    server_check_post(principal, "tools/call", name, message, expected);
}

static void answer(const char *parameters, const struct question *question, const char *response,
                   const char *expected) {
    answer_as(&server_principal, parameters, question, response, expected);
}

#define ALLOW   "{\"action\":\"accept\",\"content\":{\"decision\":\"allow once\"}}"
#define DENY    "{\"action\":\"accept\",\"content\":{\"decision\":\"deny\"}}"
#define DECLINE "{\"action\":\"decline\"}"
#define CANCEL  "{\"action\":\"cancel\"}"
#define ASKED   "*\"resultType\":\"input_required\",*\"inputRequests\":{\"toolrack:approval-*"

static void a_call_waits_for_a_person_elsewhere(void **state) {
    (void)state;
    open_approvals("{}");
    struct talk talk;
    talk_pipe(&talk, server_pipe, CALL("1", "act", "\"arguments\":{\"n\":1}," META_OF(FORMS)));
    assert_matches(talk_wait(&talk), PENDING "Only a person may decide that*\"isError\":true*");
    char id[64];
    const char *from = strstr(talk.answer, "approvals allow ") + strlen("approvals allow ");
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(from, ".\\\" \n"), from);
    talk_finish(&talk);
    assert_int_equal(toolrack_resolve(server_host, id, TOOLRACK_APPROVAL_ALLOW_ONCE, "me", NULL),
                     0);
    server_check(CALL("1", "act", "\"arguments\":{\"n\":1}," META_OF(FORMS)),
                 "*did {\\\"n\\\":1}*");
    server_check(CALL("1", "act", "\"arguments\":{\"n\":1}," META_OF(FORMS)), PENDING "*");
    /* Nothing that a client sends resolves it. */
    server_check(CALL("1", "act",
                      "\"arguments\":{\"n\":1},\"inputResponses\":{\"toolrack:approval-\":" ALLOW
                      "}," META_OF(FORMS)),
                 PENDING "*");
    assert_int_equal(runs, 1);
    server_close();
}

/* Let the newest call that waits run. */
static void allow_newest(void) {
    struct toolrack_text *text = NULL;
    char id[64] = "";
    assert_int_equal(toolrack_pending(server_host, &text, NULL), 0);
    size_t length;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *row = yyjson_arr_get_last(yyjson_doc_get_root(doc));
    const char *last = yyjson_get_str(yyjson_obj_get(row, "id"));
    (void)snprintf(id, sizeof id, "%s", last != NULL ? last : "");
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    assert_int_equal(toolrack_resolve(server_host, id, TOOLRACK_APPROVAL_ALLOW_ONCE, "me", NULL),
                     0);
}

#define ACT_1 CALL("1", "act", "\"arguments\":{\"n\":1}," META_NONE)

/* Who nothing is known of is nobody else: a pipe, the user or the connection of a request. */
static void an_approval_is_for_one_client(void **state) {
    (void)state;
    open_approvals("{}");
    static const struct principal nobody = {.permissions = ~0u};
    struct toolrack_error err;
    struct mcp_pipe *pipes[2];
    struct talk ways[2];
    struct talk talk;
    for (size_t i = 0; i < 2; i++) {
        talk_init(&ways[i]);
        assert_int_equal(mcp_pipe_open(server_mcp, &nobody, &ways[i].exchange, &pipes[i], &err), 0);
    }
    static const char *const expected[] = {PENDING "*", PENDING "*", "*did *"};
    for (size_t i = 0; i < 3; i++) {
        talk_pipe(&talk, pipes[i == 1], ACT_1);
        assert_matches(talk_wait(&talk), expected[i]);
        talk_finish(&talk);
        if (i == 0) {
            allow_newest();
        }
    }
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_pending(server_host, &text, NULL), 0);
    assert_matches(toolrack_text_data(text, NULL),
                   "[{*\"caller\":\"stdio:*\",*\"conversation\":\"*");
    toolrack_text_unref(text);
    for (size_t i = 0; i < 2; i++) {
        mcp_pipe_close(pipes[i], true);
        talk_finish(&ways[i]);
    }

    static const char *const who[] = {"uid:1", "uid:2", "uid:1"};
    for (size_t i = 0; i < 3; i++) {
        talk_who = who[i];
        server_check_post(&nobody, "tools/call", "act", ACT_1, expected[i]);
        if (i == 0) {
            allow_newest();
        }
    }
    assert_int_equal(runs, 2);
    server_close();
}

/* Whoever comes with a token or OAuth may be anywhere: where the host's files are is not theirs. */
static void places_are_not_for_who_shows_a_token(void **state) {
    (void)state;
    static const struct {
        struct principal principal;
        bool is_told;
    } rows[] = {{{.id = "token:a", .permissions = ~0u}, false},
                {{.id = "oauth:a b", .permissions = ~0u}, false},
                {{.id = "uid:1", .permissions = ~0u}, true},
                {{.id = "token:b", .permissions = ~0u, .admin = true}, true}};
    open_approvals("{}");
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct talk talk;
        talk_post(&talk, server_mcp, &rows[i].principal,
                  &(struct mcp_headers){
                          .version = "2026-07-28", .method = "tools/call", .name = "act"},
                  ACT_1);
        assert_matches(talk_wait(&talk), PENDING);
        if ((strstr(talk.answer, "--state") != NULL) != rows[i].is_told) {
            fail_msg("%s: %s", rows[i].principal.id, talk.answer);
        }
        talk_finish(&talk);
    }
    server_close();
}

/* Each session is a caller of its own, and those of a user have one share of the calls that wait.
 */
static void sessions_of_a_user_have_one_share(void **state) {
    (void)state;
    static const struct principal users[] = {{.party = "uid:1", .permissions = ~0u},
                                             {.party = "uid:2", .permissions = ~0u}};
    open_approvals("{}");
    for (size_t i = 0; i < 66; i++) {
        const struct principal *user = &users[i == 65];
        struct talk talk;
        talk_post(&talk, server_mcp, user, &(struct mcp_headers){0},
                  INITIALIZE_WITH("2025-11-25", "{}"));
        (void)talk_wait(&talk);
        char session[64];
        (void)snprintf(session, sizeof session, "%s", talk.session);
        talk_finish(&talk);
        talk_post(&talk, server_mcp, user, &(struct mcp_headers){.session = session},
                  REQUEST("2", "tools/call", "\"name\":\"act\",\"arguments\":{}"));
        assert_matches(talk_wait(&talk), i == 64 ? "*: 64 calls of 'uid:1' wait*" : PENDING "*");
        talk_finish(&talk);
    }
    server_close();
}

static void the_client_is_shown_no_secret(void **state) {
    (void)state;
    struct talk talk;
    open_approvals(APPROVE);
    post_call(&talk, &server_principal,
              "\"name\":\"login\",\"arguments\":{\"user\":\"ada\",\"pin\":\"4711\"},");
    assert_non_null(strstr(talk_wait(&talk), "user: \\\"ada\\\"\\npin: \\\"***\\\"\\nWhy: "));
    talk_finish(&talk);
    server_close();
}

static void the_client_is_asked(void **state) {
    (void)state;
    open_approvals(APPROVE);
    server_check(CALL("1", "act", "\"arguments\":{\"n\":1}," META_OF(FORMS)),
                 "*\"inputRequests\":{\"toolrack:approval-*\":{\"method\":\"elicitation/create\","
                 "\"params\":{*\"message\":\"The server asks for approval: may the tool act "
                 "(version 1.0.0, confirm, plugin unit) run once with these arguments?\\nn: 1\\n"
                 "Why: *\"enum\":[\"allow once\",\"deny\"]*");
    struct question question = ask(ACT("{\"n\":1}"));
    answer(ACT("{\"n\":1}"), &question, ALLOW, "*did {\\\"n\\\":1}*");
    assert_int_equal(runs, 1);
    /* It is used once. */
    answer(ACT("{\"n\":1}"), &question, ALLOW, ASKED);
    assert_int_equal(runs, 1);
    struct toolrack_text *decisions = NULL;
    assert_int_equal(toolrack_flush(server_host, NULL), 0);
    assert_int_equal(toolrack_decisions(server_host, NULL, &decisions, NULL), 0);
    assert_matches(toolrack_text_data(decisions, NULL),
                   "*\"tool\":\"act\",*\"caller\":\"stdio\",*\"decision\":\"allowed\",\"who\":"
                   "\"stdio\"*");
    toolrack_text_unref(decisions);

    static const struct {
        const char *response;
        const char *expected;
    } rows[] = {
            {DENY, "*PermissionDenied: *denied by stdio*\"isError\":true*"},
            {DECLINE, "*PermissionDenied: *"},
            /* What decides nothing leaves it to somebody else. */
            {CANCEL, PENDING "*"},
            {"{\"action\":\"accept\"}", PENDING "*"},
            {"{\"action\":\"accept\",\"content\":{\"decision\":\"always\"}}", PENDING "*"},
            {"{\"action\":\"accept\",\"content\":{\"decision\":true}}", PENDING "*"},
            {"{\"action\":\"accept\",\"content\":[\"allow once\"]}", ASKED},
            {"{\"action\":\"allow\"}", ASKED},
            {"7", ASKED},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char call[64];
        (void)snprintf(call, sizeof call, ACT("{\"n\":1%zu}"), i);
        question = ask(call);
        answer(call, &question, rows[i].response, rows[i].expected);
    }
    assert_int_equal(runs, 1);
    server_close();
}

static void an_answer_is_for_one_call(void **state) {
    (void)state;
    open_approvals(APPROVE);
    static const struct principal other = {.id = "token:b", .permissions = ~0u};
    struct question question = ask(ACT("{\"n\":1}"));
    struct question of_other = ask_as(&other, ACT("{\"n\":1}"));
    /* Other arguments, another principal: the state is not theirs. */
    answer(ACT("{\"n\":2}"), &question, ALLOW, "*\"code\":-32602*another request*");
    answer_as(&other, ACT("{\"n\":1}"), &question, ALLOW, "*\"code\":-32602*another request*");
    /* Nor is the question, with a state of their own. */
    struct question mixed = of_other;
    memcpy(mixed.key, question.key, sizeof mixed.key);
    answer_as(&other, ACT("{\"n\":1}"), &mixed, ALLOW, ASKED);
    mixed = ask(ACT("{\"n\":2}"));
    memcpy(mixed.key, question.key, sizeof mixed.key);
    answer(ACT("{\"n\":2}"), &mixed, ALLOW, ASKED);
    assert_int_equal(runs, 0);
    /* A tool that was registered again is another one. */
    assert_int_equal(toolrack_unregister_name(server_host, "act", NULL), 0);
    static const struct tr_tool *const one[] = {&tr_tool_act};
    struct tr_plugin plugin = toolrack_plugin;
    plugin.id = "again";
    plugin.tools = one;
    plugin.tool_count = 1;
    assert_int_equal(toolrack_register(server_host, &plugin, NULL, NULL), 0);
    answer(ACT("{\"n\":1}"), &question, ALLOW, ASKED);
    assert_int_equal(runs, 0);
    server_close();
}

static void only_who_may_answer_is_asked(void **state) {
    (void)state;
    open_approvals("{}");
    static const struct principal approver = {
            .id = "token:a", .permissions = ~0u, .approves = true};
    struct question question = ask_as(&approver, ACT("{\"n\":1}"));
    answer_as(&approver, ACT("{\"n\":1}"), &question, ALLOW, "*did *");
    /* It cannot be asked; the arguments cannot be shown; it is dangerous. */
    server_check_post(&approver, "tools/call", "act",
                      CALL("1", "act", "\"arguments\":{\"n\":1}," META_NONE), PENDING "*");
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                        "\"name\":\"act\",\"arguments\":{\"text\":\"");
    for (size_t i = 0; i < APPROVE_ARGUMENTS_MAX; i++) {
        buf_add_char(&text, 'a');
    }
    buf_add_text(&text, "\"}," META_OF(FORMS) "}}");
    server_check_post(&approver, "tools/call", "act", text.data, PENDING "*");
    server_check_post(&approver, "tools/call", "erase", CALL("1", "erase", META_OF(FORMS)),
                      "*PermissionDenied: *\"isError\":true*");
    assert_int_equal(runs, 1);
    server_close();
}

static void a_call_is_approved_once_for_all_its_rounds(void **state) {
    (void)state;
    open_approvals(APPROVE);
#define SLY "\"name\":\"sly\",\"arguments\":{},"
    struct question first = ask(SLY);
    assert_int_equal(strncmp(first.key, "toolrack:approval-", 18), 0);
    /* The tool asks, in its own name: what is answered to it approves nothing. */
    char message[8192];
    struct talk talk;
    (void)snprintf(message, sizeof message,
                   REQUEST("2", "tools/call",
                           SLY "\"inputResponses\":{\"%s\":" ALLOW
                               "},\"requestState\":\"%s\"," META_OF(FORMS)),
                   first.key, first.state);
    static const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = "sly"};
    talk_post(&talk, server_mcp, &server_principal, &headers, message);
    assert_matches(talk_wait(&talk), "*\"inputRequests\":{\"toolrack\":{*\"requestState\":\"*");
    struct question second = {"toolrack", ""};
    const char *from = strstr(talk.answer, "\"requestState\":\"") + strlen("\"requestState\":\"");
    (void)snprintf(second.state, sizeof second.state, "%.*s", (int)strcspn(from, "\""), from);
    talk_finish(&talk);
    answer(SLY, &second, "{\"action\":\"accept\",\"content\":{}}", "*\"text\":\"sly\"*");
    assert_int_equal(runs, 1);
    /* The whole call once: not its last round again. */
    answer(SLY, &second, "{\"action\":\"accept\",\"content\":{}}", ASKED);
    assert_int_equal(runs, 1);
    server_close();
}

#define DIG         "\"name\":\"dig\",\"arguments\":{},"
#define SLOW        "\"name\":\"slow\",\"arguments\":{},"
#define YES         "{\"action\":\"accept\",\"content\":{}}"
#define BRINGS(...) "\"inputResponses\":{" __VA_ARGS__ "},"

/* Send a round of a call: its answers and the state, as members. */
static void post_round(struct talk *talk, const char *name, const char *state,
                       const char *responses) {
    char message[8192];
    const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = name};
    (void)snprintf(
            message, sizeof message,
            REQUEST("3", "tools/call",
                    "\"name\":\"%s\",\"arguments\":{},%s\"requestState\":\"%s\"," META_OF(FORMS)),
            name, responses, state);
    talk_post(talk, server_mcp, &server_principal, &headers, message);
}

/* The same, and what is asked then. */
static struct question go_on(const char *name, const char *state, const char *responses) {
    struct talk talk;
    post_round(&talk, name, state, responses);
    return read_question(&talk);
}

/* The round that allows a call, and what the tool asks then. */
static struct question allow(const char *name, const struct question *question) {
    char responses[512];
    (void)snprintf(responses, sizeof responses, BRINGS("\"%.63s\":" ALLOW), question->key);
    return go_on(name, question->state, responses);
}

/* A round that brings no answer to what was asked, and one that was made before, run nothing: the
 * person is asked anew. */
static void check_asked_anew(const char *state, const char *responses, unsigned expected) {
    struct question question = go_on("dig", state, responses);
    if (strncmp(question.key, "toolrack:approval-", 18) != 0 || runs != expected) {
        fail_msg("%s: it asks %s after %u runs, not %u", responses, question.key, runs, expected);
    }
}

static void each_round_brings_an_answer(void **state) {
    (void)state;
    open_approvals(APPROVE);
    struct question first = ask(DIG);
    struct question one = allow("dig", &first);
    assert_string_equal(one.key, "one");
    assert_int_equal(runs, 1);
    char again[256];
    (void)snprintf(again, sizeof again, BRINGS("\"%.63s\":" ALLOW), first.key);
    static const char *const rows[] = {"",
                                       BRINGS(""),
                                       BRINGS("\"one\":7"),
                                       BRINGS("\"one\":{\"action\":\"perhaps\"}"),
                                       BRINGS("\"two\":" YES),
                                       BRINGS("\"other\":" YES),
                                       BRINGS("\"one\":{\"roots\":[]}")};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        check_asked_anew(one.state, rows[i], 1);
    }
    check_asked_anew(one.state, again, 1);
    check_asked_anew(first.state, again, 1);
    struct question two = go_on("dig", one.state, BRINGS("\"one\":" YES));
    assert_string_equal(two.key, "two");
    assert_int_equal(runs, 2);
    check_asked_anew(one.state, BRINGS("\"one\":" YES), 2);
    check_asked_anew(one.state, BRINGS("\"one\":" YES ",\"two\":" YES), 2);
    check_asked_anew(two.state, BRINGS("\"one\":" YES), 2);
    answer(DIG, &two, YES, "*\"text\":\"dug\"*");
    assert_int_equal(runs, 3);
    check_asked_anew(two.state, BRINGS("\"two\":" YES), 3);
    check_asked_anew(first.state, again, 3);
    /* What the tool was answered stays with the call that is allowed anew. */
    struct question anew = go_on("dig", one.state, BRINGS("\"one\":" YES));
    two = allow("dig", &anew);
    assert_string_equal(two.key, "two");
    answer(DIG, &two, YES, "*\"text\":\"dug\"*");
    assert_int_equal(runs, 5);
    server_close();
}

static void a_round_that_failed_is_the_last(void **state) {
    (void)state;
    open_approvals(APPROVE);
    struct question first = ask(DIG);
    struct question one = allow("dig", &first);
    answer(DIG, &one, DECLINE, "*\"isError\":true*");
    assert_int_equal(runs, 2);
    check_asked_anew(one.state, BRINGS("\"one\":" YES), 2);
    server_close();
}

/* The two approvals of two calls that say the same are not taken for each other. */
static void calls_that_say_the_same_have_answers_of_their_own(void **state) {
    (void)state;
    open_approvals(APPROVE);
    struct question first[2];
    struct question one[2];
    for (size_t i = 0; i < 2; i++) {
        first[i] = ask(DIG);
    }
    for (size_t i = 0; i < 2; i++) {
        one[i] = allow("dig", &first[i]);
    }
    struct question two = go_on("dig", one[0].state, BRINGS("\"one\":" YES));
    check_asked_anew(one[0].state, BRINGS("\"one\":" YES), 3);
    answer(DIG, &one[1], DECLINE, "*\"isError\":true*");
    answer(DIG, &two, YES, "*\"text\":\"dug\"*");
    assert_int_equal(runs, 5);
    server_close();
}

static void two_rounds_at_once_run_once(void **state) {
    (void)state;
    open_approvals(APPROVE);
    gate_reset();
    struct question first = ask(SLOW);
    struct question one = allow("slow", &first);
    struct talk talk;
    post_round(&talk, "slow", one.state, BRINGS("\"one\":" YES));
    gate_await_come(1);
    struct question anew = go_on("slow", one.state, BRINGS("\"one\":" YES));
    assert_int_equal(strncmp(anew.key, "toolrack:approval-", 18), 0);
    gate_open();
    assert_matches(talk_wait(&talk), "*\"text\":\"passed\"*");
    talk_finish(&talk);
    assert_int_equal(gate_come(), 1);
    server_close();
}

/* The same arguments, written in another order by a client that makes them anew. */
static void arguments_may_come_in_another_order(void **state) {
    (void)state;
    open_approvals(APPROVE);
    struct question first = ask(ACT("{\"a\":1,\"b\":{\"x\":[2,3],\"y\":null}}"));
    static const char *const others[] = {
            ACT("{\"a\":1,\"b\":{\"x\":[3,2],\"y\":null}}"),
            ACT("{\"a\":1,\"b\":{\"y\":[2,3],\"x\":null}}"),
            ACT("{\"a\":1,\"b\":{\"x\":[2,3],\"y\":null},\"c\":2}"),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        answer(others[i], &first, ALLOW,
               "*params.requestState belongs to another request; call again without it*");
    }
    answer(ACT("{\"b\":{\"y\":null,\"x\":[2,3]},\"a\":1}"), &first, ALLOW, "*\"text\":\"did *");
    assert_int_equal(runs, 1);
    server_close();
    open_approvals(APPROVE); /* a restart: another key */
    answer(ACT("{\"a\":1,\"b\":{\"x\":[2,3],\"y\":null}}"), &first, ALLOW,
           "*params.requestState is not one that this server has given since it started; call "
           "again without it*");
    server_close();
}

/* What lets a call go on to its next round is taken back by what takes back any other yes. */
static void a_yes_between_rounds_is_taken_back(void **state) {
    (void)state;
    struct toolrack_error err;
    for (unsigned i = 0; i < 4; i++) {
        open_approvals(APPROVE);
        struct question first = ask(DIG);
        struct question one = allow("dig", &first);
        assert_string_equal(one.key, "one");
        switch (i) {
        case 0: (void)toolrack_revoke(server_host, "act", NULL, &err); break;
        case 1:
        case 2:
            assert_int_equal(toolrack_revoke(server_host, i == 1 ? "dig" : "dig@1.0.0", NULL, &err),
                             TOOLRACK_E_NOT_FOUND);
            assert_matches(err.message,
                           "there is no grant for 'dig*'; calls that a person has allowed once, "
                           "and that have more to ask, are asked about again");
            break;
        default:
            assert_int_equal(toolrack_set_enabled(server_host, "dig", false, NULL, &err), 0);
            assert_int_equal(toolrack_set_enabled(server_host, "dig", true, NULL, &err), 0);
        }
        struct question next = go_on("dig", one.state, BRINGS("\"one\":" YES));
        if (i == 0) {
            assert_string_equal(next.key, "two"); /* another tool's */
        } else {
            assert_int_equal(strncmp(next.key, "toolrack:approval-", 18), 0);
            assert_int_equal(runs, 1);
            struct question again = allow("dig", &next);
            assert_string_equal(again.key, "two");
        }
        server_close();
    }
}

static void a_client_of_the_handshake_era_is_asked(void **state) {
    (void)state;
    open_approvals(APPROVE);
    server_check(INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"), "*2025-11-25*");
    static const struct {
        const char *result;
        const char *expected;
    } rows[] = {
            {ALLOW, "*did {}*"},
            {DECLINE, "*PermissionDenied: *"},
            {CANCEL, PENDING "*"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct talk talk;
        struct talk reply;
        char message[1024];
        talk_pipe(&talk, server_pipe, CALL("5", "act", "\"arguments\":{}"));
        const char *sent = talk_wait_sent(&talk, 1);
        assert_matches(sent, "{\"jsonrpc\":\"2.0\",\"id\":\"*\",\"method\":\"elicitation/create\",*"
                             "may the tool act*");
        const char *id = strstr(sent, "\"id\":\"") + strlen("\"id\":\"");
        (void)snprintf(message, sizeof message,
                       "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":%s}",
                       (int)strcspn(id, "\""), id, rows[i].result);
        talk_pipe(&reply, server_pipe, message);
        (void)talk_wait(&reply);
        talk_finish(&reply);
        assert_matches(talk_wait(&talk), rows[i].expected);
        talk_finish(&talk);
    }
    assert_int_equal(runs, 1);
    server_close();
}

/* A job that is a task, which asks for approval. */
struct job_asking {
    unsigned listen_id;
    char task[33];
    char key[64];
    struct talk call;
    struct talk listening;
    size_t told; /* messages of `listening` that were looked at */
};

/* Begin a job, with these members of its request. */
static void begin_job(struct job_asking *job, unsigned number, const char *members) {
    char message[2048];
    job->listen_id = 90 + number;
    (void)snprintf(message, sizeof message,
                   REQUEST("%u", "tools/call", "\"name\":\"job\",%s" META_OF(FORMS)), number,
                   members);
    talk_pipe(&job->call, server_pipe, message);
    const char *id = strstr(talk_wait(&job->call), "\"taskId\":\"");
    assert_non_null(id);
    (void)snprintf(job->task, sizeof job->task, "%.32s", id + strlen("\"taskId\":\""));
    (void)snprintf(message, sizeof message,
                   REQUEST("%u", "subscriptions/listen",
                           "\"notifications\":{\"taskIds\":[\"%s\"]}," META_OF(FORMS)),
                   job->listen_id, job->task);
    talk_pipe(&job->listening, server_pipe, message);
    const char *sent;
    for (job->told = 2; !matches(sent = talk_wait_sent(&job->listening, job->told),
                        "*\"inputRequests\":{\"toolrack:approval-*");
         job->told++) {
        assert_false(matches(sent, "*\"status\":\"completed\"*"));
    }
    const char *key = strstr(sent, "toolrack:approval-");
    (void)snprintf(job->key, sizeof job->key, "%.*s", (int)strcspn(key, "\""), key);
}

/* Allow a job, and wait until it has ended. */
static void allow_job(struct job_asking *job) {
    char message[1024];
    (void)snprintf(message, sizeof message,
                   REQUEST("2", "tasks/update",
                           "\"taskId\":\"%s\",\"inputResponses\":{\"%s\":" ALLOW
                           "}," META_OF(FORMS)),
                   job->task, job->key);
    server_check(message, "*\"result\":{*");
    while (!matches(talk_wait_sent(&job->listening, job->told),
                    "*\"status\":\"completed\"*worked*")) {
        job->told++;
    }
}

static void finish_job(struct job_asking *job) {
    char message[256];
    (void)snprintf(message, sizeof message,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":%u}}",
                   job->listen_id);
    server_check(message, "");
    (void)talk_wait(&job->listening);
    talk_finish(&job->listening);
    talk_finish(&job->call);
}

/* How many calls have ended so far. */
static size_t ended_calls(void) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    size_t length;
    assert_int_equal(toolrack_log(server_host, NULL, &text, &err), 0);
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return count;
}

static void assert_nothing_waits(void) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    size_t length;
    assert_int_equal(toolrack_pending(server_host, &text, &err), 0);
    assert_string_equal(toolrack_text_data(text, &length), "[]");
    toolrack_text_unref(text);
}

/* Nobody would make the call again after an answer. */
static void a_call_that_nobody_wants_does_not_wait(void **state) {
    (void)state;
    char message[512];
    struct job_asking job;
    struct talk talk;
    open_approvals(APPROVE);
    begin_job(&job, 1, "");
    (void)snprintf(message, sizeof message,
                   REQUEST("2", "tasks/cancel", "\"taskId\":\"%s\"," META_OF(FORMS)), job.task);
    server_check(message, "*\"result\":{*");
    AWAIT(ended_calls() == 1);
    assert_nothing_waits();
    finish_job(&job);
    server_close();

    open_approvals(APPROVE);
    server_check(INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"), "*2025-11-25*");
    talk_pipe(&talk, server_pipe, CALL("5", "act", "\"arguments\":{}"));
    assert_matches(talk_wait_sent(&talk, 1), "*\"method\":\"elicitation/create\",*");
    server_check("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                 "\"requestId\":5}}",
                 "");
    AWAIT(ended_calls() == 1);
    assert_nothing_waits();
    (void)talk_wait(&talk);
    talk_finish(&talk);
    server_close();
    assert_int_equal(runs, 0);
}

static void a_task_is_approved_by_its_update(void **state) {
    (void)state;
    struct job_asking job;
    open_approvals(APPROVE);
    begin_job(&job, 1, "");
    allow_job(&job);
    assert_int_equal(runs, 1);
    finish_job(&job);
    server_close();
}

/* Another call cannot bring the answer to the question of a task that waits for it. */
static void the_question_of_a_task_is_answered_by_its_update_alone(void **state) {
    (void)state;
    struct job_asking jobs[2];
    char members[256];
    open_approvals(APPROVE);
    begin_job(&jobs[0], 1, "");
    (void)snprintf(members, sizeof members, BRINGS("\"%.63s\":" ALLOW), jobs[0].key);
    begin_job(&jobs[1], 2, members);
    assert_string_not_equal(jobs[0].key, jobs[1].key);
    for (size_t i = 0; i < 2; i++) {
        allow_job(&jobs[i]);
        assert_int_equal(runs, i + 1);
        finish_job(&jobs[i]);
    }
    server_close();
}

static void questions_are_forgotten(void **state) {
    (void)state;
    open_approvals(APPROVE);
    struct question first = ask(ACT("{\"n\":0}"));
    struct question last = first;
    for (unsigned i = 1; i <= APPROVE_OPEN_MAX; i++) {
        char call[64];
        (void)snprintf(call, sizeof call, ACT("{\"n\":%u}"), i);
        last = ask(call);
    }
    answer(ACT("{\"n\":0}"), &first, ALLOW, ASKED);
    answer(ACT("{\"n\":1024}"), &last, ALLOW, "*did *");
    server_close();
}

/* Nobody lets the server forget what others were asked. */
static void who_asks_for_much_forgets_its_own(void **state) {
    (void)state;
    static const struct principal little = {.id = "token:a", .permissions = ~0u};
    static const struct principal much = {.id = "token:b", .permissions = ~0u};
    open_approvals(APPROVE);
    struct question others = ask_as(&little, ACT("{\"n\":0}"));
    struct question first = ask_as(&much, ACT("{\"n\":0}"));
    for (unsigned i = 1; i < APPROVE_OPEN_MAX; i++) {
        char call[64];
        (void)snprintf(call, sizeof call, ACT("{\"n\":%u}"), i);
        (void)ask_as(&much, call);
    }
    answer_as(&much, ACT("{\"n\":0}"), &first, ALLOW, ASKED);
    answer_as(&little, ACT("{\"n\":0}"), &others, ALLOW, "*did *");
    server_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_call_waits_for_a_person_elsewhere),
            cmocka_unit_test(an_approval_is_for_one_client),
            cmocka_unit_test(places_are_not_for_who_shows_a_token),
            cmocka_unit_test(the_client_is_asked),
            cmocka_unit_test(the_client_is_shown_no_secret),
            cmocka_unit_test(sessions_of_a_user_have_one_share),
            cmocka_unit_test(an_answer_is_for_one_call),
            cmocka_unit_test(only_who_may_answer_is_asked),
            cmocka_unit_test(a_call_is_approved_once_for_all_its_rounds),
            cmocka_unit_test(each_round_brings_an_answer),
            cmocka_unit_test(a_round_that_failed_is_the_last),
            cmocka_unit_test(calls_that_say_the_same_have_answers_of_their_own),
            cmocka_unit_test(two_rounds_at_once_run_once),
            cmocka_unit_test(arguments_may_come_in_another_order),
            cmocka_unit_test(a_yes_between_rounds_is_taken_back),
            cmocka_unit_test(a_client_of_the_handshake_era_is_asked),
            cmocka_unit_test(a_call_that_nobody_wants_does_not_wait),
            cmocka_unit_test(a_task_is_approved_by_its_update),
            cmocka_unit_test(the_question_of_a_task_is_answered_by_its_update_alone),
            cmocka_unit_test(questions_are_forgotten),
            cmocka_unit_test(who_asks_for_much_forgets_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
