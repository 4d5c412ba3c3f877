/* The Model Context Protocol without a transport: messages and their answers, of both eras. */
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
#include "mcp-client.h"
#include "toolrack/plugin.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* ------------------------------------------------------------------ the tools */

static const char *echo(const char *message) {
    return message;
}
TR_TOOL(echo, "Give a message back", TR_STRING, (TR_STRING, message, "message"))

static int64_t twice(struct tr_call *call, int64_t n) {
    if (n == 13) {
        (void)tr_fail(call, TR_FAILED, NULL, "the machine is superstitious");
    }
    return n * 2;
}
TR_TOOL(twice, "Double a number", TR_I64, TR_CALL, (TR_I64, n, "number"))

/* Waits until the test lets it go on, or it is cancelled. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static unsigned waiting;
static unsigned cancelled;
static bool gate_is_open;

static tr_status stay(struct tr_call *call) {
    (void)pthread_mutex_lock(&gate);
    waiting++;
    (void)pthread_cond_broadcast(&gate_changed);
    while (!gate_is_open && !tr_cancelled(call)) {
        struct timespec soon;
        (void)clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 2000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&gate_changed, &gate, &soon);
    }
    waiting--;
    cancelled += tr_cancelled(call);
    (void)pthread_cond_broadcast(&gate_changed);
    (void)pthread_mutex_unlock(&gate);
    return tr_cancelled(call) ? TR_CANCELLED : tr_reply_text(call, "stayed");
}
TR_JSON_TOOL(stay, "Wait", "{\"type\":\"object\"}")

static tr_status speak(struct tr_call *call) {
    tr_log(call, TR_LOG_DEBUG, "a detail");
    tr_log(call, TR_LOG_INFO, "a \"line\"");
    tr_progress(call, 0, 100, NULL);
    tr_progress(call, 50, 100, "half");
    tr_progress(call, 50, 100, "still half");
    tr_progress(call, 20, 100, "back");
    tr_progress(call, 100, 100, NULL);
    return tr_reply_json(call, "{\"sum\":3}");
}
TR_JSON_TOOL(
        speak,
        ("Log and report progress",
         .result_schema = "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}}}"),
        "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
        "\"x-mcp-header\":\"Region\"}}}")

static tr_status parts(struct tr_call *call) {
    (void)tr_reply_text(call, "a text");
    return tr_reply_image(call, "PNG", 3, "image/png");
}
TR_JSON_TOOL(parts, ("Text and image", .permission = TR_DANGEROUS), "{\"type\":\"object\"}")

/* Asks twice: for a name by a form, then for the model and the folders at once. */
static tr_status quiz(struct tr_call *call) {
    const char *form = NULL;
    tr_status status =
            tr_ask_as(call, "user", "Who?",
                      "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
                      "\"required\":[\"name\"]}",
                      &form);
    if (status != TR_OK) {
        return tr_fail(call, status == TR_CANCELLED ? TR_CANCELLED : TR_FAILED, NULL, "no name");
    }
    const char *said = NULL;
    status = tr_sample(call, "model",
                       "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
                       "\"hi\"}}],\"maxTokens\":5}",
                       &said);
    if (status == TR_CANCELLED) {
        return status;
    }
    return tr_reply_textf(call, "%s|%s", form, status == TR_OK ? said : "silence");
}
TR_JSON_TOOL(quiz, "Ask", "{\"type\":\"object\"}")

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE), "1.0.0", echo, twice, stay, speak, parts, quiz)

static struct toolrack *host;
static struct mcp *mcp;
static struct mcp_pipe *pipe_;
static struct talk way;
static const struct mcp_principal principal = {.id = "stdio", .permissions = ~0u};

static int open_server(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    assert_int_equal(toolrack_grant(host, "parts", 0, NULL, NULL), 0);
    struct toolrack_error err;
    struct mcp_options serving = {.host = host};
    assert_int_equal(mcp_create(&serving, &mcp, &err), 0);
    talk_init(&way);
    assert_int_equal(mcp_pipe_open(mcp, &principal, &way.exchange, &pipe_, &err), 0);
    gate_is_open = false;
    waiting = cancelled = 0;
    return 0;
}

static int close_server(void **state) {
    (void)state;
    mcp_pipe_close(pipe_, true);
    talk_finish(&way);
    mcp_destroy(mcp);
    toolrack_close(host);
    return 0;
}

static void wait_for_stay(unsigned count) {
    (void)pthread_mutex_lock(&gate);
    while (waiting < count) {
        (void)pthread_cond_wait(&gate_changed, &gate);
    }
    (void)pthread_mutex_unlock(&gate);
}

static void wait_for_cancelled(unsigned count) {
    (void)pthread_mutex_lock(&gate);
    while (cancelled < count) {
        (void)pthread_cond_wait(&gate_changed, &gate);
    }
    (void)pthread_mutex_unlock(&gate);
}

/* ------------------------------------------------------------------ messages */

#define META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SERVER                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"toolrack\"," \
    "\"title\":\"toolrack\",\"version\":\"*\"}}"
