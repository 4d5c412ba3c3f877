/* A model that is asked too: what it says counts where it can be right, and the rules decide where
 * it is wrong, late or not there. The provider is a thread of this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <yyjson.h>

#include "answer-schema.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "choose/model.h"
#include "provider.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "the first number"),
        (TR_F64, b, "the second number"))
static double subtract(double a, double b) {
    return a - b;
}
TR_TOOL(subtract, "Subtract two numbers", TR_F64, (TR_F64, a, "the first number"),
        (TR_F64, b, "the second number"))
static tr_status deploy(struct tr_call *call) {
    return tr_reply_text(call, "deployed");
}
TR_JSON_TOOL(deploy, ("Deploy an application"), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "environment" : {"enum" : [ "production", "staging" ]},
                     "replicas" : {"type" : "integer", "default" : 3},
                     "folder" : {"type" : "string"}
                 },
                 "required" : ["environment"]
             }))
static tr_status send_mail(struct tr_call *call) {
    return tr_reply_text(call, "sent");
}
TR_JSON_TOOL(send_mail,
             ("Send an email to the first recipient of a letter, in the name of whoever asks"),
             TR_SCHEMA({
                 "type" : "object",
                 "properties" :
                         {"pass" : {"type" : "string", "writeOnly" : true, "default" : "hunter2"}}
             }))
TR_PLUGIN(("counts", .flags = TR_THREAD_SAFE), "1.0.0", add, subtract, send_mail, deploy)

/* --------------------------------------------------------------------------- the provider */

static _Atomic(const char *) says; /* what the model answers */

/* In the format of Ollama: a line of JSON. */
static void answer_ollama(int fd, const char *body) {
    const char *text = atomic_load(&says);
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    (void)body;
    buf_add_text(&line, "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":");
    buf_add_json_string(&line, text, strlen(text));
    buf_add_text(&line, "},\"done\":true,\"done_reason\":\"stop\"}\n");
    provider_write(fd, "200 OK", "Content-Type: application/x-ndjson\r\n", line.data, line.length);
}

static void say(const char *text) {
    atomic_store(&says, text);
    provider_set(answer_ollama);
}

/* --------------------------------------------------------------------------------- a host */

static char dir[64];
static struct toolrack *host;
static struct toolrack_error err;
static yyjson_doc *answer;
static unsigned short port;

static int try_open(const char *settings) {
    char path[96];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)snprintf(path, sizeof path, "%s/toolrack.json", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "{\"choose\": {%s}, \"models\": {\"named\": {\"endpoint\": "
                  "\"http://127.0.0.1:%u\", \"model\": \"m\", \"format\": \"ollama\"}}}",
                  settings, port);
    (void)fclose(file);
    options.config_file = path;
    options.state_dir = "";
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    return toolrack_open(&options, &host, &err);
}

