/* What HTTP alone has of the Model Context Protocol: sessions, event streams, headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "gate.h"
#include "mcp-unit.h"
#include "serve/mcp/server.h"
#include "toolrack/plugin.h"

static const struct principal nobody = {.permissions = ~0u};

/* The value of Mcp-Param-Region. */
static const char *region;

static const char *parameter(const struct mcp_headers *headers, const char *name, bool *more) {
    (void)headers;
    *more = region != NULL && strcmp(region, "twice") == 0;
    return strcmp(name, "Region") == 0 ? region : NULL;
}

/* A POST: the status, and the answer as the pattern says. */
static void post(const struct mcp_headers *headers, const char *text, int status,
                 const char *answer) {
    struct talk talk;
    talk_post(&talk, mcp, &nobody, headers, text);
    assert_matches(talk_wait(&talk), answer);
    assert_int_equal(talk.status, status);
    talk_finish(&talk);
}

/* Begin a session. */
static char *begin(const char *version) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, INITIALIZE("%s"), version);
    struct talk talk;
    talk_post(&talk, mcp, &nobody, &(struct mcp_headers){0}, text.data);
    (void)talk_wait(&talk);
    assert_int_equal(talk.status, 200);
    assert_non_null(talk.session);
    assert_int_equal(strlen(talk.session), 32);
    char *session = strdup(talk.session);
    talk_finish(&talk);
    return session;
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

static void a_session_begins_and_ends(void **state) {
    (void)state;
    CLEANUP(freep) char *first = begin("2025-11-25");
    CLEANUP(freep) char *second = begin("2025-06-18");
    assert_string_not_equal(first, second);
    struct mcp_headers headers = {.session = first};
    post(&headers, PING, 200, "*\"result\":{}}");
    headers.version = "2025-11-25";
    post(&headers, PING, 200, "*\"result\":{}}");
    headers.version = "1999-01-01";
    post(&headers, PING, 400, "*\"id\":1,*\"code\":-32600*header MCP-Protocol-Version*1999-01-01*");
    post(&headers, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 400,
         "*\"code\":-32600*");
    headers.version = NULL;
    post(&headers, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202, "");
    post(&(struct mcp_headers){0}, PING, 400, "*\"id\":1,*\"code\":-32600*Mcp-Session-Id*");
    post(&(struct mcp_headers){.session = "no such"}, PING, 404,
         "*\"id\":1,*\"code\":-32001,*initialize again*");
    post(&(struct mcp_headers){0}, "[]", 400, "*\"code\":-32600*");
    struct talk talk;
    talk_init(&talk);
    mcp_delete(mcp, &nobody, &headers, &talk.exchange);
    assert_string_equal(talk_wait(&talk), "");
    assert_int_equal(talk.status, 204);
    talk_finish(&talk);
    post(&headers, PING, 404, "*\"code\":-32001,*initialize again*");
    post(&headers, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 404,
         "*\"code\":-32001,*");
    /* It was of nobody: who is known cannot take it, and the other way round. */
    talk_post(&talk, mcp, &principal, &(struct mcp_headers){.session = second}, PING);
    (void)talk_wait(&talk);
    assert_int_equal(talk.status, 404);
    talk_finish(&talk);
    talk_init(&talk);
    mcp_get(mcp, &nobody, &headers, &talk.exchange);
    assert_matches(talk_wait(&talk), "*\"code\":-32001,*");
    assert_int_equal(talk.status, 404);
    talk_finish(&talk);
}

/* What a plugin is told of a session, which the log and lists name too: the same for all calls. */
static char *named(const char *session) {
    struct talk talk;
    talk_post(&talk, mcp, &nobody, &(struct mcp_headers){.session = session},
              CALL("1", "whose", ""));
    const char *answer = talk_wait(&talk);
    assert_int_equal(talk.status, 200);
    assert_null(strstr(answer, session));
    const char *name = strstr(answer, "session:");
    assert_non_null(name);
    name += strlen("session:");
    char *id = strndup(name, strcspn(name, "/"));
    assert_int_equal(strlen(id), 32);
    assert_int_equal(strncmp(name + strlen(id) + 1, id, strlen(id)), 0); /* the conversation */
    talk_finish(&talk);
    return id;
}

