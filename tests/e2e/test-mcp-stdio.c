/* toolrack mcp: a client at the pipes of the command. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "e2e.h"

#define INITIALIZE                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{*}}\n"
#define CALL(id, name, arguments)                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\",\"arguments\":" arguments "}}"
#define TEXT(id, text)                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id \
    ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}\n"
#define MCP(text) RUN_WITH(HOW(.input = (text)), "mcp")

static void lines_are_messages(void **state) {
    (void)state;
    /* A byte order mark, CRLF, empty lines, and a last line that nothing ends. */
    EXPECT(MCP("\xef\xbb\xbf" INITIALIZE "\r\n  \n\n" CALL("1", "add", "{\"a\":1,\"b\":2}") "\r"),
           0, INITIALIZED TEXT("1", "3.0"), "");
    EXPECT(MCP(""), 0, "", "");
    EXPECT(MCP("\n\n"), 0, "", "");
    EXPECT(MCP("{\n\"id\":1}\n"), 0,
           "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,*}}\n"
           "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,*}}\n",
           "");
}

static void nothing_else_is_on_standard_output(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\"policies\":{\"prints\":{\"isolation\":\"none\"}}}");
    const char *builds = getenv("E2E_BUILDS");
    assert_non_null(builds);
    char file[512];
    (void)snprintf(file, sizeof file, "%s/prints.so", builds);
    assert_int_equal(mkdir("own", 0700), 0);
    e2e_copy(file, "own/prints.so", 0);
    EXPECT(RUN_WITH(HOW(.input = INITIALIZE CALL("1", "prints", "{}"), .bare = true), "mcp",
                    "--state", "state", "--config", "toolrack.json", "--plugins", "own"),
           0, INITIALIZED TEXT("1", "printed"), "*of\":\"printf\"*of write\n*");
}

