/* MCP servers as plugins: a host with servers that behave, and with those that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "patience.h"
#include "remote/mcp/message.h"
#include "remove-tree.h"
#include "toolrack/offer.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

struct setup {
    char root[64];
    char config[96];
    char shared[96]; /* a folder that servers may be granted */
    char state[96];
    struct toolrack *host;
    pthread_mutex_t lock; /* guards what follows */
    char lines[1 << 18];
    char progress[256];
    unsigned progressed;
    unsigned asked;
    const char *question; /* that is expected; NULL: any */
    char heard[512];
    char events[1024]; /* of what is offered */
};

static void log_it(void *user, enum toolrack_log_level level, const char *source,
                   const char *line) {
    struct setup *setup = user;
    (void)level;
    (void)pthread_mutex_lock(&setup->lock);
    size_t length = strlen(setup->lines);
    (void)snprintf(setup->lines + length, sizeof setup->lines - length, "%s: %s\n", source, line);
    (void)pthread_mutex_unlock(&setup->lock);
}

static bool is_logged(struct setup *setup, const char *words) {
    (void)pthread_mutex_lock(&setup->lock);
    bool is = strstr(setup->lines, words) != NULL;
    (void)pthread_mutex_unlock(&setup->lock);
    return is;
}

static void take_event(void *user, const struct toolrack_event *event) {
    struct setup *setup = user;
    if (event->kind == TOOLRACK_EVENT_RESOURCE_UPDATED ||
        event->kind == TOOLRACK_EVENT_PROMPTS_CHANGED) {
        (void)pthread_mutex_lock(&setup->lock);
        size_t length = strlen(setup->events);
        (void)snprintf(setup->events + length, sizeof setup->events - length, "%s %s;",
                       event->plugin, event->message != NULL ? event->message : "prompts");
        (void)pthread_mutex_unlock(&setup->lock);
    }
}

static bool has_event(struct setup *setup, const char *words) {
    (void)pthread_mutex_lock(&setup->lock);
    bool has = strstr(setup->events, words) != NULL;
    (void)pthread_mutex_unlock(&setup->lock);
    return has;
}

static int set_up(void **state) {
    struct setup *setup = calloc(1, sizeof *setup);
    setup->question = "MCP server 'x' asks: Which colour?";
    *state = setup;
    (void)pthread_mutex_init(&setup->lock, NULL);
    strcpy(setup->root, "/tmp/toolrack-mount-XXXXXX");
    (void)alarm(PATIENCE_S * 3);
    if (mkdtemp(setup->root) == NULL) {
        return -1;
    }
    (void)snprintf(setup->config, sizeof setup->config, "%s/toolrack.json", setup->root);
    (void)snprintf(setup->shared, sizeof setup->shared, "%s/shared", setup->root);
    (void)snprintf(setup->state, sizeof setup->state, "%s/state", setup->root);
    if (mkdir(setup->shared, 0700) < 0) {
        return -1;
    }
    return 0;
}

static int teardown(void **state) {
    struct setup *setup = *state;
    toolrack_close(setup->host);
    (void)alarm(0);
    int code = remove_tree(setup->root);
    (void)pthread_mutex_destroy(&setup->lock);
    free(setup);
    return code;
}