static void the_name_of_a_session_does_not_open_it(void **state) {
    (void)state;
    CLEANUP(freep) char *first = begin("2025-11-25");
    CLEANUP(freep) char *second = begin("2025-11-25");
    CLEANUP(freep) char *id = named(first);
    CLEANUP(freep) char *again = named(first);
    CLEANUP(freep) char *other = named(second);
    assert_string_equal(id, again);
    assert_string_not_equal(id, other);
    post(&(struct mcp_headers){.session = id}, PING, 404, "*\"code\":-32001,*");
}

/* Of each way to use a session, the status that a principal gets. */
static void expect_session(const char *session, const struct principal *who, int status) {
    const struct mcp_headers headers = {.session = session};
    struct talk talk;
    talk_post(&talk, mcp, who, &headers, PING);
    (void)talk_wait(&talk);
    assert_int_equal(talk.status, status);
    talk_finish(&talk);
    talk_post(&talk, mcp, who, &headers,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    (void)talk_wait(&talk);
    assert_int_equal(talk.status, status == 200 ? 202 : status);
    talk_finish(&talk);
    if (status != 200) {
        talk_init(&talk);
        mcp_get(mcp, who, &headers, &talk.exchange);
        assert_matches(talk_wait(&talk), "*\"code\":-32001,*initialize again*");
        assert_int_equal(talk.status, status);
        talk_finish(&talk);
        talk_init(&talk);
        mcp_delete(mcp, who, &headers, &talk.exchange);
        assert_matches(talk_wait(&talk), "*\"code\":-32001,*initialize again*");
        assert_int_equal(talk.status, status);
        talk_finish(&talk);
    }
}

/* Whoever has got hold of its secret, by a log of the client or by its memory. */
static void a_session_is_of_the_user_who_began_it(void **state) {
    (void)state;
    static const struct principal users[] = {
            {.party = "uid:1", .permissions = ~0u}, /* at a loopback address */
            {.party = "uid:2", .permissions = ~0u},
            {.permissions = ~0u},                /* likewise, and the kernel does not say */
            {.id = "uid:1", .permissions = ~0u}, /* at a socket in the file system */
            {.id = "uid:2", .permissions = ~0u},
            {.id = "token:1", .permissions = ~0u}};
    for (size_t i = 0; i < ARRAY_LENGTH(users); i++) {
        struct talk talk;
        talk_post(&talk, mcp, &users[i], &(struct mcp_headers){0}, INITIALIZE("2025-11-25"));
        (void)talk_wait(&talk);
        assert_int_equal(talk.status, 200);
        for (size_t j = 0; j < ARRAY_LENGTH(users); j++) {
            expect_session(talk.session, &users[j], i == j ? 200 : 404);
        }
        expect_session(talk.session, &users[i], 200);
        talk_finish(&talk);
    }
}

/* Who begins many sessions ends its own. */
static void expect_sessions_of(const struct principal *few, const struct principal *many) {
    mcp->settings.sessions_max = 4;
    struct talk talk;
    char *sessions[7];
    for (size_t i = 0; i < ARRAY_LENGTH(sessions); i++) {
        talk_post(&talk, mcp, i == 0 ? few : many, &(struct mcp_headers){0},
                  INITIALIZE("2025-11-25"));
        (void)talk_wait(&talk);
        assert_int_equal(talk.status, 200);
        sessions[i] = strdup(talk.session);
        talk_finish(&talk);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(sessions); i++) {
        talk_post(&talk, mcp, i == 0 ? few : many, &(struct mcp_headers){.session = sessions[i]},
                  PING);
        (void)talk_wait(&talk);
        assert_int_equal(talk.status, i == 0 || i > 3 ? 200 : 404);
        talk_finish(&talk);
        free(sessions[i]);
    }
}

static void many_sessions_end_those_of_no_other(void **state) {
    (void)state;
    static const struct principal few = {.id = "token:few", .permissions = ~0u};
    static const struct principal many = {.id = "token:many", .permissions = ~0u};
    expect_sessions_of(&few, &many);
}

/* Those without a token are of their users, however many principals they are. */
static void many_sessions_of_a_user_end_those_of_no_other(void **state) {
    (void)state;
    static const struct principal few = {.party = "uid:1", .permissions = ~0u};
    static const struct principal many = {.party = "uid:2", .permissions = ~0u};
    expect_sessions_of(&few, &many);
}

static void sessions_of_whom_nobody_knows_are_of_one_party(void **state) {
    (void)state;
    static const struct principal few = {.party = "uid:1", .permissions = ~0u};
    static const struct principal unknown = {.permissions = ~0u};
    expect_sessions_of(&few, &unknown);
}

static void the_headers_say_what_the_message_says(void **state) {
    (void)state;
    struct mcp_headers headers = {.version = "2026-07-28",
                                  .method = "tools/call",
                                  .name = "echo",
                                  .parameter = parameter};
    static const char echo[] = CALL("1", "echo", ",\"arguments\":{\"message\":\"a\"}," META);
    static const char speak[] = CALL("1", "speak", ",\"arguments\":{\"region\":\"us\"}," META);
    post(&headers, echo, 200, "*\"text\":\"a\"*");
    headers.name = "=?base64?ZWNobw==?=";
    post(&headers, echo, 200, "*\"text\":\"a\"*");
    headers.name = " \techo ";
    post(&headers, echo, 200, "*\"text\":\"a\"*");
    headers.name = "=?base64?ZWNobw?=";
    post(&headers, echo, 400, "*\"code\":-32020*");
    headers.name = "twice";
    post(&headers, echo, 400, "*\"id\":1,*\"code\":-32020,*Mcp-Name*");
    headers.name = NULL;
    post(&headers, echo, 400, "*\"code\":-32020,*Mcp-Name*");
    headers.name = "echo";
    headers.method = NULL;
    post(&headers, echo, 400, "*\"code\":-32020,*Mcp-Method*");
    headers.method = "tools/list";
    post(&headers, echo, 400, "*\"code\":-32020,*Mcp-Method*");
    headers.method = "tools/call";
    headers.version = NULL;
    post(&headers, echo, 400, "*\"code\":-32020,*MCP-Protocol-Version*");
    headers.version = "2026-07-28";
    post(&headers, PING, 400, "*\"code\":-32602*");
    /* Arguments that a schema wants in a header. */
    headers.name = "speak";
    region = NULL;
    post(&headers, speak, 400, "*\"code\":-32020,*Mcp-Param-Region*");
    region = "eu";
    post(&headers, speak, 400, "*\"code\":-32020,*Mcp-Param-Region*");
    region = "twice";
    post(&headers, speak, 400, "*\"code\":-32020,*once*");
    region = "us";
    post(&headers, speak, 200, "*\"structuredContent\"*");
    post(&headers, CALL("1", "speak", "," META), 400, "*\"code\":-32020,*");
    region = "=?base64?dXM=?=";
    post(&headers, speak, 200, "*\"structuredContent\"*");
    headers.method = "no/such";
    headers.name = NULL;
    post(&headers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\",\"params\":{" META "}}",
         404, "*\"id\":1,*\"code\":-32601*");
    headers.version = headers.method = "server/discover";
    post(&headers,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}", 400,
         "*\"code\":-32020*");
}