static void open_host(const char *settings) {
    if (try_open(settings) != 0 || toolrack_register(host, &toolrack_plugin, NULL, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

static void open_host_with(unsigned timeout_ms) {
    char settings[256];
    (void)snprintf(settings, sizeof settings,
                   "\"endpoint\": \"http://127.0.0.1:%u\", \"model\": \"m\", \"format\": "
                   "\"ollama\", \"timeout_ms\": %u",
                   port, timeout_ms);
    toolrack_close(host);
    open_host(settings);
}

/* So long that an answer is there in time on any machine, and so short that a test is over soon
 * where none comes. */
#define LONG_MS  20000u
#define SHORT_MS 200u

static int set_up(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    port = mkdtemp(dir) != NULL ? provider_start() : 0;
    if (port == 0) {
        return -1;
    }
    open_host_with(LONG_MS);
    return 0;
}

static int tear_down(void **state) {
    char command[96];
    (void)state;
    toolrack_close(STEAL(host));
    provider_stop();
    yyjson_doc_free(STEAL(answer));
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static yyjson_val *choose(const char *text) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *given = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = text;
    options.explain = 1;
    if (toolrack_select(host, &options, &given, &err) != 0) {
        fail_msg("%s", err.message);
    }
    const char *data = toolrack_text_data(given, &length);
    yyjson_doc_free(answer);
    answer = yyjson_read(data, length, 0);
    assert_answer(yyjson_doc_get_root(answer));
    return yyjson_doc_get_root(answer);
}

static void assert_at(yyjson_val *root, const char *path, const char *wanted) {
    CLEANUP(freep) char *text = yyjson_val_write(json_at(root, path), 0, NULL);
    if (text == NULL || strcmp(text, wanted) != 0) {
        CLEANUP(freep) char *all = yyjson_val_write(root, YYJSON_WRITE_PRETTY, NULL);
        fail_msg("%s is %s, not %s: %s", path, text != NULL ? text : "missing", wanted, all);
    }
}

static void assert_explained(yyjson_val *root, const char *part) {
    const char *text = yyjson_get_str(json_at(root, "explanation"));
    if (text == NULL || strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text != NULL ? text : "nothing");
    }
}

/* --------------------------------------------------------------------------------- tests */

/* Not even to the model that chooses. */
static void the_default_of_a_secret_stays_here(void **state) {
    (void)state;
    say("{\"tool\":\"send_mail\",\"confidence\":0.9,\"arguments\":{}}");
    (void)choose("send an email to the first recipient");
    assert_int_equal(provider_asked(), 1);
    assert_non_null(strstr(provider_request(), "writeOnly"));
    assert_null(strstr(provider_request(), "hunter2"));
}

static void what_a_model_says_counts(void **state) {
    (void)state;
    say("Sure: {\"scene\":\"finance\",\"intent\":\"compare\",\"tool\":\"subtract\","
        "\"confidence\":0.9,\"arguments\":{\"a\":40,\"b\":2}} There you are.");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"subtract\"");
    assert_at(root, "arguments", "{\"a\":40,\"b\":2}");
    assert_at(root, "assumed", "[]");
    assert_at(root, "question", "null");
    assert_at(root, "ready", "true");
    assert_at(root, "confidence", "0.9");
    assert_at(root, "steps/scene/id", "\"finance\"");
    assert_at(root, "steps/scene/by", "\"model\"");
    assert_at(root, "steps/intent/id", "\"compare\"");
    assert_at(root, "steps/match/by", "\"rules\"");
    assert_at(root, "steps/evaluate/by", "\"model\"");
    assert_at(root, "steps/arguments/by", "\"model\"");
    assert_at(root, "model/name", "\"m\"");
    assert_at(root, "model/problem", "null");
    assert_explained(root, "were sent to http://127.0.0.1:");
    assert_int_equal(provider_asked(), 1);
    assert_non_null(strstr(provider_request(), "add the numbers 40 and 2"));
    assert_non_null(strstr(provider_request(), "Subtract two numbers"));
}

/* What the scene would leave out. */
static void what_a_model_names_is_not_left_out(void **state) {
    (void)state;
    say("{}");
    yyjson_val *root = choose("calculate the sum of the first two numbers, add 40 and 2");
    assert_at(root, "steps/scene/narrowed", "{\"from\":3,\"to\":2}");
    say("{\"tool\":\"send_mail\",\"confidence\":0.9}");
    root = choose("calculate the sum of the first two numbers, add 40 and 2");
    assert_at(root, "tool", "\"send_mail\"");
    assert_at(root, "steps/scene/narrowed", "{\"from\":3,\"to\":3}");
}

static void a_model_may_decline(void **state) {
    (void)state;
    say("{\"tool\":null,\"confidence\":0.9}");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "null");
    assert_at(root, "abstained", "true");
    assert_at(root, "steps/evaluate/by", "\"model\"");
}