/* Open a host with these tools and servers; NULL: those that there are. */
static void start_tools(struct setup *setup, const char *tools, const char *servers) {
    char plugins[96];
    const char *const dirs[] = {plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    (void)snprintf(plugins, sizeof plugins, "%s/plugins", setup->root);
    (void)mkdir(plugins, 0700);
    toolrack_close(setup->host);
    setup->host = NULL;
    setup->lines[0] = '\0';
    if (servers != NULL) {
        FILE *file = fopen(setup->config, "w");
        assert_non_null(file);
        (void)fprintf(file, "{\"tools\": [%s], \"mcpServers\": {%s}}", tools, servers);
        assert_int_equal(fclose(file), 0);
    }
    options.config_file = setup->config;
    options.state_dir = setup->state;
    options.plugin_dirs = dirs;
    options.event = take_event;
    options.log = log_it;
    options.log_level = TOOLRACK_LOG_INFO;
    options.user = setup;
    if (toolrack_open(&options, &setup->host, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static void start(struct setup *setup, const char *servers) {
    start_tools(setup, "", servers);
}

/* A server "x" of these words, all of whose tools run without a question. */
static void start_with(struct setup *setup, const char *words) {
    char servers[1024];
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"" FAKE_SERVER
                   "\", \"args\": [%s], \"permission\": \"safe\","
                   "\"start_ms\": 4000}",
                   words);
    start(setup, servers);
}

static void note_progress(void *user, double done, double total, const char *message) {
    struct setup *setup = user;
    size_t length = strlen(setup->progress);
    setup->progressed++;
    (void)snprintf(setup->progress + length, sizeof setup->progress - length, "%g/%g %s;", done,
                   total, message);
}

static int answer(void *user, struct toolrack_input *inputs, size_t count) {
    struct setup *setup = user;
    setup->asked += (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(setup->heard, sizeof setup->heard, "%s", inputs[i].message);
        assert_true(setup->question == NULL || strcmp(setup->heard, setup->question) == 0);
        inputs[i].answer = TOOLRACK_ANSWER_ACCEPTED;
        inputs[i].content = toolrack_alloc(32);
        strcpy(inputs[i].content, "{\"colour\":\"blue\"}");
    }
    return 0;
}

static int call_for(struct setup *setup, const char *tool, const char *arguments, uint32_t deadline,
                    char *ret, size_t room, struct toolrack_error *err) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = deadline;
    options.progress = note_progress;
    options.input = answer;
    options.user = setup;
    *err = (struct toolrack_error){0};
    int code = toolrack_call(setup->host, tool, arguments, &options, &result, err);
    (void)snprintf(ret, room, "%s", code == 0 ? toolrack_result_json(result, NULL) : "");
    toolrack_result_free(result);
    return code;
}

static void expect(struct setup *setup, const char *tool, const char *arguments, const char *json) {
    char got[4096];
    struct toolrack_error err;
    if (call_for(setup, tool, arguments, 20000, got, sizeof got, &err) < 0) {
        fail_msg("%s: %s", tool, err.message);
    }
    assert_string_equal(got, json);
}

static void expect_refused(struct setup *setup, const char *tool, const char *arguments, int code,
                           const char *words) {
    char got[4096];
    struct toolrack_error err;
    int failed = call_for(setup, tool, arguments, 20000, got, sizeof got, &err);
    if (failed != code || strstr(err.message, words) == NULL) {
        fail_msg("%s: %d \"%s\" %s", tool, failed, err.message, got);
    }
}

static void expect_error(struct setup *setup, const char *tool, int code, const char *words) {
    expect_refused(setup, tool, "{}", code, words);
}

static bool has_tool(struct setup *setup, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(setup->host, name);
    return tool != NULL;
}

/* ------------------------------------------------------------------ good ones */

static void check_good(struct setup *setup) {
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    expect(setup, "x_add", "{\"a\":1,\"b\":2}", "{\"sum\":3}");
    expect(setup, "x_half", "{}", "\"x\xEF\xBF\xBDy\"");
    expect(setup, "x_blocks", "{}",
           "{\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image\",\"data\":"
           "\"AAAA\","
           "\"mimeType\":\"image/png\"},{\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":"
           "\"a\"},{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b\",\"text\":\"b\"}}]}");
    expect(setup, "x_progress", "{}", "\"done\"");
    assert_string_equal(setup->progress, "1/3 step 1;2/3 step 2;3/3 step 3;");
    assert_true(is_logged(setup, "mcp.x: half way"));
    expect(setup, "x_ask", "{}",
           "\"{\\\"action\\\":\\\"accept\\\",\\\"content\\\":{\\\"colour\\\":\\\"blue\\\"}}\"");
    assert_int_equal(setup->asked, 1);
    expect_error(setup, "x_fail", TOOLRACK_E_EXECUTION_FAILED, "the disk is full");
    expect_error(setup, "x_refuse", TOOLRACK_E_EXECUTION_FAILED,
                 "MCP server 'x': internal trouble (-32603)");
    expect_error(setup, "x_echo", TOOLRACK_E_INVALID_ARGUMENTS, "text");
}

static void a_server_of_sessions(void **state) {
    start_with(*state, "");
    check_good(*state);
}

static void a_stateless_server(void **state) {
    start_with(*state, "\"stateless\"");
    check_good(*state);
}

static void servers_that_do_not_know_the_first_question(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"dies-at-discover\"");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    start_with(setup, "\"ignores-discover\"");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
}

/* ------------------------------------------------------- resources and prompts */

static int offer_for(struct setup *setup, enum toolrack_offer what, const char *arguments,
                     char *ret, size_t room, struct toolrack_error *err) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = 20000;
    options.input = answer;
    options.user = setup;
    *err = (struct toolrack_error){0};
    int code = toolrack_offer_call(setup->host, what, arguments, &options, &result, err);
    (void)snprintf(ret, room, "%s", code == 0 ? toolrack_result_json(result, NULL) : "");
    toolrack_result_free(result);
    return code;
}

static void expect_offer(struct setup *setup, enum toolrack_offer what, const char *arguments,
                         const char *json) {
    char got[4096];
    struct toolrack_error err;
    if (offer_for(setup, what, arguments, got, sizeof got, &err) < 0) {
        fail_msg("%s: %s", arguments, err.message);
    }
    assert_string_equal(got, json);
}

static void expect_no_offer(struct setup *setup, enum toolrack_offer what, const char *arguments,
                            int code, const char *words) {
    char got[4096];
    struct toolrack_error err;
    int failed = offer_for(setup, what, arguments, got, sizeof got, &err);
    if (failed != code || strstr(err.message, words) == NULL) {
        fail_msg("%s: %d \"%s\" %s", arguments, failed, err.message, got);
    }
}

#define NOTE_1 \
    "{\"contents\":[{\"uri\":\"note:1\",\"mimeType\":\"text/plain\",\"text\":\"the note\"}]}"
#define GREET_ANN                                                                               \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"greet Ann\"}}" \
    "]}"