#define CALL(id, name, rest)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\"" rest "}}"
#define INITIALIZE(version)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
    "\"" version "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define INITIALIZED(version)                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"" version           \
    "\",\"capabilities\":{*\"tools\":{\"listChanged\":true}*},\"serverInfo\":{\"name\":" \
    "\"toolrack\"*}}"

struct row {
    const char *message;
    const char *answer; /* "" for none */
};

static void check_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct talk talk;
        talk_pipe(&talk, pipe_, rows[i].message);
        assert_matches(talk_wait(&talk), rows[i].answer);
        talk_finish(&talk);
    }
}

static void a_message_is_one_of_json_rpc(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"nonsense", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"*\"}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,", "*\"code\":-32700*"},
            {"\"\xff\"", "*\"code\":-32700*"},
            {"[]", "*\"code\":-32600*batches*"},
            {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "*\"code\":-32600*batches*"},
            {"1", "*\"code\":-32600*"},
            {"{}", "*\"code\":-32600*"},
            {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
             "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "*\"code\":-32600*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "*\"code\":-32600*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "*\"id\":1,*\"code\":-32600*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
             "*\"id\":1,*\"code\":-32602*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}",
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
            /* Ids go back as they came. */
            {"{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"ping\"}", "*\"id\":-0,\"result\":{}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"ping\"}",
             "*\"id\":123456789012345678901234567890,\"result\":{}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\\n\\u00e4\",\"method\":\"ping\"}",
             "*\"id\":\"a\\n\xc3\xa4\",\"result\":{}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}",
             "*\"id\":\"\",\"result\":{}}"},
            /* Nothing is answered to what is no request. */
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}", ""},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"\"}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":5}}",
             ""},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", ""},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

static void a_message_is_not_nested_deeply(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":");
    for (size_t i = 0; i < 200; i++) {
        buf_add_char(&text, '[');
    }
    for (size_t i = 0; i < 200; i++) {
        buf_add_char(&text, ']');
    }
    buf_add_text(&text, "}}");
    const struct row row = {text.data, "*\"code\":-32600*nested*"};
    check_rows(&row, 1);
}