/* Arguments that the schema refuses, a tool and a scene that are not there. */
static void what_cannot_be_right_is_not_taken(void **state) {
    (void)state;
    say("{\"scene\":\"nowhere\",\"intent\":7,\"tool\":\"add\",\"confidence\":0.9,"
        "\"arguments\":{\"a\":\"forty\",\"b\":2}}");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "steps/scene/by", "\"rules\"");
    assert_at(root, "steps/intent/by", "\"rules\"");
    assert_at(root, "steps/evaluate/by", "\"model\"");
    assert_at(root, "steps/arguments/by", "\"rules\"");
    assert_explained(root, "What it decided is said above. But its arguments are refused: a ");
    say("{\"tool\":\"rm\",\"confidence\":1,\"arguments\":{\"a\":1,\"b\":1}}");
    root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "steps/evaluate/by", "\"rules\"");
    assert_explained(root, "Nothing of its answer could be used");
}

/* A model that is certain in a way that there is not is not believed. */
static void a_confidence_is_from_0_to_1(void **state) {
    (void)state;
    static const char *const wrong[] = {"-5", "1.01", "\"low\"", "null", "[1]", "1e999", "true"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        char text[96];
        open_host_with(LONG_MS); /* one that has not failed */
        (void)snprintf(text, sizeof text, "{\"tool\":\"subtract\",\"confidence\":%s}", wrong[i]);
        say(text);
        yyjson_val *root = choose("add the numbers 40 and 2");
        assert_at(root, "tool", "\"add\"");
        assert_at(root, "steps/evaluate/by", "\"rules\"");
        assert_explained(root, i == 5 ? "its answer is no JSON object"
                                      : "its confidence is no number from 0 to 1");
    }
    say("{\"tool\":\"subtract\",\"confidence\":1}");
    assert_at(choose("add the numbers 40 and 2"), "tool", "\"subtract\"");
}

/* What a model gives and nothing says is a guess: it is told and asked about, and no call is made
 * with it. */
static void what_nothing_says_is_a_guess(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *arguments;
        const char *assumed; /* "[]": the call is ready */
    } rows[] = {
            {"deploy the application to sandbox", "\"environment\":\"production\"",
             "[\"environment\"]"},
            {"never deploy the application to production, deploy it to sandbox",
             "\"environment\":\"production\"", "[\"environment\"]"},
            {"deploy the application to staging, never to production",
             "\"environment\":\"production\"", "[\"environment\"]"},
            {"deploy the application to anything except production",
             "\"environment\":\"production\"", "[\"environment\"]"},
            {"deploy the application to staging", "\"environment\":\"staging\",\"replicas\":3",
             "[]"},
            {"deploy the application to staging with two replicas",
             "\"environment\":\"staging\",\"replicas\":2", "[]"},
            {"deploy the application to staging",
             "\"environment\":\"staging\",\"replicas\":7,\"folder\":\"/etc\"",
             "[\"replicas\",\"folder\"]"},
            {"deploy the application to staging from /etc/app",
             "\"environment\":\"staging\",\"folder\":\"/etc/app\"", "[]"},
            {"deploy the application to staging from /etc/app",
             "\"environment\":\"staging\",\"folder\":\"/etc\"", "[\"folder\"]"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        buf_printf(&text, "{\"tool\":\"deploy\",\"confidence\":0.9,\"arguments\":{%s}}",
                   rows[i].arguments);
        say(text.data);
        yyjson_val *root = choose(rows[i].text);
        bool ready = strcmp(rows[i].assumed, "[]") == 0;
        assert_at(root, "tool", "\"deploy\"");
        assert_at(root, "steps/arguments/by", "\"model\"");
        assert_at(root, "assumed", rows[i].assumed);
        assert_at(root, "ready", ready ? "true" : "false");
        assert_int_equal(yyjson_is_null(json_at(root, "question")), ready);
    }
    say("{\"tool\":\"deploy\",\"confidence\":0.9,\"arguments\":{\"environment\":\"production\"}}");
    assert_at(choose("deploy the application to sandbox"), "question",
              "\"Is \\\"environment\\\" \\\"production\\\"? A model says so; the text does not.\"");
}