static void check_offers(struct setup *setup) {
    expect_offer(setup, TOOLRACK_OFFER_PROMPT,
                 "{\"name\":\"x_greet\",\"arguments\":{\"who\":\"Ann\"}}", GREET_ANN);
    expect_offer(setup, TOOLRACK_OFFER_RESOURCES, "{}",
                 "{\"resources\":[{\"uri\":\"note:1\",\"name\":\"one\"},{\"uri\":\"note:big\","
                 "\"name\":\"big\"}]}");
    expect_offer(setup, TOOLRACK_OFFER_TEMPLATES, "{}",
                 "{\"resourceTemplates\":[{\"uriTemplate\":\"note:{name}\",\"name\":\"note\"}]}");
    expect_offer(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"note:1\"}", NOTE_1);
    expect_offer(
            setup, TOOLRACK_OFFER_PROMPTS, "{}",
            "{\"prompts\":[{\"name\":\"x_greet\",\"arguments\":[{\"name\":\"who\",\"required\":"
            "true}],\"title\":\"greet\"},{\"name\":\"x_a_b\",\"title\":\"Dotted\"}]}");
    expect_offer(setup, TOOLRACK_OFFER_COMPLETE,
                 "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"x_a_b\"},\"argument\":{\"name\":"
                 "\"who\",\"value\":\"A\"}}",
                 "{\"completion\":{\"values\":[\"a.b\"]}}");
    expect_no_offer(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"other:1\"}", TOOLRACK_E_NOT_FOUND, "");
    expect_no_offer(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"greet\"}", TOOLRACK_E_NOT_FOUND, "");
    expect_no_offer(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"x_greet\"}",
                    TOOLRACK_E_INVALID_ARGUMENTS, "who is missing");
}

static void resources_and_prompts(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"offers\"");
    check_offers(setup);
    expect_offer(setup, TOOLRACK_OFFER_SUBSCRIBE, "{\"uri\":\"note:1\"}", "{}");
    AWAIT(has_event(setup, "mcp.x note:1;"));
    AWAIT(has_event(setup, "mcp.x prompts;"));
    start_with(setup, "\"offers\",\"stateless\"");
    check_offers(setup);
    start_with(setup, "");
    assert_false(toolrack_offers(setup->host, TOOLRACK_OFFER_RESOURCES));
}

/* Such a server does not know the question for its tools. */
static void a_server_without_tools_is_told(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"offers\",\"no-tools\"");
    assert_true(is_logged(setup, "the list of tools of MCP server 'x' cannot be used: it has no "
                                 "tools, and resources and prompts are offered only of"));
}

/* Each of two servers has what it lists; of what both list the first has it. */
static void resources_of_two_servers(void **state) {
    struct setup *setup = *state;
    start(setup, "\"y\": {\"command\": \"" FAKE_SERVER
                 "\", \"args\": [\"offers\"], \"permission\": \"safe\"},"
                 "\"x\": {\"command\": \"" FAKE_SERVER
                 "\", \"args\": [\"offers\"], \"permission\": \"safe\"}");
    expect_offer(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"note:1\"}", NOTE_1);
    expect_offer(setup, TOOLRACK_OFFER_PROMPT,
                 "{\"name\":\"x_greet\",\"arguments\":{\"who\":\"Ann\"}}", GREET_ANN);
    expect_offer(setup, TOOLRACK_OFFER_RESOURCES, "{}",
                 "{\"resources\":[{\"uri\":\"note:1\",\"name\":\"one\"},{\"uri\":\"note:big\","
                 "\"name\":\"big\"}]}");
    AWAIT(is_logged(setup, "mcp.x: 'note:1' of its resources is left out: plugin 'mcp.y' has it"));
}

static void resources_need_the_permission_of_the_server(void **state) {
    struct setup *setup = *state;
    start(setup, "\"x\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"offers\"]}");
    setup->question = "toolrack asks whether MCP server 'x' may be asked for this "
                      "(resources/read): note:1";
    expect_offer(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"note:1\"}", NOTE_1);
    assert_int_equal(setup->asked, 1);
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_offer_call(setup->host, TOOLRACK_OFFER_READ, "{\"uri\":\"note:1\"}",
                                         NULL, &result, &err),
                     TOOLRACK_E_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "nobody can be asked here"));
    start(setup, "\"x\": {\"command\": \"" FAKE_SERVER
                 "\", \"args\": [\"offers\"], \"permission\": \"dangerous\"}");
    assert_false(toolrack_offers(setup->host, TOOLRACK_OFFER_RESOURCES));
}

/* ------------------------------------------------------------------ registered */

static void tools_need_consent_whatever_the_hints_say(void **state) {
    struct setup *setup = *state;
    start(setup,
          "\"x\": {\"command\": \"" FAKE_SERVER "\", \"prefix\": \"my\"},"
          "\"off\": {\"command\": \"" FAKE_SERVER "\", \"enabled\": false},"
          "\"few\": {\"command\": \"" FAKE_SERVER "\", \"tools\": [\"echo\"], \"prefix\": \"\"}");
    expect_error(setup, "my_blocks", TOOLRACK_E_CONFIRMATION_REQUIRED, "");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_definitions(setup->host, &text, &err), 0);
    const char *half =
            strstr(toolrack_text_data(text, NULL), "\"my_half\""); /* says four times no */
    assert_non_null(half);
    half = strstr(half, "\"annotations\":");
    assert_non_null(half);
    const char none[] = "\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":false,"
                        "\"idempotentHint\":false,\"openWorldHint\":false}";
    assert_memory_equal(half, none, sizeof none - 1);
    assert_false(has_tool(setup, "off_echo"));
    assert_true(has_tool(setup, "echo"));
    assert_false(has_tool(setup, "add"));
}