/* ------------------------------------------------ headers that MCP does not allow */

static tr_status route(struct tr_call *call) {
    return tr_reply_text(call, "routed");
}

static char logged[4096];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    (void)pthread_mutex_lock(&log_lock);
    if (level == TOOLRACK_LOG_WARNING && strcmp(source, "routes") == 0) {
        size_t used = strlen(logged);
        (void)snprintf(logged + used, sizeof logged - used, "%s\n", line);
    }
    (void)pthread_mutex_unlock(&log_lock);
}

#define ANNOTATED(type, name) "{\"type\":\"" type "\",\"x-mcp-header\":" name "}"
#define PLAIN(type)           "{\"type\":\"" type "\"}"
#define ROUTE(a)                                                                                  \
    "{\"type\":\"object\",\"properties\":{\"a\":" a ",\"default\":{\"type\":\"object\","          \
    "\"default\":{\"x-mcp-header\":\"data\"}},\"x-mcp-header\":{\"type\":\"string\"},\"region\":" \
    "{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}"

/* A schema of the property "a", what is listed of it, and what is said of it. */
static const struct {
    const char *stated;
    const char *listed;
    const char *why; /* NULL: it is allowed */
} routes[] = {
        {ANNOTATED("string", "\"a b\""), PLAIN("string"), "\"a b\": it is no name of a header"},
        {ANNOTATED("string", "\"\""), PLAIN("string"), "\"\": it is no name of a header"},
        {ANNOTATED("string", "\"a\\u0000\""), PLAIN("string"), ": it is no name of a header"},
        {ANNOTATED("string", "7"), PLAIN("string"), "\"\": it is no name of a header"},
        {ANNOTATED("number", "\"X\""), PLAIN("number"), "\"X\": it is at a property whose type"},
        {ANNOTATED("object", "\"X\""), PLAIN("object"), "\"X\": it is at a property whose type"},
        {"{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"X\"}",
         "{\"type\":[\"string\",\"null\"]}", "\"X\": it is at a property whose type"},
        {"{\"type\":\"array\",\"items\":" ANNOTATED("string", "\"X\"") "}",
         "{\"type\":\"array\",\"items\":" PLAIN("string") "}",
         "\"X\": it is not at a property that is reached by properties alone"},
        {"{\"anyOf\":[{\"properties\":{\"b\":" ANNOTATED("string", "\"X\"") "}}]}",
         "{\"anyOf\":[{\"properties\":{\"b\":" PLAIN("string") "}}]}",
         "\"X\": it is not at a property that is reached by properties alone"},
        {"{\"type\":\"object\",\"properties\":{\"b\":" ANNOTATED(
                 "string", "\"X\"") ",\"c\":" ANNOTATED("integer", "\"x\"") "}}",
         "{\"type\":\"object\",\"properties\":{\"b\":" ANNOTATED("string", "\"X\"") ",\"c\":" PLAIN(
                 "integer") "}}",
         "\"x\": it is the name of another header"},
        {ANNOTATED("integer", "\"X-1.y\""), ANNOTATED("integer", "\"X-1.y\""), NULL},
        {ANNOTATED("boolean", "\"X\""), ANNOTATED("boolean", "\"X\""), NULL},
};