/* What the text refuses is refused, whatever the model says. */
static void a_refusal_holds_against_a_model(void **state) {
    (void)state;
    say("{\"tool\":\"deploy\",\"confidence\":1,\"arguments\":{\"environment\":\"production\"}}");
    yyjson_val *root = choose("never deploy the application to production");
    assert_at(root, "ready", "false");
    root = choose("don't deploy the application to production, add 40 and 2");
    assert_false(yyjson_equals_str(json_at(root, "tool"), "deploy"));
    assert_at(root, "ready", "false");
}

/* Of two that it says, none is what it means. */
static void an_unclear_answer_is_not_taken(void **state) {
    (void)state;
    static const char *const wrong[] = {
            "{\"tool\":\"subtract\"}",
            "{\"tool\":\"send_mail\",\"tool\":\"subtract\",\"confidence\":1}",
            "{\"tool\":\"subtract\",\"confidence\":1,\"confidence\":0.9}",
            "{\"tool\":\"subtract\",\"confidence\":1,\"arguments\":{\"a\":1,\"a\":2,\"b\":3}}"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        open_host_with(LONG_MS); /* one that has not failed */
        say(wrong[i]);
        yyjson_val *root = choose("add the numbers 40 and 2");
        assert_at(root, "tool", "\"add\"");
        assert_at(root, "arguments", "{\"a\":40,\"b\":2}");
        assert_at(root, "steps/evaluate/by", "\"rules\"");
        assert_true(yyjson_is_str(json_at(root, "model/problem")));
    }
}

static void the_rules_decide_without_an_answer(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "I do not know.", "[1]", "{\"tool\":", "{}"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        say(wrong[i]);
        yyjson_val *root = choose("add the numbers 40 and 2");
        assert_at(root, "tool", "\"add\"");
        assert_at(root, "steps/evaluate/by", "\"rules\"");
    }
    /* It never answers. */
    provider_set(NULL);
    open_host_with(SHORT_MS);
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "model/problem", "\"it did not answer within 200 ms\"");
    assert_explained(root, "The rules decided: it did not answer within");
    /* It is not there. */
    toolrack_close(host);
    open_host("\"endpoint\": \"http://127.0.0.1:1\", \"model\": \"m\", \"timeout_ms\": 1000");
    root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_non_null(yyjson_get_str(json_at(root, "model/problem")));
    assert_at(root, "model/candidates", "0");
    assert_explained(root, "nothing was sent: the provider cannot be reached");
}

/* What comes of a status that is none of success, of a redirect, and of bytes without an end. */
static const char *status;

static void answer_status(int fd, const char *body) {
    (void)body;
    provider_write(fd, status, "Location: /elsewhere\r\n", "{\"error\":\"it is broken\"}", 24);
}

static const char page[] = "<!DOCTYPE html>\n<html><body>Welcome</body></html>\n";

static void answer_page(int fd, const char *body) {
    (void)body;
    provider_write(fd, "200 OK", "Content-Type: text/html\r\n", page, sizeof page - 1);
}

static void answer_page_instead(int fd, const char *body) {
    (void)body;
    provider_write(fd, "400 Bad Request", "Content-Type: text/html\r\n", page, sizeof page - 1);
}