static void a_list_is_kept_and_a_change_of_it_is_held(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    char path[128];
    char servers[512];
    (void)snprintf(path, sizeof path, "%s/mcp/x.json", setup->state);
    (void)snprintf(servers, sizeof servers, "\"x\": {\"command\": \"" FAKE_SERVER "\"}");
    start(setup, servers);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(toolrack_grant(setup->host, "x_echo", 0, NULL, &err), 0);
    assert_int_equal(toolrack_grant(setup->host, "x_add", 0, NULL, &err), 0);
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"changed\"]}");
    start(setup, servers);
    expect_refused(setup, "x_echo", "{\"text\":\"hi\"}", TOOLRACK_E_PERMISSION_DENIED,
                   "description changed");
    expect(setup, "x_add", "{\"a\":1,\"b\":2}", "{\"sum\":3}");
    assert_int_equal(toolrack_reload(setup->host, "mcp.x", &report, &err), 0);
}

static void what_is_kept_needs_no_server(void **state) {
    struct setup *setup = *state;
    char fake[96];
    char servers[512];
    (void)snprintf(fake, sizeof fake, "%s/fake", setup->root);
    assert_int_equal(symlink(FAKE_SERVER, fake), 0);
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"%s\", \"permission\": \"safe\"}", fake);
    start(setup, servers);
    assert_true(has_tool(setup, "x_echo"));
    assert_int_equal(unlink(fake), 0);
    start(setup, NULL);
    assert_true(has_tool(setup, "x_echo"));
    expect_error(setup, "x_fail", TOOLRACK_E_EXECUTION_FAILED, "cannot start");
    expect_error(setup, "x_fail", TOOLRACK_E_EXECUTION_FAILED, "it is started again in");
}

static void a_list_that_changes_is_asked_for_again(void **state) {
    struct setup *setup = *state;
    start_with(setup, "");
    assert_false(has_tool(setup, "x_more"));
    expect(setup, "x_change", "{}", "\"changed\"");
    AWAIT(has_tool(setup, "x_more"));
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
}

static void evil_lists(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"evil\"");
    assert_true(has_tool(setup, "x_good"));
    assert_true(has_tool(setup, "x_______etc_passwd"));
    assert_false(has_tool(setup, "x_a_b__2J")); /* its description would write to a terminal */
    assert_false(has_tool(setup, "x_schema"));
    assert_true(is_logged(setup, "x, tool x_schema:"));
    start_with(setup, "\"twins\"");
    assert_true(has_tool(setup, "x_a_b"));
    start_with(setup, "\"pages\"");
    assert_true(has_tool(setup, "x_first") && has_tool(setup, "x_echo"));
    start_with(setup, "\"no-array\"");
    assert_true(is_logged(setup, "it has no array \"tools\""));
    start_with(setup, "\"endless-pages\"");
    assert_true(is_logged(setup, "it has more than 100 pages"));
}

static void lists_that_cost_much(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"many\"");
    assert_true(is_logged(setup, "it has more than 4096 tools"));
    start_with(setup, "\"huge\"");
    assert_true(has_tool(setup, "x_good"));
    assert_false(has_tool(setup, "x_huge"));
    start_with(setup, "\"giant\"");
    assert_true(has_tool(setup, "x_good"));
    start_with(setup, "\"round\"");
    assert_true(has_tool(setup, "x_good"));
    assert_true(has_tool(setup, "x_tree"));
    assert_false(has_tool(setup, "x_remote"));
}

/* It says that its list has changed as often as it is asked: it is asked once a second. */
static void a_list_that_never_rests(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"restless\"");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    AWAIT(has_tool(setup, "x_t1") && !has_tool(setup, "x_t0"));
    AWAIT(has_tool(setup, "x_t2"));
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
}

static void names_that_collide(void **state) {
    struct setup *setup = *state;
    start_tools(
            setup,
            "{\"name\": \"x_echo\", \"description\": \"Native\", \"type\": \"function\", "
            "\"parameters\": {}, \"implementation\": {\"type\": \"mock\", \"mock_response\": 7}}",
            "\"x\": {\"command\": \"" FAKE_SERVER
            "\", \"permission\": \"safe\", \"priority\": 1000},"
            "\"y\": {\"command\": \"" FAKE_SERVER
            "\", \"permission\": \"safe\", \"prefix\": \"x\", \"args\": [\"changed\"]}");
    expect(setup, "x_echo", "{}", "7");
    assert_true(has_tool(setup, "x_more"));
    AWAIT(is_logged(setup, "x_echo"));
}

static void a_question_that_imitates_ours(void **state) {
    struct setup *setup = *state;
    char got[512];
    struct toolrack_error err;
    start_with(setup, "\"imitates\"");
    setup->question = NULL; /* told below */
    (void)call_for(setup, "x_ask", "{}", 20000, got, sizeof got, &err);
    assert_int_equal(setup->asked, 1);
    assert_memory_equal(setup->heard, "MCP server 'x' asks: ", 21);
    assert_null(strpbrk(setup->heard, "\033\r\n"));
}

