/* Lists that hold tools for searching, and subsets of the tools: profiles and allow lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "mcp-server.h"
#include "provider.h"
#include "toolrack/plugin.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

static tr_status say(struct tr_call *call) {
    return tr_reply_textf(call, "%s: %s", tr_context(call, TR_CONTEXT_TOOL), tr_arguments(call));
}

#define NUMBER                                                                          \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[" \
    "\"n\"]}"

static tr_status total(struct tr_call *call) {
    return tr_reply_json(call, "{\"sum\":3}");
}

/* A tool of this name that says its name and arguments. */
#define TOOL(name, text)                          \
    static tr_status name(struct tr_call *call) { \
        return say(call);                         \
    }                                             \
    TR_JSON_TOOL(name, text, NUMBER)

TOOL(read_file, ("Read a file", .category = "files", .tags = "read"))
TOOL(write_file, ("Write a file", .category = "files", .permission = TR_CONFIRM))
TOOL(erase_disk, ("Erase a disk", .category = "disks", .permission = TR_DANGEROUS))
TOOL(convert_time, ("Convert a time between zones", .category = "time"))
TOOL(search_tools, ("A tool that has the name of another", .category = "odd"))
TR_JSON_TOOL(
        total,
        ("Add up the lines of an invoice",
         .result_schema = "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}}}"),
        "{\"type\":\"object\"}")

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE), "1.0.0", read_file, write_file, erase_disk,
          convert_time, search_tools, total)

#define LIST            REQUEST("1", "tools/list", META_NONE)
#define FIND(arguments) CALL("1", "search_tools", "\"arguments\":" arguments "," META_NONE)
#define NAMED(name, arguments) \
    CALL("1", "call_tool",     \
         "\"arguments\":{\"name\":\"" name "\",\"arguments\":" arguments "}," META_NONE)

static void open_search(const char *more, const char *profile) {
    char config[512];
    (void)snprintf(config, sizeof config, "{\"serve\":{\"expose\":\"search\"%s}}", more);
    server_open(config, &toolrack_plugin, profile);
    assert_int_equal(toolrack_grant(server_host, "erase_disk", 0, NULL, NULL), 0);
}

