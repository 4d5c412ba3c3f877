#include "provider.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "patience.h"

extern char **environ;

static pid_t provider;
static int provider_input;
char endpoint[64];

static const char *const key_variables[] = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY",
                                            "GOOGLE_API_KEY"};

void set_keys(const char *key) {
    for (size_t i = 0; i < sizeof key_variables / sizeof key_variables[0]; i++) {
        assert_int_equal(setenv(key_variables[i], key, 1), 0);
    }
}

int start_provider(void **state) {
    (void)state;
    const char *node = getenv("E2E_NODE");
    if (node == NULL || node[0] == '\0') {
        return 0;
    }
    char *argv[] = {strdup(node), strdup(getenv("E2E_PROVIDER")), NULL};
    int in[2];
    int out[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, in[0], 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, out[1], 1) != 0 ||
        posix_spawn(&provider, node, &actions, NULL, argv, environ) != 0) {
        return -1;
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(out[1]);
    provider_input = in[1];
    char port[16] = {0};
    for (size_t length = 0; length + 1 < sizeof port && strchr(port, '\n') == NULL;) {
        ssize_t n = read(out[0], port + length, sizeof port - 1 - length);
        if (n <= 0) {
            return -1;
        }
        length += (size_t)n;
    }
    (void)close(out[0]);
    free(argv[0]);
    free(argv[1]);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%ld", strtol(port, NULL, 10));
    return 0;
}

int stop_provider(void **state) {
    (void)state;
    if (provider > 0) {
        (void)close(provider_input);
        int status;
        (void)patience_child(provider, &status);
        provider = 0;
    }
    return 0;
}

void need_provider(void) {
    if (provider == 0) {
        print_message(
                "there is no node to run the fake provider: nothing is tested of the agent\n");
        skip();
    }
}

/* What it answers to a request without a body. */
static const char *ask_provider(const char *method) {
    const char *port = strrchr(endpoint, ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char request[80];
    static char text[1 << 20];
    size_t length = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int size = snprintf(request, sizeof request, "%s /requests HTTP/1.0\r\nHost: localhost\r\n\r\n",
                        method);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(fd, request, (size_t)size), size);
    for (ssize_t n; (n = read(fd, text + length, sizeof text - 1 - length)) > 0;) {
        length += (size_t)n;
    }
    text[length] = '\0';
    (void)close(fd);
    const char *body = strstr(text, "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

yyjson_doc *requests(void) {
    const char *body = ask_provider("GET");
    yyjson_doc *doc = yyjson_read(body, strlen(body), 0);
    assert_non_null(doc);
    return doc;
}

void forget_requests(void) {
    (void)ask_provider("DELETE");
}

int set_up(void **state) {
    if (provider > 0) {
        forget_requests();
        set_keys(KEY);
    }
    return e2e_setup(state);
}

size_t request_count(void) {
    yyjson_doc *doc = requests();
    size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return count;
}

void expect_requests(const char *file, int line, const char *const *pairs) {
    yyjson_doc *doc = requests();
    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        char *text = yyjson_val_write(yyjson_doc_ptr_get(doc, pairs[i]), 0, NULL);
        expect_match(file, line, text != NULL ? text : "", pairs[i + 1]);
        free(text);
    }
    yyjson_doc_free(doc);
}