static void a_server_that_cannot_be_started_harms_no_other(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    start(setup,
          "\"gone\": {\"command\": \"/nonexistent/server\"},"
          "\"old\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"unknown-revision\"]},"
          "\"no\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"refuses\"]},"
          "\"mute\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"silent\"], \"start_ms\": 200},"
          "\"key\": {\"command\": \"" FAKE_SERVER "\", \"env\": {\"A\": \"${env:TOOLRACK_NONE}\"}},"
          "\"x\": {\"command\": \"" FAKE_SERVER "\", \"permission\": \"safe\"}");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    assert_true(is_logged(setup, "gone: MCP server 'gone' exited with status 127; it last wrote: "
                                 "toolrack: cannot start /nonexistent/server"));
    assert_true(is_logged(setup, "speaks revision \"1999-01-01\""));
    assert_true(is_logged(setup, "refuses to begin: not today (-32000)"));
    assert_true(is_logged(setup, "did not say within 200 ms what it is"));
    assert_true(is_logged(setup, "environment variable TOOLRACK_NONE, which is not set"));
    assert_int_equal(toolrack_reload(setup->host, "x", &report, &err), 0);
    assert_non_null(strstr(toolrack_text_data(report, NULL), "\"outcome\":\"unchanged\""));
}

/* ---------------------------------------------------------------------- calls */

static void a_server_that_ends_is_started_again(void **state) {
    struct setup *setup = *state;
    start_with(setup, "");
    expect_error(setup, "x_die", TOOLRACK_E_EXECUTION_FAILED,
                 "MCP server 'x' was killed by signal 9 (Killed); it last wrote: about to die");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    expect_error(setup, "x_exit", TOOLRACK_E_EXECUTION_FAILED, "exited with status 3");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
}

static void what_a_server_was_given_is_not_shown(void **state) {
    struct setup *setup = *state;
    (void)setenv("TOOLRACK_KEY", "hunter2-hunter2", 1);
    start(setup, "\"x\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"quotes\"], "
                 "\"permission\": \"safe\", \"env\": {\"KEY\": \"${env:TOOLRACK_KEY}\"}}");
    expect_error(setup, "x_fail", TOOLRACK_E_EXECUTION_FAILED, "no ***************");
    expect_error(setup, "x_refuse", TOOLRACK_E_EXECUTION_FAILED, "refused ***************");
    assert_true(is_logged(setup, "noted ***************"));
    expect_error(setup, "x_die", TOOLRACK_E_EXECUTION_FAILED,
                 "exited with status 1; it wrote: Error: bad ***************; it last wrote: "
                 "Engine 1");
    assert_true(is_logged(setup, "x: Error: bad ***************"));
    assert_false(is_logged(setup, "hunter2"));
}

static void placeholders_of_other_clients_are_refused(void **state) {
    static const struct {
        const char *members, *why;
    } cases[] = {
            {"\"env\": {\"A\": \"${input:key}\"}", "has ${input...}, which only another client"},
            {"\"env\": {\"A\": \"x${KEY}\"}", "has ${KEY}, which is not filled in here; write "
                                              "${env:KEY}"},
            {"\"env\": {\"A\": \"${KEY:-none}\"}", "write ${env:KEY}"},
            {"\"args\": [\"${workspaceFolder}/a\"]", "has ${workspaceFolder...} where nothing"},
            {"\"args\": [\"a\", \"${env:KEY}\"]", "has ${env...} where nothing is filled in"},
    };
    struct setup *setup = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char servers[512];
        (void)snprintf(servers, sizeof servers, "\"x\": {\"command\": \"" FAKE_SERVER "\", %s}",
                       cases[i].members);
        start(setup, servers);
        expect_error(setup, "x_echo", TOOLRACK_E_NOT_FOUND, "");
        if (!is_logged(setup, cases[i].why)) {
            fail_msg("%s: %s", cases[i].members, setup->lines);
        }
    }
    /* A program may have a language of its own. */
    start(setup,
          "\"x\": {\"command\": \"" FAKE_SERVER "\", \"args\": [\"${KEY}\", \"{a}\", \"$\"], "
          "\"permission\": \"safe\", \"env\": {\"A\": \"$ {b} ${\"}}");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
}

static void a_deadline_is_told_to_the_server(void **state) {
    struct setup *setup = *state;
    char got[64];
    struct toolrack_error err;
    start_with(setup, "");
    assert_int_equal(call_for(setup, "x_slow", "{}", 100, got, sizeof got, &err),
                     TOOLRACK_E_TIMEOUT);
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    AWAIT(is_logged(setup,
                    "slow heard: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\""));
}

/* An answer that nobody waits for any more is none that the server should not have sent. */
static void a_late_answer_is_no_fault(void **state) {
    struct setup *setup = *state;
    char got[64];
    struct toolrack_error err;
    start_with(setup, "");
    assert_int_equal(call_for(setup, "x_late", "{}", 100, got, sizeof got, &err),
                     TOOLRACK_E_TIMEOUT);
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\""); /* answered after it */
    assert_false(is_logged(setup, "a message is ignored"));
}

static void what_is_no_message_is_ignored(void **state) {
    static const char *const words[] = {"garbage", "blank", "wrong-id",        "text-id",
                                        "number",  "deep",  "noise-on-errors", "pings",
                                        "forged",  "both",  "no-version"};
    struct setup *setup = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        char word[64];
        (void)snprintf(word, sizeof word, "\"%s\"", words[i]);
        start_with(setup, word);
        expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    }
    start_with(setup, "\"twice\"");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"once\"");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"once\"");
}