static void answer_slowly(int fd, const char *body) {
    (void)body;
    (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    while (send(fd, "\n", 1, MSG_NOSIGNAL) == 1) {
        (void)usleep(20000);
    }
}

static void answer_without_end(int fd, const char *body) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    (void)body;
    (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    buf_add_text(&line, "{\"message\":{\"role\":\"assistant\",\"content\":\"");
    for (size_t i = 0; i < 1000; i++) {
        buf_add_text(&line, "{\\\"tool\\\":");
    }
    buf_add_text(&line, "\"},\"done\":false}\n");
    while (send(fd, line.data, line.length, MSG_NOSIGNAL) > 0) {
    }
}

/* It thinks, and says nothing. */
static void think_without_end(int fd, const char *body) {
    static const char line[] = "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":"
                               "\"Let me see.\"},\"done\":false}\n";
    (void)body;
    (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    while (send(fd, line, sizeof line - 1, MSG_NOSIGNAL) > 0) {
    }
}

static void send_header_without_end(int fd, const char *body) {
    char line[4096];
    (void)body;
    memset(line, 'a', sizeof line);
    memcpy(line, "X: ", 3);
    memcpy(line + sizeof line - 2, "\r\n", 2);
    (void)!write(fd, "HTTP/1.1 200 OK\r\n", 17);
    while (send(fd, line, sizeof line, MSG_NOSIGNAL) > 0) {
    }
}

static void the_rules_decide_after_a_failure(void **state) {
    (void)state;
    static const struct {
        provider_answer answer;
        const char *status;
        const char *problem;
        unsigned asked;
        unsigned timeout_ms;
    } rows[] = {
            {answer_status, "500 Internal Server Error", "answers 500: it is broken", 1, LONG_MS},
            {answer_page, NULL, "a page of HTML", 1, LONG_MS},
            {answer_page_instead, NULL, "a page of HTML", 1, LONG_MS},
            {answer_status, "401 Unauthorized", "answers 401: it is broken", 1, LONG_MS},
            {answer_status, "307 Temporary Redirect",
             "give the final URL as \"endpoint\" of \"choose\"", 1, LONG_MS},
            {answer_slowly, NULL, "it did not answer within 200 ms", 1, SHORT_MS},
            {think_without_end, NULL, "response is longer than 2097152 bytes", 1, LONG_MS},
            {send_header_without_end, NULL, "the header of the provider's response is longer than",
             1, LONG_MS},
            {answer_without_end, NULL, "its answer is longer than 262144 bytes", 1, LONG_MS}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        unsigned before = provider_asked();
        status = rows[i].status;
        provider_set(rows[i].answer);
        open_host_with(rows[i].timeout_ms);
        yyjson_val *root = choose("add the numbers 40 and 2");
        assert_at(root, "tool", "\"add\"");
        assert_at(root, "steps/evaluate/by", "\"rules\"");
        const char *problem = yyjson_get_str(json_at(root, "model/problem"));
        if (problem == NULL || strstr(problem, rows[i].problem) == NULL) {
            fail_msg("%zu: %s", i, problem != NULL ? problem : "no problem");
        }
        assert_int_equal(provider_asked() - before, rows[i].asked);
    }
}

/* A model that fails again and again is left alone, and that is told. */
static void it_rests_after_failures(void **state) {
    (void)state;
    status = "500 Internal Server Error";
    provider_set(answer_status);
    for (unsigned i = 0; i < ASSIST_PATIENCE; i++) {
        (void)choose("add the numbers 40 and 2");
    }
    unsigned before = provider_asked();
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "model/candidates", "0");
    assert_explained(root, "nothing was sent: it is left alone for ");
    assert_explained(root, "answers 500: it is broken");
    assert_int_equal(provider_asked(), before);
}

/* A text that is no UTF-8 and one that looks like JSON. */
static void any_text_is_sent(void **state) {
    (void)state;
    say("{\"tool\":\"subtract\",\"confidence\":0.9}");
    yyjson_val *root = choose("add the numbers \xff\xfe \"}]} 40 and 2");
    assert_at(root, "tool", "\"subtract\"");
    assert_non_null(strstr(provider_request(), "add the numbers \xef\xbf\xbd"));
}

/* Arguments without an end of their levels are no arguments. */
static void levels_are_bounded(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"tool\":\"add\",\"arguments\":{\"a\":1,\"b\":2,\"c\":");
    for (size_t i = 0; i < 20000; i++) {
        buf_add_char(&text, '[');
    }
    for (size_t i = 0; i < 20000; i++) {
        buf_add_char(&text, ']');
    }
    buf_add_text(&text, "}}");
    say(text.data);
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "arguments", "{\"a\":40,\"b\":2}");
    assert_at(root, "model/problem", "\"its answer is no JSON object\"");
}