/* Clients that support headers leave out a tool that has one that is not allowed, and those that do
 * not send it could not call the tool. */
static void a_header_that_is_not_allowed_is_not_asked_for(void **state) {
    (void)state;
    struct toolrack *before = rack;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    options.log = keep_log;
    options.log_level = TOOLRACK_LOG_WARNING;
    const struct mcp_headers call = {.version = "2026-07-28",
                                     .method = "tools/call",
                                     .name = "route",
                                     .parameter = parameter};
    const struct mcp_headers list = {.version = "2026-07-28", .method = "tools/list"};
    for (size_t i = 0; i < ARRAY_LENGTH(routes); i++) {
        CLEANUP(buf_finish) struct buf schema = BUF_INIT;
        CLEANUP(buf_finish) struct buf listed = BUF_INIT;
        buf_printf(&schema, ROUTE("%s"), routes[i].stated);
        buf_printf(&listed, "*\"inputSchema\":" ROUTE("%s") ",*", routes[i].listed);
        const struct tr_tool tool = {.size = sizeof tool,
                                     .name = "route",
                                     .description = "Go somewhere",
                                     .schema = schema.data,
                                     .run = route};
        const struct tr_tool *const table[] = {&tool};
        const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                         .size = sizeof plugin,
                                         .abi_major = TR_ABI_MAJOR,
                                         .flags = TR_THREAD_SAFE,
                                         .id = "routes",
                                         .version = "1.0.0",
                                         .tools = table,
                                         .tool_count = 1,
                                         .tool_size = sizeof tool};
        struct mcp *served = mcp;
        logged[0] = '\0';
        assert_int_equal(toolrack_open(&options, &rack, NULL), 0);
        assert_int_equal(toolrack_register(rack, &plugin, NULL, NULL), 0);
        const struct mcp_options serving = {.host = rack};
        assert_int_equal(mcp_create(&serving, &mcp, NULL), 0);
        for (int again = 0; again < 2; again++) {
            post(&list,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
                 200, listed.data);
        }
        region = "us";
        post(&call, CALL("1", "route", ",\"arguments\":{\"region\":\"us\"}," META), 200,
             "*routed*");
        if (routes[i].why != NULL && strstr(routes[i].stated, "items") == NULL &&
            strstr(routes[i].stated, "\"b\"") == NULL &&
            strstr(routes[i].stated, "string") != NULL) {
            post(&call, CALL("1", "route", ",\"arguments\":{\"a\":\"b\",\"region\":\"us\"}," META),
                 200, "*routed*");
        }
        region = NULL;
        post(&call, CALL("1", "route", ",\"arguments\":{\"region\":\"us\"}," META), 400,
             "*-32020*");
        mcp_destroy(mcp);
        toolrack_close(rack);
        mcp = served;
        rack = before;
        if (routes[i].why == NULL) {
            assert_string_equal(logged, "");
            continue;
        }
        assert_matches(logged,
                       "a header of tool 'route@1.0.0' is not asked for: x-mcp-header *; *\n");
        assert_non_null(strstr(logged, routes[i].why));
        assert_ptr_equal(strchr(logged, '\n'), logged + strlen(logged) - 1); /* once */
    }
}