static void results_that_cannot_be_used(void **state) {
    struct setup *setup = *state;
    start_with(setup, "");
    expect_error(setup, "x_none-such-block", TOOLRACK_E_EXECUTION_FAILED, "none that MCP has");
    expect_error(setup, "x_no-content", TOOLRACK_E_EXECUTION_FAILED, "neither \"content\"");
    expect_error(setup, "x_bad-content", TOOLRACK_E_EXECUTION_FAILED, "\"content\" is no array");
    start_with(setup, "\"flood\"");
    expect_error(setup, "x_echo2", TOOLRACK_E_NOT_FOUND, "");
    expect_error(setup, "x_fail", TOOLRACK_E_EXECUTION_FAILED, "1000 messages that cannot be used");
    start_with(setup, "\"long-line\"");
    expect_error(setup, "x_fail", TOOLRACK_E_LIMIT_EXCEEDED, "a line of more than");
}

static void a_server_may_use_what_is_allowed(void **state) {
    struct setup *setup = *state;
    char servers[1024];
    char arguments[128];
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"" FAKE_SERVER "\", \"permission\": \"safe\"},"
                   "\"y\": {\"command\": \"" FAKE_SERVER "\", \"permission\": \"safe\", \"allow\": "
                   "[\"read:%s\", \"network\"], \"env\": {\"KEY\": \"<${env:TOOLRACK_KEY}>\"}}",
                   setup->shared);
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%s\"}", setup->config);
    (void)setenv("TOOLRACK_KEY", "secret", 1);
    start(setup, servers);
    expect(setup, "x_environment", "{\"text\":\"TOOLRACK_KEY\"}", "\"unset\"");
    expect(setup, "y_environment", "{\"text\":\"KEY\"}", "\"<secret>\"");
    expect(setup, "x_read", arguments, "\"refused\"");
    expect(setup, "y_read", arguments, "\"refused\"");
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%s\"}", setup->shared);
    expect(setup, "x_read", arguments, "\"refused\"");
    expect(setup, "y_read", arguments, "\"read\"");
    expect(setup, "x_socket", "{}", "\"refused\"");
    expect(setup, "y_socket", "{}", "\"made\"");
}

static void what_is_the_hosts_is_not_granted(void **state) {
    struct setup *setup = *state;
    const struct {
        const char *kind;
        const char *path;
    } rows[] = {{"read", setup->root},
                {"write", setup->root},
                {"read", setup->state},
                {"write", setup->config},
                {"write", "/"}};
    (void)mkdir(setup->state, 0700);
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char servers[512];
        char words[192];
        (void)snprintf(servers, sizeof servers,
                       "\"x\": {\"command\": \"" FAKE_SERVER "\", \"allow\": [\"%s:%s\"]}",
                       rows[i].kind, rows[i].path);
        (void)snprintf(words, sizeof words, "MCP server 'x' is allowed \"%s:%s\": ", rows[i].kind,
                       rows[i].path);
        start(setup, servers);
        expect_error(setup, "x_echo", TOOLRACK_E_NOT_FOUND, "");
        if (!is_logged(setup, words)) {
            fail_msg("not logged: %s, but %s", words, setup->lines);
        }
    }
}

static void a_secret_that_servers_may_read_is_none(void **state) {
    struct setup *setup = *state;
    start(setup,
          "\"x\": {\"command\": \"" FAKE_SERVER "\", \"env\": {\"KEY\": \"${file:/etc/passwd}\"}}");
    expect_error(setup, "x_echo", TOOLRACK_E_NOT_FOUND, "");
    assert_true(is_logged(setup, "every MCP server on this machine may read what is in that"));
}

static void a_server_does_nothing_beside_what_is_allowed(void **state) {
    struct setup *setup = *state;
    static const char *const refused[] = {"pair of datagrams",
                                          "raw pair",
                                          "raw socket",
                                          "other protocol",
                                          "server",
                                          "segment",
                                          "queue",
                                          "server of datagrams",
                                          "file of memory",
                                          "capabilities",
                                          "keys",
                                          "shared memory"};
    char servers[1024];
    char arguments[160];
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"" FAKE_SERVER "\", \"permission\": \"safe\"},"
                   "\"y\": {\"command\": \"" FAKE_SERVER "\", \"permission\": \"safe\", \"allow\": "
                   "[\"write:%s\", \"network\"]},"
                   "\"z\": {\"command\": \"" FAKE_SERVER
                   "\", \"permission\": \"safe\", \"memory_mb\": 0}",
                   setup->shared);
    start(setup, servers);
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%s\"}", refused[i]);
        expect(setup, "x_try", arguments, "\"refused\"");
        expect(setup, "y_try", arguments, "\"refused\"");
    }
    expect(setup, "x_try", "{\"text\":\"pair\"}", "\"made\"");
    expect(setup, "x_try", "{\"text\":\"memory\"}", "\"made\"");
    expect(setup, "z_try", "{\"text\":\"shared memory\"}", "\"made\"");
    expect(setup, "z_try", "{\"text\":\"file of memory\"}", "\"made\"");
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%s\"}", setup->config);
    expect(setup, "x_try", arguments, "\"refused\""); /* a change of its mode */
    expect(setup, "y_try", arguments, "\"made\"");
}