static void lists_hold_tools_for_searching(void **state) {
    (void)state;
    open_search("", NULL);
    static const struct server_row rows[] = {
            {LIST,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"tools\":["
             "{\"name\":\"search_tools\",*This server has 6 tools, by category: files (2: "
             "read_file, write_file); disks (1: erase_disk); odd (1: search_tools); time (1: "
             "convert_time); other (1: total).\"*\"outputSchema\"*\"readOnlyHint\":true,*},"
             "{\"name\":\"describe_tool\",*},"
             "{\"name\":\"call_tool\",*\"annotations\":{\"readOnlyHint\":false,"
             "\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":true}}],"
             "\"ttlMs\":*,\"cacheScope\":\"public\"*"},
            {FIND("{\"query\":\"convert a time\"}"),
             "*\"content\":[{\"type\":\"text\",\"text\":\"{\\\"tools\\\":[{\\\"name\\\":"
             "\\\"convert_time\\\"*\"structuredContent\":{\"tools\":[{\"name\":\"convert_time\","
             "\"description\":\"Convert a time between zones\",\"category\":\"time\","
             "\"permission\":\"safe\"}*"},
            {FIND("{\"text\":\"convert a time\"}"), "*{\"tools\":[{\"name\":\"convert_time\"*"},
            {FIND("{\"category\":\"files\",\"limit\":1}"),
             "*\"structuredContent\":{\"tools\":[{\"name\":\"*_file\"*}]},\"_meta\"*"},
            {FIND("{\"category\":\"other\"}"),
             "*\"structuredContent\":{\"tools\":[{\"name\":\"total\",*}]},\"_meta\"*"},
            {FIND("{\"query\":\"zebra\"}"),
             "*\"advice\":\"no tool was found; *The categories are: *other*\"}*"},
            {FIND("{\"query\":7}"), "*InvalidArguments: query: must be*\"isError\":true*"},
            {FIND("{\"limit\":2.0}"), "*\"structuredContent\":{\"tools\":[{*},{*}]}*"},
            {FIND("{\"limit\":0}"), "*InvalidArguments: limit*\"isError\":true*"},
            {FIND("{\"limit\":1.5}"), "*InvalidArguments: limit*\"isError\":true*"},
            {FIND("{\"limit\":51}"), "*InvalidArguments: limit*\"isError\":true*"},
            {FIND("{\"limit\":\"2\"}"), "*InvalidArguments: limit*\"isError\":true*"},
            {CALL("1", "describe_tool", "\"arguments\":{\"name\":\"read_file\"}," META_NONE),
             "*\"structuredContent\":{\"name\":\"read_file\",*\"inputSchema\":{*"},
            {CALL("1", "describe_tool", META_NONE), "*InvalidArguments*\"isError\":true*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

#define SELECT(arguments) CALL("1", "select_tool", "\"arguments\":" arguments "," META_NONE)

/* Chosen among what may be called, with its arguments, and not called. */
static void a_sentence_chooses_a_tool(void **state) {
    (void)state;
    open_search(",\"profiles\":{\"time\":{\"categories\":[\"time\"]}}", NULL);
    static const struct principal time = {.id = "token:a", .permissions = ~0u, .profile = "time"};
    static const struct server_row rows[] = {
            {LIST, "*{\"name\":\"search_tools\"*{\"name\":\"select_tool\"*\"required\":[\"text\"]*"
                   "{\"name\":\"describe_tool\"*"},
            {SELECT("{\"text\":\"read the file n = 7\"}"),
             "*\"structuredContent\":{\"id\":\"*\",\"tool\":\"read_file\",\"version\":\"1.0.0\","
             "\"arguments\":{\"n\":7},\"assumed\":[],\"ready\":true,*\"candidates\":[{\"tool\":"
             "\"read_file\"*"},
            {SELECT("{\"text\":\"erase the disk\"}"),
             "*\"tool\":\"erase_disk\"*\"ready\":false,*\"missing\":[{\"parameter\":\"n\",*"},
            {SELECT("{\"text\":\"book a flight to Paris\",\"limit\":1,\"context\":null}"),
             "*\"tool\":null,*\"abstained\":true,*\"question\":\"*"},
            {SELECT("{\"text\":\"read the file n = 7\",\"explain\":true}"),
             "*\"steps\":{\"scene\":*\"explanation\":\"*"},
            {SELECT("{}"), "*InvalidArguments: text: select_tool needs this argument*"},
            {SELECT("{\"text\":\" \"}"), "*there is no text*\"isError\":true*"},
            {SELECT("{\"text\":\"a\",\"explain\":1}"),
             "*InvalidArguments: explain: must be true or false*"},
            {SELECT("{\"text\":\"a\",\"context\":{\"now\":[]}}"), "*now*\"isError\":true*"},
            {SELECT("{\"query\":\"a\"}"), "*query: select_tool has no such argument;*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    struct talk talk;
    talk_pipe(&talk, server_pipe, SELECT("{\"text\":\"read the file n = 7\"}"));
    assert_false(matches(talk_wait(&talk), "*\"steps\"*"));
    talk_finish(&talk);
    server_check_post(&time, "tools/call", "select_tool",
                      SELECT("{\"text\":\"read the file n = 7\"}"),
                      "*\"id\":\"*\",\"tool\":null,*");
    server_close();
}

/* A model that writes the arguments elsewhere than they belong is told where that is. */
static void unknown_arguments_are_refused(void **state) {
    (void)state;
    open_search("", NULL);
#define CALL_IT(arguments)  CALL("1", "call_tool", "\"arguments\":" arguments "," META_NONE)
#define DESCRIBE(arguments) CALL("1", "describe_tool", "\"arguments\":" arguments "," META_NONE)
    static const struct server_row rows[] = {
            {CALL_IT("{\"name\":\"read_file\",\"n\":1}"),
             "*InvalidArguments: n: call_tool has no such argument; it has \\\"name\\\", "
             "\\\"arguments\\\" and \\\"choice\\\"; put the tool's own arguments into "
             "\\\"arguments\\\".\"}],\"isError\":true*"},
            {CALL_IT("{\"name\":\"read_file\",\"argument\":{\"n\":1}}"),
             "*argument: call_tool has no such argument; did you mean \\\"arguments\\\"?*"},
            {CALL_IT("{\"tool\":\"read_file\",\"arguments\":{\"n\":1}}"),
             "*InvalidArguments: tool: call_tool has no such argument;*\"isError\":true*"},
            {CALL_IT("{\"arguments\":{\"n\":1}}"),
             "*InvalidArguments: name: call_tool needs this argument*\"isError\":true*"},
            {CALL_IT("{\"name\":7}"), "*InvalidArguments: name: must be a string.\"*"},
            {CALL_IT("7"), "*the arguments of call_tool must be an object.\"*"},
            {CALL_IT("{\"name\":\"total\",\"arguments\":null}"), "*\"sum\":3*"},
            {FIND("{\"q\":\"files\"}"),
             "*InvalidArguments: q: search_tools has no such argument; it has \\\"text\\\", "
             "\\\"query\\\", \\\"category\\\" and \\\"limit\\\".\"}],\"isError\":true*"},
            {DESCRIBE("{\"tool\":\"read_file\"}"), "*InvalidArguments: tool: describe_tool has no "
                                                   "such argument; it has \\\"name\\\".\"*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

static void nothing_found_says_what_to_do(void **state) {
    (void)state;
    open_search("", NULL);
    assert_int_equal(toolrack_set_enabled(server_host, "total", false, NULL, NULL), 0);
    static const struct server_row rows[] = {
            {FIND("{\"query\":\"zebra\"}"),
             "*\"structuredContent\":{\"tools\":[],\"advice\":\"no tool was found; search with "
             "other "
             "words, *The categories are: *files*\"}*"},
            {FIND("{\"category\":\"file\"}"),
             "*{\"tools\":[],\"advice\":\"there is no category file; did you mean files? The "
             "categories are: *time*\"}*"},
            {FIND("{\"category\":\"time\",\"query\":\"zebra\"}"),
             "*{\"tools\":[],\"advice\":\"no tool was found; *without the category*"},
            {DESCRIBE("{\"name\":\"reed_file\"}"),
             "*NotFound: unknown tool: reed_file; did you mean read_file?\"}],\"isError\":true*"},
            {DESCRIBE("{\"name\":\"total\"}"),
             "*NotFound: the tool total is disabled; search_tools has*\"isError\":true*"},
            {DESCRIBE("{\"name\":\"zebra\"}"),
             "*NotFound: unknown tool: zebra; search_tools has*\"isError\":true*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

static void call_tool_calls_any(void **state) {
    (void)state;
    open_search("", NULL);
    static const struct server_row rows[] = {
            {NAMED("read_file", "{\"n\":1}"),
             "*\"content\":[{\"type\":\"text\",\"text\":\"read_file: {\\\"n\\\":1}\"}],\"_meta\"*"},
            /* The schema is that of the inner tool. */
            {NAMED("read_file", "{\"n\":\"one\"}"), "*InvalidArguments: /n*\"isError\":true*"},
            {NAMED("read_file", "[]"), "*must be an object.\"}],\"isError\":true*"},
            /* So models write objects. */
            {NAMED("read_file", "\"{\\\"n\\\":1}\""),
             "*\"text\":\"read_file: {\\\"n\\\":1}\"}],\"_meta\"*"},
            {NAMED("read_file", "\"{\\\"n\\\":1,\\\"n\\\":2}\""),
             "*must be an object.\"}],\"isError\":true*"},
            {CALL("1", "call_tool",
                  "\"arguments\":\"{\\\"name\\\":\\\"read_file\\\",\\\"arguments\\\":{\\\"n\\\":1}}"
                  "\"," META_NONE),
             "*\"text\":\"read_file: {\\\"n\\\":1}\"}],\"_meta\"*"},
            {CALL("1", "read_file", "\"arguments\":\"{\\\"n\\\":1}\"," META_NONE),
             "*\"text\":\"read_file: {\\\"n\\\":1}\"}],\"_meta\"*"},
            {NAMED("total", "{}"), "*\"structuredContent\":{\"sum\":3}*"},
            {CALL("1", "call_tool", "\"arguments\":{\"name\":\"total\"}," META_NONE),
             "*\"structuredContent\":{\"sum\":3}*"},
            {NAMED("reed_file", "{}"),
             "*unknown tool: reed_file; did you mean read_file?\"}],\"isError\":true*"},
            {NAMED("zebra", "{}"), "*search_tools has those*\"isError\":true*"},
            {CALL("1", "call_tool", META_NONE), "*\"isError\":true*"},
            /* A tool that has the name of one for searching is called through call_tool. */
            {NAMED("search_tools", "{\"n\":2}"), "*search_tools: {\\\"n\\\":2}*"},
            /* What is not listed can be called by its name as well. */
            {CALL("1", "read_file", "\"arguments\":{\"n\":1}," META_NONE), "*read_file: *"},
            {CALL("1", "reed_file", META_NONE), "*\"code\":-32602*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    struct toolrack_text *log = NULL;
    assert_int_equal(toolrack_flush(server_host, NULL), 0);
    assert_int_equal(toolrack_log(server_host, NULL, &log, NULL), 0);
    assert_matches(toolrack_text_data(log, NULL), "*\"tool\":\"read_file\"*");
    assert_false(matches(toolrack_text_data(log, NULL), "*call_tool*"));
    toolrack_text_unref(log);
    server_close();
}

static void both_eras_search(void **state) {
    (void)state;
    open_search("", NULL);
    static const struct server_row rows[] = {
            {INITIALIZE_WITH("2025-03-26", "{}"), "*\"protocolVersion\":\"2025-03-26\"*"},
            {REQUEST("2", "tools/list", ""), "*{\"name\":\"search_tools\"*\"call_tool\"*"},
            /* A revision without structured results has the text. */
            {CALL("3", "search_tools", "\"arguments\":{\"query\":\"erase a disk\"}"),
             "*\\\"erase_disk\\\"*}]}}"},
            {CALL("4", "call_tool",
                  "\"arguments\":{\"name\":\"erase_disk\",\"arguments\":{\"n\":1}}"),
             "*erase_disk: {\\\"n\\\":1}*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

static void pinned_tools_stay_listed(void **state) {
    (void)state;
    open_search(",\"pinned\":[\"*_file\",\"search_tools\"]", NULL);
    server_check(LIST,
                 "*\"tools\":[{\"name\":\"search_tools\"*{\"name\":\"describe_tool\"*{\"name\":"
                 "\"call_tool\"*{\"name\":\"read_file\"*{\"name\":\"write_file\"*}],\"ttlMs\"*");
    struct talk talk;
    talk_pipe(&talk, server_pipe, LIST);
    assert_false(matches(talk_wait(&talk), "*{\"name\":\"convert_time\"*"));
    assert_false(
            matches(talk_wait(&talk), "*{\"name\":\"search_tools\"*{\"name\":\"search_tools\"*"));
    talk_finish(&talk);
    server_close();
}

static void what_may_not_be_called_is_not_found(void **state) {
    (void)state;
    open_search(",\"profiles\":{\"some\":{\"categories\":[\"files\",\"disks\"]}}", NULL);
    static const char *const allow[] = {"*_file", "erase_disk@^1", NULL};
    static const struct principal some = {
            .id = "token:a", .permissions = 1u << TOOLRACK_PERMISSION_SAFE, .profile = "some"};
    static const struct principal few = {.id = "token:b", .permissions = ~0u, .allow = allow};
    server_check_post(&some, "tools/list", NULL, LIST,
                      "*This server has 1 tool, by category: files (1: read_file).*\"private\"*");
    server_check_post(&some, "tools/call", "search_tools", FIND("{\"query\":\"file disk time\"}"),
                      "*\"structuredContent\":{\"tools\":[{\"name\":\"read_file\"*}]},\"_meta\"*");
    server_check_post(&some, "tools/call", "call_tool", NAMED("convert_time", "{\"n\":1}"),
                      "*unknown tool: convert_time; search_tools has*\"isError\":true*");
    /* It is in the profile, and needs more of the authorisation. */
    struct talk talk;
    const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = "call_tool"};
    talk_post(&talk, server_mcp, &some, &headers, NAMED("erase_disk", "{\"n\":1}"));
    (void)talk_wait(&talk);
    assert_int_equal(talk.status, 403);
    talk_finish(&talk);

    server_check_post(&few, "tools/list", NULL, LIST, "*This server has 3 tools, by category*");
    server_check_post(&few, "tools/call", "call_tool", NAMED("erase_disk", "{\"n\":1}"),
                      "*erase_disk: *");
    server_check_post(
            &few, "tools/call", "describe_tool",
            CALL("1", "describe_tool", "\"arguments\":{\"name\":\"convert_time\"}," META_NONE),
            "*NotFound*");
    server_close();
}

static void a_subset_is_all_that_there_is(void **state) {
    (void)state;
    server_open("{\"serve\":{\"profiles\":{\"read\":{\"tags\":[\"read\"]},\"find\":{\"expose\":"
                "\"search\"},\"none\":{\"tools\":[]},\"safe\":{\"permissions\":[\"safe\"]}}}}",
                &toolrack_plugin, "safe");
    static const char *const allow[] = {"write_file@>=2", "total", NULL};
    static const struct principal read = {.id = "token:a", .permissions = ~0u, .profile = "read"};
    static const struct principal find = {.id = "token:a", .permissions = ~0u, .profile = "find"};
    static const struct principal none = {.id = "token:a", .permissions = ~0u, .profile = "none"};
    static const struct principal lost = {.id = "token:a", .permissions = ~0u, .profile = "lost"};
    static const struct principal few = {.id = "token:b", .permissions = ~0u, .allow = allow};
    server_check_post(&read, "tools/list", NULL, LIST,
                      "*\"tools\":[{\"name\":\"read_file\"*}],\"ttlMs\":60000,\"cacheScope\":"
                      "\"private\"*");
    server_check_post(&find, "tools/list", NULL, LIST, "*{\"name\":\"search_tools\"*6 tools*");
    server_check_post(&none, "tools/list", NULL, LIST, "*\"tools\":[],*");
    /* One that the configuration does not have. */
    struct talk talk;
    static const struct mcp_headers headers = {.version = "2026-07-28", .method = "tools/list"};
    talk_post(&talk, server_mcp, &lost, &headers, LIST);
    assert_matches(talk_wait(&talk), "*\"id\":1,*no profile of the name lost*");
    assert_int_equal(talk.status, 404);
    talk_finish(&talk);
    server_check_post(&read, "tools/call", "total", CALL("1", "total", META_NONE),
                      "*\"code\":-32602*unknown tool: total*");
    /* The profile of the server is that of who has none; a version that is not there is nothing. */
    server_check_post(&few, "tools/list", NULL, LIST, "*\"tools\":[{\"name\":\"total\"*}],*");
    server_check_post(&few, "tools/call", "write_file",
                      CALL("1", "write_file", "\"arguments\":{\"n\":1}," META_NONE),
                      "*\"code\":-32602*");
    server_check(CALL("1", "write_file", "\"arguments\":{\"n\":1}," META_NONE),
                 "*\"code\":-32602*");
    server_check(CALL("1", "total", META_NONE), "*\"sum\":3*");
    struct toolrack_error err;
    struct mcp *mcp = NULL;
    struct mcp_options serving = {.host = server_host, .profile = "raed"};
    assert_int_equal(mcp_create(&serving, &mcp, &err), TOOLRACK_E_INVALID);
    assert_string_equal(err.message, "the configuration has no profile 'raed'; it has: read, find, "
                                     "none, safe");
    server_close();
}

#define CHOSEN "{\"text\":\"read the file n = 7\",\"explain\":true}"

/* What comes of a call that names the choice it comes of. */
static void a_choice_learns_whether_the_call_worked(void **state) {
    (void)state;
    open_search("", NULL);
    static const struct principal ann = {.id = "token:ann", .permissions = ~0u};
    static const struct mcp_headers headers = {
            .version = "2026-07-28", .method = "tools/call", .name = "select_tool"};
    char call[512];
    struct talk talk;
    talk_post(&talk, server_mcp, &ann, &headers, SELECT(CHOSEN));
    const char *id = strstr(talk_wait(&talk), "\"structuredContent\":{\"id\":\"");
    assert_non_null(id);
    assert_null(strstr(talk.answer, "earlier texts like it led there"));
    (void)snprintf(call, sizeof call,
                   CALL("1", "call_tool",
                        "\"arguments\":{\"name\":\"read_file\",\"arguments\":"
                        "{\"n\":7},\"choice\":\"%.16s\"}," META_NONE),
                   id + strlen("\"structuredContent\":{\"id\":\""));
    talk_finish(&talk);
    server_check_post(&ann, "tools/call", "call_tool", call, "*\"result\"*");
    server_check_post(&ann, "tools/call", "select_tool", SELECT(CHOSEN),
                      "*earlier texts like it led there*");
    server_close();
}

/* A choice that waits for a model keeps nobody else from searching. */
static void a_model_that_hangs_delays_nobody_else(void **state) {
    (void)state;
    char more[192];
    struct talk waits;
    struct talk other;
    unsigned short port = provider_start();
    assert_int_not_equal(port, 0);
    provider_set(provider_hold);
    (void)snprintf(more, sizeof more,
                   "},\"choose\":{\"endpoint\":\"http://127.0.0.1:%u\",\"model\":\"m\","
                   "\"timeout_ms\":20000",
                   port);
    open_search(more, NULL);
    talk_pipe(&waits, server_pipe, SELECT("{\"text\":\"read the file n = 7\"}"));
    talk_pipe(&other, server_pipe,
              CALL("2", "search_tools", "\"arguments\":{\"query\":\"convert a time\"}," META_NONE));
    assert_matches(talk_wait(&other), "*\"name\":\"convert_time\"*");
    (void)pthread_mutex_lock(&waits.lock);
    assert_false(waits.finished);
    (void)pthread_mutex_unlock(&waits.lock);
    provider_release();
    assert_matches(talk_wait(&waits), "*\"tool\":\"read_file\"*");
    talk_finish(&waits);
    talk_finish(&other);
    server_close();
    provider_stop();
}

static void the_summary_is_of_now(void **state) {
    (void)state;
    open_search("", NULL);
    static const struct mcp_headers headers = {.version = "2026-07-28",
                                               .method = "subscriptions/listen"};
    struct talk talk;
    talk_post(&talk, server_mcp, &server_principal, &headers,
              REQUEST("\"l\"", "subscriptions/listen",
                      "\"notifications\":{\"toolsListChanged\":true}," META_NONE));
    (void)talk_wait_sent(&talk, 1);
    server_check(LIST, "*This server has 6 tools,*");
    assert_int_equal(toolrack_set_enabled(server_host, "total", false, NULL, NULL), 0);
    assert_matches(talk_wait_sent(&talk, 2), "*notifications/tools/list_changed*");
    server_check(LIST, "*This server has 5 tools,*");
    server_check(NAMED("total", "{}"), "*the tool total is disabled*\"isError\":true*");
    mcp_gone(&talk.exchange);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    server_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(lists_hold_tools_for_searching),
            cmocka_unit_test(a_sentence_chooses_a_tool),
            cmocka_unit_test(unknown_arguments_are_refused),
            cmocka_unit_test(nothing_found_says_what_to_do),
            cmocka_unit_test(call_tool_calls_any),
            cmocka_unit_test(both_eras_search),
            cmocka_unit_test(pinned_tools_stay_listed),
            cmocka_unit_test(what_may_not_be_called_is_not_found),
            cmocka_unit_test(a_subset_is_all_that_there_is),
            cmocka_unit_test(a_choice_learns_whether_the_call_worked),
            cmocka_unit_test(a_model_that_hangs_delays_nobody_else),
            cmocka_unit_test(the_summary_is_of_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