static void a_call_that_the_end_cuts_off_is_answered(void **state) {
    (void)state;
    CLEANUP(freep) char *session = begin("2025-11-25");
    struct mcp_headers stateless = {
            .version = "2026-07-28", .method = "tools/call", .name = "stay"};
    struct mcp_headers headers = {.session = session};
    struct talk talks[2];
    talk_post(&talks[0], mcp, &nobody, &stateless, CALL("1", "stay", "," META));
    talk_post(&talks[1], mcp, &nobody, &headers, CALL("1", "stay", ""));
    gate_await_come(2);
    mcp_drain(mcp);
    mcp_cut(mcp);
    for (size_t i = 0; i < ARRAY_LENGTH(talks); i++) {
        assert_matches(talk_wait(&talks[i]),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":*the server ended before*");
        assert_int_equal(talks[i].status, 503);
        talk_finish(&talks[i]);
    }
    gate_await_cancelled(2);
}

static void who_leaves_cancels_in_the_stateless_era(void **state) {
    (void)state;
    struct mcp_headers headers = {.version = "2026-07-28", .method = "tools/call", .name = "stay"};
    struct talk talk;
    talk_post(&talk, mcp, &nobody, &headers, CALL("1", "stay", "," META));
    gate_await_come(1);
    mcp_gone(&talk.exchange);
    assert_string_equal(talk_wait(&talk), "");
    gate_await_cancelled(1);
    mcp_gone(&talk.exchange); /* it is finished: nothing happens */
    talk_finish(&talk);
}

/* The client of a session loses a stream, and comes back for the rest with the last id it has. */
static void who_leaves_comes_back_in_the_handshake_era(void **state) {
    (void)state;
    CLEANUP(freep) char *session = begin("2025-11-25");
    struct mcp_headers headers = {.session = session};
    struct talk call;
    talk_post(&call, mcp, &nobody, &headers,
              CALL("1", "waits", ",\"_meta\":{\"progressToken\":1}"));
    assert_matches(talk_wait_sent(&call, 2), "*\"progress\":1*");
    assert_string_equal(call.sent[0], "");
    assert_non_null(call.event_ids[0]);
    assert_non_null(call.event_ids[1]);
    gate_await_come(1);
    mcp_gone(&call.exchange);
    assert_string_equal(talk_wait(&call), "");
    /* The call goes on, and the answer is for who comes back. */
    struct talk get;
    headers.last_event_id = call.event_ids[0];
    talk_init(&get);
    mcp_get(mcp, &nobody, &headers, &get.exchange);
    assert_matches(talk_wait_sent(&get, 2), "*\"progress\":1*");
    assert_string_equal(get.event_ids[0], call.event_ids[0]);
    assert_string_equal(get.event_ids[1], call.event_ids[1]);
    gate_open();
    assert_matches(talk_wait(&get), "*\"id\":1,\"result\":*stayed*");
    /* Once more, as its connection was lost again: the answer was kept. */
    struct talk again;
    headers.last_event_id = call.event_ids[1];
    talk_init(&again);
    mcp_get(mcp, &nobody, &headers, &again.exchange);
    assert_string_equal(talk_wait(&again), "");
    assert_matches(again.sent[again.sent_count - 1], "*\"id\":1,\"result\":*stayed*");
    talk_finish(&call);
    talk_finish(&get);
    talk_finish(&again);
}

#define CANCEL(id) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

/* A request is answered by a message or a stream, which is empty for one that was cancelled. */
static void a_cancelled_call_is_an_empty_stream(void **state) {
    (void)state;
    CLEANUP(freep) char *session = begin("2025-11-25");
    struct mcp_headers headers = {.session = session};
    struct talk call;
    talk_post(&call, mcp, &nobody, &headers, CALL("1", "stay", ""));
    gate_await_come(1);
    post(&headers, CANCEL("1"), 202, "");
    assert_string_equal(talk_wait(&call), "");
    assert_int_equal(call.status, 200);
    assert_true(call.sent_count > 0);
    assert_string_equal(call.sent[call.sent_count - 1], "");
    assert_null(call.event_ids[call.sent_count - 1]);
    talk_finish(&call);
    gate_await_cancelled(1);
}