static unsigned count_logged(struct setup *setup, const char *words) {
    unsigned count = 0;
    (void)pthread_mutex_lock(&setup->lock);
    for (const char *at = setup->lines; (at = strstr(at, words)) != NULL; at++) {
        count++;
    }
    (void)pthread_mutex_unlock(&setup->lock);
    return count;
}

static void a_server_that_says_much_is_cut(void **state) {
    struct setup *setup = *state;
    start_with(setup, "\"chatters\"");
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    assert_true(is_logged(setup, "x: more than 200 log lines within a second"));
    assert_true(is_logged(setup, "x: more than 200 reports of progress within a second"));
    assert_true(is_logged(setup, "x: more than 200 lines of errors within a second"));
    assert_in_range(count_logged(setup, "mcp.x: chatter"), 200, 5000);
    assert_in_range(setup->progressed, 200, 5000);
}

static void what_a_server_uses_is_limited(void **state) {
    struct setup *setup = *state;
    char servers[1024];
    char arguments[128];
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"" FAKE_SERVER
                   "\", \"permission\": \"safe\", \"allow\": [\"write:%s\"], \"memory_mb\": 64, "
                   "\"processes\": 8, \"cpu_s\": 1, \"file_mb\": 1}",
                   setup->shared);
    start(setup, servers);
    expect_error(setup, "x_eat", TOOLRACK_E_LIMIT_EXCEEDED,
                 "of the 64 allowed by \"memory_mb\" of \"x\" in \"mcpServers\"");
    expect_error(setup, "x_breed", TOOLRACK_E_LIMIT_EXCEEDED,
                 "it uses 21 processes, of the 8 allowed by \"processes\"");
    expect_error(setup, "x_spin", TOOLRACK_E_LIMIT_EXCEEDED,
                 "s of CPU time, of the 1 allowed by \"cpu_s\"");
    (void)snprintf(arguments, sizeof arguments, "{\"text\":\"%s/big\"}", setup->shared);
    expect(setup, "x_write", arguments, "\"refused\"");
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"" FAKE_SERVER
                   "\", \"permission\": \"safe\", \"allow\": [\"write:%s\"]}",
                   setup->shared);
    start(setup, servers);
    expect(setup, "x_write", arguments, "\"written\"");
}

/* ------------------------------------------------------ tools of the configuration */

#define ONE_TOOL(name, implementation, more)                                                       \
    "{\"name\": \"" name                                                                           \
    "\", \"description\": \"Say it\", \"type\": \"function\", \"parameters\": "                    \
    "{\"properties\": {\"text\": {\"type\": \"string\", \"maxLength\": 3}}}, \"implementation\": " \
    "{"                                                                                            \
    "\"type\": \"mcp\", " implementation "}" more "}"
#define OWN_SERVER "\"command\": \"" FAKE_SERVER "\", \"tool\": "

static void a_tool_of_a_server_is_defined(void **state) {
    struct setup *setup = *state;
    start_tools(setup,
                ONE_TOOL("say", "\"server\": \"x\", \"tool\": \"echo\"",
                         ", \"permission\": \"safe\"") ","                                   //
                ONE_TOOL("own", OWN_SERVER "\"echo\"", ", \"permission\": \"safe\"") ","     //
                ONE_TOOL("other", OWN_SERVER "\"change\"", ", \"permission\": \"safe\"") "," //
                ONE_TOOL("careful", OWN_SERVER "\"echo\"", "") ","                           //
                ONE_TOOL("none", "\"server\": \"y\"", "") ","                                //
                ONE_TOOL("both", "\"server\": \"x\", " OWN_SERVER "\"echo\"", ""),
                "\"x\": {\"command\": \"" FAKE_SERVER "\"}");
    expect(setup, "say", "{\"text\":\"hi\"}", "\"hi\"");
    expect(setup, "own", "{\"text\":\"hi\"}", "\"hi\"");
    expect(setup, "other", "{}", "\"changed\"");
    expect_refused(setup, "say", "{\"text\":\"long\"}", TOOLRACK_E_INVALID_ARGUMENTS,
                   "at most 3 characters");
    expect_error(setup, "careful", TOOLRACK_E_CONFIRMATION_REQUIRED, "");
    expect_error(setup, "x_fail", TOOLRACK_E_CONFIRMATION_REQUIRED, "");
    assert_false(has_tool(setup, "none"));
    assert_true(is_logged(setup, "there is no server \"y\" in \"mcpServers\""));
    assert_true(is_logged(setup, "either \"server\" names one of \"mcpServers\""));
}

/* --------------------------------------------------------------------- failures */