/* The same answer in the five formats, as `toolrack agent` reads them. */
#define SAID "{\\\"tool\\\":\\\"subtract\\\",\\\"confidence\\\":0.9}"

static const struct {
    const char *name;
    const char *path;
    const char *answer;
} formats[] = {
        {"openai", "POST /v1/chat/completions ",
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" SAID "\"}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
         "data: [DONE]\n\n"},
        {"openai-responses", "POST /v1/responses ",
         "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"" SAID
         "\"}\n\n"
         "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":"
         "\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" SAID "\"}]}]}}\n\n"},
        {"anthropic", "POST /v1/messages ",
         "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
         "\"text\":\"\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
         "\"text\":\"" SAID "\"}}\n\n"
         "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
         "data: {\"type\":\"message_stop\"}\n\n"},
        {"gemini", "POST /v1beta/models/m:streamGenerateContent?alt=sse ",
         "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"" SAID
         "\"}]},\"finishReason\":\"STOP\"}]}\n\n"},
        {"ollama", "POST /api/chat ",
         "{\"message\":{\"role\":\"assistant\",\"content\":\"" SAID
         "\"},\"done\":true,\"done_reason\":\"stop\"}\n"}};

static size_t format;

static void answer_format(int fd, const char *body) {
    (void)body;
    provider_write(fd, "200 OK", "", formats[format].answer, strlen(formats[format].answer));
}

static void each_format_is_spoken(void **state) {
    (void)state;
    for (format = 0; format < ARRAY_LENGTH(formats); format++) {
        char settings[256];
        (void)snprintf(
                settings, sizeof settings,
                "\"endpoint\": \"http://127.0.0.1:%u\", \"model\": \"m\", \"format\": \"%s\"", port,
                formats[format].name);
        toolrack_close(host);
        open_host(settings);
        provider_set(answer_format);
        yyjson_val *root = choose("add the numbers 40 and 2");
        assert_at(root, "model/problem", "null");
        assert_at(root, "tool", "\"subtract\"");
        assert_at(root, "steps/evaluate/by", "\"model\"");
        assert_int_equal(
                strncmp(provider_request(), formats[format].path, strlen(formats[format].path)), 0);
    }
}

/* A model of the configuration, by its name there. */
static void a_model_is_asked_by_its_name(void **state) {
    (void)state;
    toolrack_close(host);
    open_host("\"model\": \"named\", \"timeout_ms\": 60000");
    say("{\"tool\":\"subtract\",\"confidence\":0.9}");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "model/problem", "null");
    assert_at(root, "model/name", "\"m\"");
    assert_at(root, "steps/evaluate/by", "\"model\"");
    assert_non_null(strstr(provider_request(), "\"model\":\"m\""));
}

/* Only for the steps that the configuration names. */
static void steps_are_those_of_the_configuration(void **state) {
    (void)state;
    char settings[256];
    (void)snprintf(settings, sizeof settings,
                   "\"endpoint\": \"http://127.0.0.1:%u\", \"model\": \"m\", \"format\": "
                   "\"ollama\", \"steps\": [\"intent\"]",
                   port);
    toolrack_close(host);
    open_host(settings);
    say("{\"scene\":\"finance\",\"intent\":\"compare\",\"tool\":\"subtract\","
        "\"confidence\":0.9,\"arguments\":{\"a\":9,\"b\":4}}");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "steps/intent/id", "\"compare\"");
    assert_at(root, "steps/scene/by", "\"rules\"");
    assert_at(root, "steps/evaluate/by", "\"rules\"");
}