static void the_handshake_negotiates_down(void **state) {
    (void)state;
    static const struct row rows[] = {
            {CALL("1", "echo", ",\"arguments\":{\"message\":\"a\"}"),
             "*\"code\":-32600*initialize first*2026-07-28*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}", "*\"result\":{}}"},
            {INITIALIZE("2025-11-25"), INITIALIZED("2025-11-25")},
            {INITIALIZE("2025-06-18"), INITIALIZED("2025-06-18")},
            {INITIALIZE("2025-03-26"), INITIALIZED("2025-03-26")},
            {INITIALIZE("2026-07-28"), INITIALIZED("2025-11-25")},
            {INITIALIZE("1.0"), INITIALIZED("2025-11-25")},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "*\"code\":-32602*"},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", "*\"code\":-32601*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\"}",
             "*\"code\":-32601*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":"
             "\"warning\"}}",
             "*\"result\":{}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":"
             "\"loud\"}}",
             "*\"code\":-32602*"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

static void tools_are_called_in_the_handshake_era(void **state) {
    (void)state;
    static const struct row rows[] = {
            {INITIALIZE("2025-11-25"), INITIALIZED("2025-11-25")},
            {CALL("1", "echo", ",\"arguments\":{\"message\":\"a \\\"b\\\"\"}"),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
             "\"a "
             "\\\"b\\\"\"}]}}"},
            {CALL("1", "twice", ",\"arguments\":{\"n\":1234567890123456789}"),
             "*\"content\":[{\"type\":\"text\",\"text\":\"2469135780246913578\"}]}}"},
            {CALL("1", "speak", ""),
             "*\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"sum\\\":3}\"}],"
             "\"structuredContent\":{\"sum\":3}}}"},
            {CALL("1", "speak", ",\"arguments\":\"\""), "*\"structuredContent\":{\"sum\":3}}}"},
            {CALL("1", "speak", ",\"arguments\":null"), "*\"structuredContent\":{\"sum\":3}}}"},
            {CALL("1", "parts", ""),
             "*\"content\":[{\"type\":\"text\",\"text\":\"a text\"},{\"type\":\"image\",\"data\":"
             "\"UE5H\",\"mimeType\":\"image/png\"}]}}"},
            /* A failure of the tool is a result; one of the protocol is an error. */
            {CALL("1", "twice", ",\"arguments\":{\"n\":13}"),
             "*\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ExecutionFailed: the machine "
             "is "
             "superstitious*\"}],\"isError\":true}}"},
            {CALL("1", "twice", ",\"arguments\":{\"m\":13}"),
             "*\"text\":\"InvalidArguments: /m: *Correct the arguments*\"}],\"isError\":true}}"},
            {CALL("1", "ecko", ""),
             "*\"error\":{\"code\":-32602,*unknown tool: ecko; did you mean echo*"},
            {CALL("1", "", ""), "*\"code\":-32602*"},
            {CALL("1", "echo", ",\"arguments\":[]"), "*\"code\":-32602*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":1}}",
             "*\"code\":-32602*"},
            {INITIALIZE("2025-03-26"), INITIALIZED("2025-03-26")},
            {CALL("1", "speak", ""), "*\"text\":\"{\\\"sum\\\":3}\"}]}}"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

static void the_stateless_era_needs_no_handshake(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}",
             "*\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
             "\"capabilities\":{*\"tools\":{\"listChanged\":true}*},\"ttlMs\":*,\"cacheScope\":"
             "\"public\"," SERVER "}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "*\"code\":-32602*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
             "*\"code\":-32602*clientCapabilities*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             "*\"code\":-32022,*\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"1900-01-"
             "01\"}}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}",
             "*\"code\":-32601*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META "}}",
             "*\"code\":-32601*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{},"
             "\"io.modelcontextprotocol/logLevel\":\"loud\"}}}",
             "*\"code\":-32602*logLevel*"},
            {CALL("7", "echo", ",\"arguments\":{\"message\":\"a\"}," META),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":\"complete\",\"content\":[{"
             "\"type\":\"text\",\"text\":\"a\"}]," SERVER "}}"},
            /* And a client may change its mind. */
            {INITIALIZE("2025-11-25"), INITIALIZED("2025-11-25")},
            {CALL("7", "echo", ",\"arguments\":{\"message\":\"a\"}"),
             "*\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}"},
            {CALL("7", "echo", ",\"arguments\":{\"message\":\"a\"}," META),
             "*\"resultType\":\"complete\"*"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

static void tools_are_listed(void **state) {
    (void)state;
    static const struct row rows[] = {
            {INITIALIZE("2025-11-25"), INITIALIZED("2025-11-25")},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
             "*\"result\":{\"tools\":[{\"name\":\"echo\"*\"annotations\":{\"readOnlyHint\":*,"
             "\"destructiveHint\":*,\"idempotentHint\":*,\"openWorldHint\":*}*},{\"name\":"
             "\"parts\"*"
             "{\"name\":\"quiz\"*{\"name\":\"speak\"*\"x-mcp-header\":\"Region\"*\"outputSchema\":{"
             "*{\"name\":"
             "\"stay\"*"
             "{\"name\":\"twice\"*}]}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
             "list\",\"params\":{\"cursor\":\"\"}}",
             "*\"name\":\"echo\"*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
             "list\",\"params\":{\"cursor\":\"abcd\"}}",
             "*\"code\":-32602*cursor*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":3}}",
             "*\"code\":-32602*cursor*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
             "*\"resultType\":\"complete\",\"tools\":[{\"name\":\"echo\"*],\"ttlMs\":*,"
             "\"cacheScope\":\"public\"," SERVER "}}"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

/* -------------------------------------------------------------- while it runs */

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

static void a_call_is_cancelled(void **state) {
    (void)state;
    struct talk call;
    struct talk twin;
    talk_pipe(&call, pipe_, CALL("\"c\"", "stay", "," META));
    wait_for_stay(1);
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
    wait_for_cancelled(1);
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
    assert_int_equal(toolrack_set_enabled(host, "echo", false, NULL), 0);
    assert_int_equal(toolrack_set_enabled(host, "twice", false, NULL), 0);
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

/* --------------------------------------------------------------------- asking */

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
    assert_int_equal(mcp_pipe_open(mcp, &(struct mcp_principal){.id = "other", .permissions = ~0u},
                                   &stranger_way.exchange, &stranger, &err),
                     0);
    CLEANUP(freep) char *foreign = round_of(stranger, "{}", ada, state_1);
    assert_matches(foreign, "*\"code\":-32602,*another request*");
    mcp_pipe_close(stranger, true);
    talk_finish(&stranger_way);
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
    wait_for_stay(1);
    (void)pthread_mutex_lock(&gate);
    gate_is_open = true;
    (void)pthread_cond_broadcast(&gate_changed);
    (void)pthread_mutex_unlock(&gate);
    mcp_pipe_close(second, false);
    assert_true(call.finished);
    assert_matches(talk_wait(&call), "*\"text\":\"stayed\"*");
    talk_finish(&call);
    talk_finish(&second_way);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)
    const struct CMUnitTest tests[] = {
            TEST(a_message_is_one_of_json_rpc),
            TEST(a_message_is_not_nested_deeply),
            TEST(the_handshake_negotiates_down),
            TEST(tools_are_called_in_the_handshake_era),
            TEST(the_stateless_era_needs_no_handshake),
            TEST(tools_are_listed),
            TEST(progress_and_log_come_before_the_answer),
            TEST(a_call_is_cancelled),
            TEST(a_subscription_tells_of_changes),
            TEST(a_client_of_the_handshake_is_asked_while_the_tool_waits),
            TEST(who_cannot_answer_is_not_asked),
            TEST(a_question_ends_with_the_client_and_its_call),
            TEST(a_client_of_the_stateless_era_answers_in_rounds),
            TEST(what_runs_is_answered_before_the_pipe_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