static void a_failure_is_noted(void **state) {
    struct setup *setup = *state;
    char servers[512];
    char fake[96];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    struct toolrack_error err;
    (void)snprintf(fake, sizeof fake, "%s/fake", setup->root);
    (void)snprintf(servers, sizeof servers,
                   "\"x\": {\"command\": \"%s\", \"permission\": \"safe\"}", fake);
    start(setup, servers);
    assert_true(is_logged(setup, "toolrack: cannot start"));
    assert_int_equal(symlink(FAKE_SERVER, fake), 0);
    start(setup, NULL);
    assert_true(is_logged(setup, "toolrack: cannot start"));
    assert_true(is_logged(setup, "this was found earlier: it is tried again in"));
    assert_false(has_tool(setup, "x_echo"));
    assert_int_equal(toolrack_reload(setup->host, "mcp.x", &report, &err), 0);
    expect(setup, "x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    (void)snprintf(servers, sizeof servers, "\"x\": {\"command\": \"%s\", \"args\": [\"refuses\"]}",
                   fake);
    start(setup, servers);
    assert_true(is_logged(setup, "not today"));
    (void)snprintf(servers, sizeof servers, "\"x\": {\"command\": \"%s\", \"env\": {}}", fake);
    start(setup, servers); /* another configuration does not wait for what another one did */
    assert_true(has_tool(setup, "x_echo"));
}

struct caller {
    struct setup *setup;
    unsigned calls;
};

static void *call_often(void *user) {
    struct caller *caller = user;
    for (unsigned i = 0; i < 200; i++) {
        char got[64];
        struct toolrack_error err;
        caller->calls += call_for(caller->setup, "x_echo", "{\"text\":\"hi\"}", 20000, got,
                                  sizeof got, &err) == 0 &&
                         strcmp(got, "\"hi\"") == 0;
    }
    return NULL;
}

static void threads_share_a_server(void **state) {
    struct setup *setup = *state;
    struct caller callers[4];
    pthread_t threads[4];
    start_with(setup, "");
    for (size_t i = 0; i < 4; i++) {
        callers[i] = (struct caller){.setup = setup};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].calls, 200);
    }
}

/* ------------------------------------------------------------------- messages */

static void messages_are_checked(void **state) {
    static const struct {
        const char *text;
        const char *wrong; /* NULL: nothing */
    } cases[] = {
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", NULL},
            {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}",
             NULL},
            {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\"}", NULL},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}", NULL},
            {"", "it is no JSON"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"x\\ud83dy\\ude00\\ud83d\\ude00\"}}",
             NULL},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\\ud83d\\q\"}}", "it is no JSON"},
            {"[]", "it is no JSON object"},
            {"{\"id\":1,\"result\":{}}", "its \"jsonrpc\" is not"},
            {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", "neither a string nor a number"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1}", "not exactly one of"},
            {"{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}", "none that a request had"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}", "its \"result\" is no object"},
            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", "its \"error\" is no object"},
            {"{\"jsonrpc\":\"2.0\",\"method\":7}", "its \"method\" is no name"},
            {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[]}",
             "its \"params\" are no object"},
            {"{\"jsonrpc\":\"2.0\",\"result\":{}}", "a result without \"id\""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct message *message = NULL;
        struct toolrack_error err;
        int code = mcp_message_read(cases[i].text, strlen(cases[i].text), &message, &err);
        assert_int_equal(code, cases[i].wrong == NULL ? 0 : TOOLRACK_E_INVALID);
        assert_true(cases[i].wrong == NULL || strstr(err.message, cases[i].wrong) != NULL);
        mcp_message_destroy(message);
    }
}

#define MOUNT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            MOUNT_TEST(a_server_of_sessions),
            MOUNT_TEST(a_stateless_server),
            MOUNT_TEST(servers_that_do_not_know_the_first_question),
            MOUNT_TEST(resources_and_prompts),
            MOUNT_TEST(a_server_without_tools_is_told),
            MOUNT_TEST(resources_of_two_servers),
            MOUNT_TEST(resources_need_the_permission_of_the_server),
            MOUNT_TEST(tools_need_consent_whatever_the_hints_say),
            MOUNT_TEST(a_list_is_kept_and_a_change_of_it_is_held),
            MOUNT_TEST(what_is_kept_needs_no_server),
            MOUNT_TEST(a_list_that_changes_is_asked_for_again),
            MOUNT_TEST(evil_lists),
            MOUNT_TEST(lists_that_cost_much),
            MOUNT_TEST(a_list_that_never_rests),
            MOUNT_TEST(names_that_collide),
            MOUNT_TEST(a_question_that_imitates_ours),
            MOUNT_TEST(a_server_that_cannot_be_started_harms_no_other),
            MOUNT_TEST(a_server_that_ends_is_started_again),
            MOUNT_TEST(what_a_server_was_given_is_not_shown),
            MOUNT_TEST(placeholders_of_other_clients_are_refused),
            MOUNT_TEST(a_deadline_is_told_to_the_server),
            MOUNT_TEST(a_late_answer_is_no_fault),
            MOUNT_TEST(what_is_no_message_is_ignored),
            MOUNT_TEST(results_that_cannot_be_used),
            MOUNT_TEST(a_server_may_use_what_is_allowed),
            MOUNT_TEST(what_is_the_hosts_is_not_granted),
            MOUNT_TEST(a_secret_that_servers_may_read_is_none),
            MOUNT_TEST(a_server_does_nothing_beside_what_is_allowed),
            MOUNT_TEST(a_server_that_says_much_is_cut),
            MOUNT_TEST(what_a_server_uses_is_limited),
            MOUNT_TEST(a_tool_of_a_server_is_defined),
            MOUNT_TEST(a_failure_is_noted),
            MOUNT_TEST(threads_share_a_server),
            cmocka_unit_test(messages_are_checked),
    };
    (void)setenv("TOOLRACK_WORKER", FAKE_SERVER_WORKER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
