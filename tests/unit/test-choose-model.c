/* A model that is asked too: what it says counts where it can be right, and the rules decide where
 * it is wrong, late or not there. The provider is a thread of this program. */
#include <arpa/inet.h>
#include <pthread.h>
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
TR_PLUGIN(("counts", .flags = TR_THREAD_SAFE), "1.0.0", add, subtract)

/* --------------------------------------------------------------------------- the provider */

static int listening;
static pthread_t thread;
static _Atomic(const char *) says; /* what the model answers; NULL: nothing, ever */
static atomic_uint asked;
static char *request; /* the last one */

static void read_request(int fd) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    char bytes[4096];
    for (;;) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0) {
            break;
        }
        buf_add(&text, bytes, (size_t)n);
        const char *end = strstr(text.data, "\r\n\r\n");
        const char *length = strcasestr(text.data, "content-length:");
        if (end != NULL && length != NULL &&
            strlen(end + 4) >= strtoul(length + strlen("content-length:"), NULL, 10)) {
            break;
        }
    }
    free(request);
    request = buf_steal(&text);
}

/* In the format of Ollama: a line of JSON. */
static void write_answer(int fd, const char *text) {
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    buf_add_text(&body, "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":");
    buf_add_json_string(&body, text, strlen(text));
    buf_add_text(&body, "},\"done\":true,\"done_reason\":\"stop\"}\n");
    buf_printf(&all,
               "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n\r\n%s",
               body.length, body.data);
    (void)!write(fd, all.data, all.length);
}

static void *provide(void *user) {
    (void)user;
    for (;;) {
        int fd = accept(listening, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        read_request(fd);
        atomic_fetch_add(&asked, 1);
        const char *text = atomic_load(&says);
        if (text != NULL) {
            write_answer(fd, text);
        } else {
            char byte;
            (void)!read(fd, &byte, 1); /* until the client gives up */
        }
        (void)close(fd);
    }
}

/* --------------------------------------------------------------------------------- a host */

static char dir[64];
static struct toolrack *host;
static struct toolrack_error err;
static yyjson_doc *answer;

static unsigned short listen_somewhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listening, 8) != 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) != 0) {
        return 0;
    }
    return ntohs(address.sin_port);
}

static void open_host(const char *settings) {
    char path[96];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)snprintf(path, sizeof path, "%s/toolrack.json", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "{\"choose\": {%s}}", settings);
    (void)fclose(file);
    options.config_file = path;
    options.state_dir = "";
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    if (toolrack_open(&options, &host, &err) != 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    (void)setenv("no_proxy", "127.0.0.1", 1);
    char settings[256];
    unsigned short port = mkdtemp(dir) != NULL ? listen_somewhere() : 0;
    if (port == 0 || pthread_create(&thread, NULL, provide, NULL) != 0) {
        return -1;
    }
    (void)snprintf(settings, sizeof settings,
                   "\"endpoint\": \"http://127.0.0.1:%u\", \"model\": \"m\", \"format\": "
                   "\"ollama\", \"timeout_ms\": 1000",
                   port);
    open_host(settings);
    atomic_store(&asked, 0);
    return 0;
}

static int tear_down(void **state) {
    char command[96];
    (void)state;
    toolrack_close(host);
    (void)shutdown(listening, SHUT_RDWR);
    (void)pthread_join(thread, NULL);
    (void)close(listening);
    free(STEAL(request));
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

static void what_a_model_says_counts(void **state) {
    (void)state;
    atomic_store(&says, "Sure: {\"scene\":\"finance\",\"intent\":\"compare\",\"tool\":\"subtract\","
                        "\"confidence\":0.9,\"arguments\":{\"a\":9,\"b\":4}} There you are.");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"subtract\"");
    assert_at(root, "arguments", "{\"a\":9,\"b\":4}");
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
    assert_int_equal(atomic_load(&asked), 1);
    assert_non_null(strstr(request, "add the numbers 40 and 2"));
    assert_non_null(strstr(request, "Subtract two numbers"));
}

static void a_model_may_decline(void **state) {
    (void)state;
    atomic_store(&says, "{\"tool\":null,\"confidence\":0.9}");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "null");
    assert_at(root, "abstained", "true");
    assert_at(root, "steps/evaluate/by", "\"model\"");
}

/* Arguments that the schema refuses, a tool and a scene that are not there. */
static void what_cannot_be_right_is_not_taken(void **state) {
    (void)state;
    atomic_store(&says, "{\"scene\":\"nowhere\",\"intent\":7,\"tool\":\"add\",\"confidence\":7,"
                        "\"arguments\":{\"a\":\"forty\",\"b\":2}}");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "steps/scene/by", "\"rules\"");
    assert_at(root, "steps/intent/by", "\"rules\"");
    assert_at(root, "steps/evaluate/by", "\"model\"");
    assert_at(root, "steps/arguments/by", "\"rules\"");
    atomic_store(&says, "{\"tool\":\"rm\",\"arguments\":{\"a\":1,\"b\":1}}");
    root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "steps/evaluate/by", "\"rules\"");
    assert_explained(root, "Nothing of its answer could be used");
}

static void the_rules_decide_without_an_answer(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "I do not know.", "[1]", "{\"tool\":", "{}"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        atomic_store(&says, wrong[i]);
        yyjson_val *root = choose("add the numbers 40 and 2");
        assert_at(root, "tool", "\"add\"");
        assert_at(root, "steps/evaluate/by", "\"rules\"");
    }
    /* It never answers. */
    atomic_store(&says, NULL);
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "model/problem", "\"it did not answer within 1000 ms\"");
    assert_explained(root, "The rules decided, as it did not answer: it did not answer within");
    /* It is not there. */
    toolrack_close(host);
    open_host("\"endpoint\": \"http://127.0.0.1:1\", \"model\": \"m\", \"timeout_ms\": 1000");
    root = choose("add the numbers 40 and 2");
    assert_at(root, "tool", "\"add\"");
    assert_non_null(yyjson_get_str(json_at(root, "model/problem")));
}

/* Only for the steps that the configuration names. */
static void steps_are_those_of_the_configuration(void **state) {
    (void)state;
    char settings[256];
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(settings, sizeof settings,
                   "\"endpoint\": \"http://127.0.0.1:%u\", \"model\": \"m\", \"format\": "
                   "\"ollama\", \"steps\": [\"intent\"]",
                   ntohs(address.sin_port));
    toolrack_close(host);
    open_host(settings);
    atomic_store(&says, "{\"scene\":\"finance\",\"intent\":\"compare\",\"tool\":\"subtract\","
                        "\"arguments\":{\"a\":9,\"b\":4}}");
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
    assert_int_equal(atomic_load(&asked), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(what_a_model_says_counts),
            TEST(a_model_may_decline),
            TEST(what_cannot_be_right_is_not_taken),
            TEST(the_rules_decide_without_an_answer),
            TEST(steps_are_those_of_the_configuration),
            TEST(scenes_come_from_the_configuration),
    };
    int failed = cmocka_run_group_tests_name("choose-model", tests, NULL, NULL);
    answer_schema_finish();
    return failed;
}