/* Words of an administrator lead to scenes. */
static void scenes_come_from_the_configuration(void **state) {
    (void)state;
    toolrack_close(host);
    open_host("\"scenes\": {\"fleet\": {\"name_zh\": \"\xe8\xbd\xa6\xe9\x98\x9f\", \"words\": "
              "[\"lorry\", \"\xe5\x8d\xa1\xe8\xbd\xa6\"]}}");
    yyjson_val *root = choose("where is lorry 7");
    assert_at(root, "steps/scene/id", "\"fleet\"");
    assert_at(root, "steps/scene/name_zh", "\"\xe8\xbd\xa6\xe9\x98\x9f\"");
    assert_at(choose("\xe5\x8d\xa1\xe8\xbd\xa6\xe5\x9c\xa8\xe5\x93\xaa\xe9\x87\x8c"),
              "steps/scene/id", "\"fleet\"");
    assert_at(yyjson_doc_get_root(answer), "model", "null");
    assert_explained(yyjson_doc_get_root(answer), "nothing was sent anywhere");
    assert_int_equal(provider_asked(), 0);
}

/* What is wrong is named, with an example of what is right. */
static void a_wrong_configuration_is_explained(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        const char *named;
        const char *fix;
    } rows[] = {{"\"scenes\": {\"Bad Id\": {\"words\": [\"a\"]}}", "/choose/scenes/Bad Id must",
                 "\"scenes\": {"},
                {"\"endpoint\": \"http://127.0.0.1:1\"", "\"model\" is missing",
                 "\"choose\": {\"endpoint\":"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        toolrack_close(STEAL(host));
        assert_int_equal(try_open(rows[i].settings), TOOLRACK_E_INVALID);
        if (strstr(err.message, rows[i].named) == NULL ||
            strstr(err.message, rows[i].fix) == NULL) {
            fail_msg("%s", err.message);
        }
    }
}

/* A key in an address would be shown wherever it is said what was sent where. */
static void an_address_has_no_key(void **state) {
    (void)state;
    static const char *const addresses[] = {"http://me:hunter2@127.0.0.1", "https://hunter2@a.b/v1",
                                            "http://127.0.0.1/v1?key=hunter2",
                                            "http://127.0.0.1#hunter2"};
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(addresses); i++) {
        char settings[160];
        (void)snprintf(settings, sizeof settings,
                       i % 2 == 0 ? "\"endpoint\": \"%s\", \"model\": \"m\""
                                  : "\"embeddings\": {\"endpoint\": \"%s\", \"model\": \"m\"}",
                       addresses[i / 2]);
        toolrack_close(STEAL(host));
        assert_int_equal(try_open(settings), TOOLRACK_E_INVALID);
        if (strstr(err.message, "with a host and a path alone: the key is not part of it") ==
                    NULL ||
            strstr(err.message, "hunter2") != NULL) {
            fail_msg("%s", err.message);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(what_a_model_says_counts),
            TEST(the_default_of_a_secret_stays_here),
            TEST(what_a_model_names_is_not_left_out),
            TEST(a_model_may_decline),
            TEST(what_cannot_be_right_is_not_taken),
            TEST(what_nothing_says_is_a_guess),
            TEST(a_refusal_holds_against_a_model),
            TEST(an_unclear_answer_is_not_taken),
            TEST(the_rules_decide_without_an_answer),
            TEST(the_rules_decide_after_a_failure),
            TEST(it_rests_after_failures),
            TEST(a_confidence_is_from_0_to_1),
            TEST(any_text_is_sent),
            TEST(levels_are_bounded),
            TEST(each_format_is_spoken),
            TEST(a_model_is_asked_by_its_name),
            TEST(steps_are_those_of_the_configuration),
            TEST(scenes_come_from_the_configuration),
            TEST(a_wrong_configuration_is_explained),
            TEST(an_address_has_no_key),
    };
    int failed = cmocka_run_group_tests_name("choose-model", tests, NULL, NULL);
    answer_schema_finish();
    return failed;
}
