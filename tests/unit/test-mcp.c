/* The Model Context Protocol without a transport: messages and their answers, of both eras. */
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
#include "mcp-unit.h"

static void a_message_is_one_of_json_rpc(void **state) {
    (void)state;
    static const struct row rows[] = {
            {"nonsense", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"*\"}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,", "*\"code\":-32700*"},
            {"\"\xff\"", "*\"code\":-32700*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud8", "*\"code\":-32700*"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud83d\\", "*\"code\":-32700*"},
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
            /* Halves of pairs that stand alone, which JavaScript writes, are U+FFFD. */
            {"{\"jsonrpc\":\"2.0\",\"id\":\"\\ud83d\",\"method\":\"ping\"}",
             "*\"id\":\"\xef\xbf\xbd\",\"result\":{}}"},
            {"{\"jsonrpc\":\"2.0\",\"id\":\"\\uDE00-\\uD83D\\uD83D\\uDE00\\\\ud83d\",\"method\":"
             "\"ping\"}",
             "*\"id\":\"\xef\xbf\xbd-\xef\xbf\xbd\xf0\x9f\x98\x80\\\\ud83d\",\"result\":{}}"},
            /* Nothing is answered to what is no request. */
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}", ""},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"\"}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"\"}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}", ""},
            {"{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":7}", ""},
            {"{\"id\":1,\"result\":{}}", ""},
            {"{\"jsonrpc\":\"1.0\",\"error\":null}", ""},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":5}}",
             ""},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", ""},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

/* A message with a value of 200 levels between two texts, by a pipe or by HTTP. */
static void check_deep(const char *before, const char *behind, const char *answer) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, before);
    for (size_t i = 0; i < 200; i++) {
        buf_add_char(&text, '[');
    }
    for (size_t i = 0; i < 200; i++) {
        buf_add_char(&text, ']');
    }
    buf_add_text(&text, behind);
    const struct row row = {text.data, answer};
    check_rows(&row, 1);
    struct talk talk;
    talk_post(&talk, mcp, &principal,
              &(struct mcp_headers){.version = "2026-07-28", .method = "ping"}, text.data);
    assert_matches(talk_wait(&talk), answer);
    assert_int_equal(talk.status, answer[0] != '\0' ? 400 : 202);
    talk_finish(&talk);
}

/* A client waits for the answer with its id; without one it would wait for ever. */
static void a_message_is_not_nested_deeply(void **state) {
    (void)state;
    static const char deep[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,"
                               "\"message\":\"the message is nested deeper than 128 levels\"}}";
    static const char other[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,*";
    check_deep("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":", "}}", deep);
    check_deep("{\"method\":\"ping\",\"params\":{\"a\":", "},\"jsonrpc\":\"2.0\",\"id\":1}", deep);
    /* Its id is none, or it has none. */
    check_deep("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":", "}", other);
    check_deep("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":", "}}", other);
    check_deep("", "", other);
    /* What is an answer is not answered. */
    check_deep("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":", "}}", "");
    check_deep("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"data\":", "}}", "");
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
            {INITIALIZE("2024-11-05"), INITIALIZED("2024-11-05")},
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
            /* Its words are its own, whatever they are. */
            {CALL("1", "twice", ",\"arguments\":{\"n\":14}"),
             "*\"text\":\"ExecutionFailed: plugin 'a' is in quarantine; it is, in (worker 3)\"}],"
             "\"isError\":true}}"},
            {CALL("1", "twice", ",\"arguments\":{\"m\":13}"),
             "*\"text\":\"InvalidArguments: /m: *Correct the arguments*\"}],\"isError\":true}}"},
            {CALL("1", "ecko", ""),
             "*\"error\":{\"code\":-32602,*unknown tool: ecko; did you mean echo*"},
            {CALL("1", "", ""), "*\"code\":-32602*"},
            {CALL("1", "ec\\u0000ho", ""), "*\"code\":-32602*params.name has a zero character*"},
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

/* A client that knows output schemas refuses results without structuredContent, also where the
 * revision has neither: so a tool is listed with what the revision has, and no more. */
static void tools_are_listed_as_the_revision_has_them(void **state) {
    (void)state;
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"
#define SCHEMA                                                                              \
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\"," \
    "\"x-mcp-header\":\"Region\"}}}"
#define SPEAK "*{\"name\":\"speak\",\"description\":\"Log and report progress\","
#define HINTS "\"annotations\":{"
    static const struct row rows[] = {
            {INITIALIZE("2024-11-05"), INITIALIZED("2024-11-05")},
            {LIST, SPEAK SCHEMA "},{\"name\":\"stay\"*"},
            {LIST, SPEAK SCHEMA "},{\"name\":\"stay\"*"},
            {CALL("2", "speak", ""),
             "*\"content\":[{\"type\":\"text\",\"text\":\"{\\\"sum\\\":3}\"}]}}"},
            {INITIALIZE("2025-03-26"), INITIALIZED("2025-03-26")},
            {LIST, SPEAK SCHEMA "," HINTS "\"title\":\"Speak\"}},{\"name\":\"stay\"*"},
            {CALL("2", "speak", ""),
             "*\"content\":[{\"type\":\"text\",\"text\":\"{\\\"sum\\\":3}\"}]}}"},
            {INITIALIZE("2025-06-18"), INITIALIZED("2025-06-18")},
            {LIST, "*{\"name\":\"speak\",\"title\":\"Speak\",\"description\":\"Log and report "
                   "progress\"," SCHEMA ",\"outputSchema\":{*}," HINTS "}},{\"name\":\"stay\"*"},
            {CALL("2", "speak", ""), "*\"structuredContent\":{\"sum\":3}}}"},
            {INITIALIZE("2025-11-25"), INITIALIZED("2025-11-25")},
            {LIST, "*{\"name\":\"speak\",\"title\":\"Speak\",\"description\":\"Log and report "
                   "progress\",\"icons\":[*]," SCHEMA ",\"outputSchema\":{*}," HINTS
                   "}},{\"name\":\"stay\"*"},
    };
    check_rows(rows, ARRAY_LENGTH(rows));
}

static void tools_are_listed(void **state) {
    (void)state;
    static const struct row rows[] = {
            {INITIALIZE("2025-11-25"), INITIALIZED("2025-11-25")},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
             "*\"result\":{\"tools\":[{\"name\":\"echo\"*\"annotations\":{}},{\"name\":\"parts\"*"
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

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)
    const struct CMUnitTest tests[] = {
            TEST(a_message_is_one_of_json_rpc),
            TEST(a_message_is_not_nested_deeply),
            TEST(the_handshake_negotiates_down),
            TEST(tools_are_called_in_the_handshake_era),
            TEST(the_stateless_era_needs_no_handshake),
            TEST(tools_are_listed),
            TEST(tools_are_listed_as_the_revision_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