/* A client whose stream ended without an answer comes back for the rest, and again, until it is
 * told that there is none. */
static void nothing_is_left_of_a_cancelled_call(void **state) {
    (void)state;
    CLEANUP(freep) char *session = begin("2025-11-25");
    struct mcp_headers headers = {.session = session};
    struct talk call;
    struct talk get;
    talk_post(&call, mcp, &nobody, &headers,
              CALL("1", "waits", ",\"_meta\":{\"progressToken\":1}"));
    (void)talk_wait_sent(&call, 2);
    gate_await_come(1);
    post(&headers, CANCEL("1"), 202, "");
    assert_string_equal(talk_wait(&call), "");
    /* It missed the progress, and then nothing. */
    headers.last_event_id = call.event_ids[0];
    talk_init(&get);
    mcp_get(mcp, &nobody, &headers, &get.exchange);
    assert_string_equal(talk_wait(&get), "");
    assert_int_equal(get.status, 200);
    assert_matches(get.sent[get.sent_count - 1], "*\"progress\":1*");
    talk_finish(&get);
    headers.last_event_id = call.event_ids[1];
    talk_init(&get);
    mcp_get(mcp, &nobody, &headers, &get.exchange);
    assert_matches(talk_wait(&get), "*\"code\":-32600*nothing is left*");
    assert_int_equal(get.status, 405);
    talk_finish(&get);
    talk_finish(&call);
    gate_await_cancelled(1);
}

static void a_long_call_holds_no_connection(void **state) {
    (void)state;
    CLEANUP(freep) char *session = begin("2025-11-25");
    struct mcp_headers headers = {.session = session};
    struct talk own;
    struct talk call;
    struct talk get;
    talk_init(&own);
    mcp_get(mcp, &nobody, &headers, &own.exchange);
    talk_post(&call, mcp, &nobody, &headers, CALL("1", "stay", ""));
    assert_string_equal(talk_wait(&call), "");
    assert_true(call.paused);
    assert_int_equal(call.sent_count, 1);
    assert_string_equal(call.sent[0], "");
    headers.last_event_id = call.event_ids[0];
    talk_init(&get);
    mcp_get(mcp, &nobody, &headers, &get.exchange);
    gate_open();
    assert_matches(talk_wait(&get), "*\"id\":1,\"result\":*stayed*");
    mcp_drain(mcp);
    (void)talk_wait(&own);
    talk_finish(&own);
    talk_finish(&call);
    talk_finish(&get);
}

static void the_stream_of_a_session_tells_of_changes(void **state) {
    (void)state;
    CLEANUP(freep) char *session = begin("2025-11-25");
    struct mcp_headers headers = {.session = session};
    struct talk first;
    struct talk second;
    talk_init(&first);
    mcp_get(mcp, &nobody, &headers, &first.exchange);
    assert_int_equal(first.sent_count, 1);
    assert_int_equal(toolrack_set_enabled(rack, "echo", false, NULL, NULL), 0);
    assert_matches(talk_wait_sent(&first, 2), "*notifications/tools/list_changed*");
    mcp_gone(&first.exchange);
    (void)talk_wait(&first);
    /* What happens meanwhile is told when the client comes back. The other client of the server,
     * at the pipe, shows that it has happened. */
    check_rows(&(struct row){INITIALIZE("2025-11-25"), "*"}, 1);
    assert_int_equal(toolrack_set_enabled(rack, "echo", true, NULL, NULL), 0);
    (void)talk_wait_sent(&way, 1);
    headers.last_event_id = first.event_ids[1];
    talk_init(&second);
    mcp_get(mcp, &nobody, &headers, &second.exchange);
    assert_matches(talk_wait_sent(&second, 2), "*notifications/tools/list_changed*");
    assert_string_not_equal(second.event_ids[1], first.event_ids[1]);
    /* A session has one such stream: the next one takes its place. */
    struct talk third;
    talk_init(&third);
    headers.last_event_id = NULL;
    mcp_get(mcp, &nobody, &headers, &third.exchange);
    (void)talk_wait(&second);
    assert_false(third.finished);
    mcp_drain(mcp);
    (void)talk_wait(&third);
    talk_finish(&first);
    talk_finish(&second);
    talk_finish(&third);
}