static void it_ends_when_it_has_answered(void **state) {
    (void)state;
    struct run run = MCP(
            INITIALIZE CALL("1", "fails", "{}") "\n" CALL("2", "add", "{\"a\":2,\"b\":2}") "\n");
    assert_int_equal(run.exit, 0);
    EXPECT_MATCH(run.out, INITIALIZED "*");
    assert_non_null(strstr(run.out, "\"id\":1,\"result\":{\"content\":["));
    assert_non_null(strstr(run.out, "\"isError\":true"));
    assert_non_null(strstr(run.out, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{"
                                    "\"type\":\"text\",\"text\":\"4.0\"}]}}\n"));
    run_finish(&run);
}

#define SAYS_MCP(text)                                                                  \
    RUN_WITH(HOW(.input = (text), .bare = true), "mcp", "--state", "state", "--config", \
             "toolrack.json", "--plugins", "own")
#define FAILURE(words) "*\"text\":\"" words "\"}],\"isError\":true}}\n"

/* A model is told what to do, and nothing that is of use only to the author of the plugin. */
static void a_failure_says_what_to_do(void **state) {
    (void)state;
    char file[512];
    (void)snprintf(file, sizeof file, "%s/says.so", getenv("E2E_BUILDS"));
    assert_int_equal(mkdir("own", 0700), 0);
    e2e_copy(file, "own/says.so", 0);
    e2e_write("toolrack.json", "{\"policies\":{\"says\":{\"crashes\":2}}}");
    EXPECT(SAYS_MCP(INITIALIZE CALL("1", "traps", "{}")), 0,
           INITIALIZED FAILURE(
                   "ExecutionFailed: plugin 'says' crashed: SIGILL: a trap: *.\\nIt may "
                   "have taken effect: check before you call the tool again; if "
                   "this happens again, tell the person."),
           NULL);
    struct run run = SAYS_MCP(INITIALIZE CALL("1", "traps", "{}"));
    assert_int_equal(run.exit, 0);
    static const char *const internals[] = {"worker", "address 0x", "traps+", "says.so"};
    for (size_t i = 0; i < sizeof internals / sizeof internals[0]; i++) {
        assert_null(strstr(run.out, internals[i]));
    }
    run_finish(&run);
    /* Any tool of the plugin. */
    EXPECT(SAYS_MCP(INITIALIZE CALL("1", "denied", "{}")), 0,
           INITIALIZED FAILURE(
                   "ExecutionFailed: plugin 'says' is in quarantine; let it run again: "
                   "toolrack *release says.\\nNo tool of this plugin can be called until "
                   "a person lets it run again: tell the person, with the command if "
                   "there is one here."),
           NULL);
    EXPECT(RUN_WITH(HOW(.bare = true), "why", "says", "--state", "state", "--config",
                    "toolrack.json", "--plugins", "own"),
           0, "*in traps+*", NULL);
    /* What was given up may have been done. */
    EXPECT(MCP(INITIALIZE CALL("1", "stubborn", "{}")), 0,
           INITIALIZED FAILURE("Timeout: *.\\nIt may have taken effect: check before you call the "
                               "tool again, with less to do at once."),
           NULL);
}

static void a_signal_ends_it(void **state) {
    (void)state;
    EXPECT(RUN_WITH(HOW(.input = INITIALIZE CALL("1", "noisy", "{}") "\n" CALL("2", "slow",
                                                                               "{}") "\n",
                        .wait_for = "something smells", .send = SIGTERM),
                    "mcp"),
           0, NULL, NULL);
}

/* Two clients have two servers, and an answer is for the one that asked. */
static void clients_are_told_apart(void **state) {
    (void)state;
#define ERASE INITIALIZE CALL("1", "erase", "{}") "\n"
    for (int i = 0; i < 2; i++) {
        struct run run = MCP(ERASE);
        assert_non_null(strstr(run.out, "ConfirmationRequired"));
        run_finish(&run);
        run = RUN("approvals", "--json");
        EXPECT_MATCH(run.out, "[{\"id\":\"*\",*\"caller\":\"stdio:*\",*}]\n");
        char id[64];
        (void)snprintf(id, sizeof id, "%.32s", run.out + strlen("[{\"id\":\""));
        run_finish(&run);
        EXPECT(RUN("approvals", i == 0 ? "allow" : "conversation", id), 0, NULL, NULL);
    }
    struct run run = MCP(ERASE);
    assert_non_null(strstr(run.out, "ConfirmationRequired"));
    run_finish(&run);
}

static void a_long_message_is_refused(void **state) {
    (void)state;
    const size_t length = 67u << 20;
    char *text = malloc(length + 256);
    assert_non_null(text);
    memset(text, 'a', length);
    (void)strcpy(text + length, "\n" INITIALIZE);
    EXPECT(RUN_WITH(HOW(.input = text), "mcp"), 0,
           "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,*}}\n" INITIALIZED, "");
    free(text);
}

/* Those that are longer than a pipe holds are written without a copy, beside others that wait. */
static void long_answers_are_lines_too(void **state) {
    (void)state;
    enum { CALLS = 40, LONG = 100000 };
    char *input = NULL;
    size_t size = 0;
    unsigned answered = 0;
    FILE *file = open_memstream(&input, &size);
    assert_non_null(file);
    (void)fputs(INITIALIZE, file);
    for (int id = 1; id <= CALLS; id++) {
        (void)fprintf(file,
                      "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                      "\"name\":\"echo\",\"arguments\":{\"s\":\"%0*d\"}}}\n",
                      id, id % 2 == 0 ? LONG : 1, id);
    }
    assert_int_equal(fclose(file), 0);
    struct run run = MCP(input);
    assert_int_equal(run.exit, 0);
    for (char *line = strchr(run.out, '\n') + 1, *end; (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        yyjson_doc *doc = yyjson_read(line, (size_t)(end - line), 0);
        int id = (int)yyjson_get_int(yyjson_doc_ptr_get(doc, "/id"));
        if (id == 0) {
            fail_msg("no answer: %.200s", line);
        }
        assert_int_equal(yyjson_get_len(yyjson_doc_ptr_get(doc, "/result/content/0/text")) > LONG,
                         id % 2 == 0);
        answered++;
        yyjson_doc_free(doc);
    }
    assert_int_equal(answered, CALLS);
    run_finish(&run);
    free(input);
}

/* What --install writes is what the client then starts. */
static void a_client_is_told_to_start_it(void **state) {
    (void)state;
    char home[256];
    assert_non_null(getcwd(home, sizeof home));
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    /* An entry that starts nothing is not written. */
    e2e_write("toolrack.json", "{\"serve\":{\"profiles\":{\"few\":{\"tools\":[\"add\"]}}}}");
    EXPECT(RUN("mcp", "--install", "cursor", "--profile", "none", "--config", "toolrack.json"), 2,
           "", "*the configuration has no profile 'none'; it has: few\n");
    EXPECT(RUN("mcp", "--install", "cursor", "--config", "missing.json"), 3, "",
           "*cannot read the configuration missing.json: No such file or directory\n");
    EXPECT(RUN("mcp", "--print-config", "cursor", "--profile", "few"), 2, "",
           "*the configuration has no profile 'few'; *");
    assert_int_equal(-1, access(".cursor", F_OK));
    EXPECT(RUN("mcp", "--install", "cursor", "--profile", "few", "--config", "toolrack.json"), 0,
           "/*/.cursor/mcp.json has the entry for this server; start Cursor again to use it\n", "");
    EXPECT_JSON(RUN("mcp", "--install", "cursor", "--profile", "few", "--config", "toolrack.json",
                    "--json"),
                0, "/client", "\"cursor\"", "/changed", "false", "/kept", "null", NULL);
    EXPECT_JSON(RUN("mcp", "--install", "cursor", "--json"), 0, "/changed", "true", NULL);
    EXPECT(RUN_WITH(HOW(.bare = true), "mcp", "--print-config", "vscode"), 0,
           "{\n  \"servers\": {\n    \"toolrack\": {\n      \"type\": \"stdio\",\n      "
           "\"command\": "
           "\"/*toolrack\",\n      \"args\": [\n        \"mcp\"\n      ]*",
           "");
    /* Problems of plugins are counted, as by other commands that are about something else. */
    e2e_write("broken.so", "no plugin");
    EXPECT(RUN_WITH(HOW(.bare = true), "mcp", "--plugins", ".", "--print-config", "vscode"), 0,
           NULL, "toolrack: 1 problem with tools or plugins; see it: toolrack *list --all\n");
    EXPECT(RUN("mcp", "--install", "cursor", "--print-config", "zed"), 2, "",
           "toolrack: --install and --print-config are two commands; give one of them\n");
    EXPECT(RUN("mcp", "--install", "netscape"), 2, "",
           "*there is no client 'netscape'; the known ones are claude-desktop, *");

    yyjson_doc *doc = yyjson_read_file(".cursor/mcp.json", 0, NULL, NULL);
    yyjson_val *entry = yyjson_ptr_get(yyjson_doc_get_root(doc), "/mcpServers/toolrack");
    const char *words[16] = {NULL};
    size_t index;
    size_t count;
    yyjson_val *word;
    assert_string_equal(yyjson_get_str(yyjson_obj_get(entry, "command")), getenv("E2E_TOOLRACK"));
    yyjson_arr_foreach (yyjson_obj_get(entry, "args"), index, count, word) {
        assert_true(index < 15);
        words[index] = yyjson_get_str(word);
    }
    EXPECT(run_how(&(struct how)HOW(.input = INITIALIZE CALL("1", "add", "{\"a\":1,\"b\":2}") "\n",
                                    .bare = true),
                   words),
           0, INITIALIZED TEXT("1", "3.0"), "");
    yyjson_doc_free(doc);
}

/* A client starts the server in any folder, and with an environment of its own. */
static void a_client_gets_places_from_the_root(void **state) {
    (void)state;
    char home[256];
    assert_non_null(getcwd(home, sizeof home));
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(mkdir("own", 0700), 0);
    assert_int_equal(setenv("TOOLRACK_PLUGIN_PATH", "own:/opt/tools:later", 1), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", "/elsewhere/config", 1), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
    char expected[2048];
    (void)snprintf(expected, sizeof expected, "%s/.local/share", home);
    assert_int_equal(setenv("XDG_DATA_HOME", expected, 1), 0);
    (void)snprintf(expected, sizeof expected,
                   "*\"TOOLRACK_PLUGIN_PATH\": \"%s/own:/opt/tools:%s/later\",\n*"
                   "\"XDG_CONFIG_HOME\": \"/elsewhere/config\"\n*",
                   home, home);
    EXPECT(RUN_WITH(HOW(.bare = true), "mcp", "--print-config", "cursor"), 0, expected, NULL);
    assert_int_equal(setenv("XDG_CONFIG_HOME", "", 1), 0);
    char place[512];
    (void)snprintf(place, sizeof place, "%s/elsewhere/state", home); /* it is made */
    assert_int_equal(setenv("XDG_STATE_HOME", place, 1), 0);
    (void)snprintf(place, sizeof place, "%s/elsewhere/data", home);
    assert_int_equal(setenv("XDG_DATA_HOME", place, 1), 0);
    (void)snprintf(expected, sizeof expected,
                   "*\"XDG_STATE_HOME\": \"%s/elsewhere/state\",\n*\"XDG_DATA_HOME\": "
                   "\"%s/elsewhere/data\"\n*",
                   home, home);
    EXPECT(RUN_WITH(HOW(.bare = true), "mcp", "--print-config", "cursor"), 0, expected, NULL);
    assert_int_equal(setenv("XDG_STATE_HOME", "", 1), 0);
    assert_int_equal(setenv("XDG_DATA_HOME", "", 1), 0);
    assert_int_equal(setenv("TOOLRACK_PLUGIN_PATH", "", 1), 0);

    /* Without the program of the workers no plugin would run. */
    char *worker = strdup(getenv("TOOLRACK_WORKER"));
    assert_int_equal(setenv("TOOLRACK_WORKER", "/nowhere/toolrack-worker", 1), 0);
    EXPECT(RUN("mcp", "--print-config", "cursor"), 0, "*\"TOOLRACK_WORKER\": \"/nowhere/*",
           "*toolrack: with this entry no plugin runs in a worker: the worker program "
           "/nowhere/toolrack-worker: No such file or directory; install it there, or set "
           "TOOLRACK_WORKER to its path and do this again\n");
    assert_int_equal(setenv("TOOLRACK_WORKER", worker, 1), 0);
    free(worker);
    EXPECT(RUN("mcp", "--print-config", "cursor"), 0, "*\"TOOLRACK_WORKER\": \"/*", "");

    assert_int_equal(mkdir(".cursor", 0700), 0);
    e2e_write(".cursor/mcp.json", "{\"mcpServers\": ");
    (void)snprintf(expected, sizeof expected,
                   "toolrack: Invalid: %s/.cursor/mcp.json: it is not JSON: *; correct it, "
                   "or add the entry by hand: toolrack *mcp --print-config cursor\n",
                   home);
    EXPECT(RUN("mcp", "--install", "cursor"), 1, "", expected);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)
    const struct CMUnitTest tests[] = {
            TEST(lines_are_messages),           TEST(nothing_else_is_on_standard_output),
            TEST(it_ends_when_it_has_answered), TEST(a_signal_ends_it),
            TEST(clients_are_told_apart),       TEST(a_long_message_is_refused),
            TEST(long_answers_are_lines_too),   TEST(a_client_is_told_to_start_it),
            TEST(a_failure_says_what_to_do),    TEST(a_client_gets_places_from_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