static void a_scope_is_missing(void **state) {
    (void)state;
    struct mcp_headers headers = {.version = "2026-07-28", .method = "tools/call", .name = "parts"};
    struct principal modest = {.id = "oauth:a b", .permissions = 1u << TOOLRACK_PERMISSION_SAFE};
    struct talk talk;
    talk_post(&talk, mcp, &modest, &headers, CALL("1", "parts", "," META));
    assert_matches(talk_wait(&talk), "*\"id\":1,*the scope that the tool needs*");
    assert_int_equal(talk.status, 403);
    assert_non_null(talk.missing_scope);
    talk_finish(&talk);
}

/* A shared cache would give the list of a token without limits to one with some. */
static void what_a_token_gets_is_private(void **state) {
    (void)state;
    static const char *const lists[] = {"tools/list", "resources/list", "prompts/list"};
    static const struct {
        struct principal principal;
        const char *wanted;
    } rows[] = {{{.id = "token:1", .permissions = ~0u}, "*\"cacheScope\":\"private\"*"},
                {{.id = "oauth:a b", .permissions = ~0u}, "*\"cacheScope\":\"private\"*"},
                {{.permissions = ~0u}, "*\"cacheScope\":\"public\"*"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows) * ARRAY_LENGTH(lists); i++) {
        const char *list = lists[i % ARRAY_LENGTH(lists)];
        struct mcp_headers headers = {.version = "2026-07-28", .method = list};
        char message[512];
        struct talk talk;
        (void)snprintf(message, sizeof message,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{" META "}}",
                       list);
        talk_post(&talk, mcp, &rows[i / ARRAY_LENGTH(lists)].principal, &headers, message);
        assert_matches(talk_wait(&talk), rows[i / ARRAY_LENGTH(lists)].wanted);
        talk_finish(&talk);
    }
}

static void an_allow_list_hides_the_others(void **state) {
    (void)state;
    static const char *const allow[] = {"echo", NULL};
    struct mcp_headers headers = {.version = "2026-07-28", .method = "tools/list"};
    struct principal few = {.id = "token:1", .permissions = ~0u, .allow = allow};
    struct talk talk;
    talk_post(&talk, mcp, &few, &headers,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}");
    assert_matches(talk_wait(&talk),
                   "*\"tools\":[{\"name\":\"echo\"*}],*\"cacheScope\":\"private\"*");
    assert_null(strstr(talk.answer, "twice"));
    talk_finish(&talk);
    headers.method = "tools/call";
    headers.name = "twice";
    talk_post(&talk, mcp, &few, &headers, CALL("1", "twice", ",\"arguments\":{\"n\":1}," META));
    assert_matches(talk_wait(&talk), "*\"code\":-32602,*unknown tool: twice*");
    talk_finish(&talk);
    headers.name = "echo@1.0.0";
    talk_post(&talk, mcp, &few, &headers, CALL("1", "echo@1.0.0", "," META));
    assert_matches(talk_wait(&talk), "*\"code\":-32602,*unknown tool*");
    talk_finish(&talk);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)
    const struct CMUnitTest tests[] = {
            TEST(a_session_begins_and_ends),
            TEST(the_name_of_a_session_does_not_open_it),
            TEST(a_session_is_of_the_user_who_began_it),
            TEST(many_sessions_end_those_of_no_other),
            TEST(many_sessions_of_a_user_end_those_of_no_other),
            TEST(sessions_of_whom_nobody_knows_are_of_one_party),
            TEST(the_headers_say_what_the_message_says),
            TEST(a_header_that_is_not_allowed_is_not_asked_for),
            TEST(a_call_that_the_end_cuts_off_is_answered),
            TEST(who_leaves_cancels_in_the_stateless_era),
            TEST(who_leaves_comes_back_in_the_handshake_era),
            TEST(a_cancelled_call_is_an_empty_stream),
            TEST(nothing_is_left_of_a_cancelled_call),
            TEST(a_long_call_holds_no_connection),
            TEST(the_stream_of_a_session_tells_of_changes),
            TEST(a_scope_is_missing),
            TEST(what_a_token_gets_is_private),
            TEST(an_allow_list_hides_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
