/* MCP servers of the web as plugins: a host, and a server of HTTP that behaves, or does not. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "patience.h"
#include "remote/mcp/mirror.h"
#include "remote/mcp/oauth.h"
#include "remote/mcp/secrets.h"
#include "remote/mcp/sse.h"
#include "remove-tree.h"
#include "toolrack/toolrack.h"

#define CONNECTIONS_MAX 64

struct setup {
    char root[64];
    char config[96];
    char state[96];
    struct toolrack *host;
    /* The server. */
    _Atomic(const char *) mode;
    int listener;
    unsigned port;
    pthread_t thread;
    pthread_t threads[CONNECTIONS_MAX];
    int fds[CONNECTIONS_MAX];
    unsigned connections;
    pthread_mutex_t lock; /* guards what follows */
    char seen[262144];    /* each request, its head and its body */
    char lines[65536];
    atomic_uint tokens;
    bool is_forgotten; /* the session */
    int unasked;       /* the stream of what is said unasked; -1: none */
};

/* ------------------------------------------------------------------- server */

struct connection {
    struct setup *setup;
    int fd;
    char head[16384];
    char body[65536];
};

static bool is(const struct setup *setup, const char *mode) {
    return strcmp(atomic_load(&setup->mode), mode) == 0;
}

static void say(int fd, const char *text) {
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void respond(int fd, const char *status, const char *headers, const char *body) {
    char head[2048];
    (void)snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status,
                   headers, strlen(body));
    say(fd, head);
    say(fd, body);
}

static void respond_json(int fd, const char *body) {
    respond(fd, "200 OK", "Content-Type: application/json\r\n", body);
}

static void begin_stream(int fd) {
    say(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
}

static bool has(const struct connection *of, const char *header) {
    return strcasestr(of->head, header) != NULL;
}

/* @return whether there was a request */
static bool read_request(struct connection *of) {
    size_t length = 0;
    char *end = NULL;
    of->head[0] = '\0';
    while (end == NULL && length < sizeof of->head - 1) {
        ssize_t got = recv(of->fd, of->head + length, sizeof of->head - 1 - length, 0);
        if (got <= 0) {
            return false;
        }
        length += (size_t)got;
        of->head[length] = '\0';
        end = strstr(of->head, "\r\n\r\n");
    }
    const char *stated = strcasestr(of->head, "content-length:");
    size_t size = stated != NULL ? strtoul(stated + 15, NULL, 10) : 0;
    size_t have = end != NULL ? length - (size_t)(end + 4 - of->head) : 0;
    if (end == NULL || size >= sizeof of->body || have > size) {
        return false;
    }
    memcpy(of->body, end + 4, have);
    end[4] = '\0';
    while (have < size) {
        ssize_t got = recv(of->fd, of->body + have, size - have, 0);
        if (got <= 0) {
            return false;
        }
        have += (size_t)got;
    }
    of->body[size] = '\0';
    return true;
}

static void note(struct setup *setup, const struct connection *of) {
    (void)pthread_mutex_lock(&setup->lock);
    size_t length = strlen(setup->seen);
    (void)snprintf(setup->seen + length, sizeof setup->seen - length, "%s%s\n", of->head, of->body);
    (void)pthread_mutex_unlock(&setup->lock);
}

static bool was_seen(struct setup *setup, const char *words) {
    (void)pthread_mutex_lock(&setup->lock);
    bool found = strstr(setup->seen, words) != NULL;
    (void)pthread_mutex_unlock(&setup->lock);
    return found;
}

static void answer(int fd, unsigned long id, const char *result) {
    char text[4096];
    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":%s}", id, result);
    respond_json(fd, text);
}

static void event(int fd, const char *id, unsigned long number, const char *result) {
    char text[4096];
    (void)snprintf(text, sizeof text,
                   "id: %s\ndata: {\"jsonrpc\":\"2.0\",\"id\":%lu,\ndata: \"result\":%s}\n\n", id,
                   number, result);
    say(fd, text);
}

#define TEXT(words) "{\"content\":[{\"type\":\"text\",\"text\":\"" words "\"}]}"
#define TOOLS                                                                                    \
    "{\"tools\":[{\"name\":\"echo\",\"description\":\"Say it again\",\"inputSchema\":{\"type\":" \
    "\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Text\"}}}},"    \
    "{\"name\":\"bad\",\"description\":\"Not valid\",\"inputSchema\":{\"type\":\"object\","      \
    "\"properties\":{\"a\":{\"type\":\"array\",\"x-mcp-header\":\"A\"}}}}%s]}"

static void send_for_ever(int fd, const char *text) {
    size_t length = strlen(text);
    while (send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length) {
    }
}

static void ask_client(int fd, const char *method, const char *params) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\",\"params\":%s}\n\n",
                   method, params);
    say(fd, text);
}

/* Until the client has closed the connection. */
static void await_close(int fd) {
    char byte;
    while (recv(fd, &byte, 1, 0) > 0) {
    }
}

static void wait_for_answer(struct setup *setup, int fd, unsigned long id, const char *words) {
    AWAIT(was_seen(setup, words));
    event(fd, "1", id, TEXT("answered"));
}

static void call(struct connection *of, unsigned long id) {
    struct setup *setup = of->setup;
    int fd = of->fd;
    if (is(setup, "stream")) {
        begin_stream(fd);
        say(fd, ": a comment\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
                "\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"half\"}}\n\n");
        event(fd, "1", id, TEXT("streamed"));
    } else if (is(setup, "resumed")) {
        begin_stream(fd);
        say(fd, "id: here\nretry: 10\ndata: \n\n");
    } else if (is(setup, "broken-off")) {
        begin_stream(fd);
        say(fd, "data: {\"jsonrpc\":\"2.0\",\n");
    } else if (is(setup, "asks")) {
        begin_stream(fd);
        ask_client(fd, "elicitation/create",
                   "{\"message\":\"Which?\",\"requestedSchema\":{\"type\":\"object\","
                   "\"properties\":{}}}");
        wait_for_answer(setup, fd, id, "\"action\":\"decline\"");
    } else if (is(setup, "samples")) {
        begin_stream(fd);
        ask_client(fd, "sampling/createMessage", "{\"messages\":[],\"maxTokens\":10}");
        wait_for_answer(setup, fd, id, "\"model\":\"m\"");
    } else if (is(setup, "silent") || is(setup, "silent-stateless")) {
        begin_stream(fd);
        await_close(fd);
        (void)pthread_mutex_lock(&setup->lock);
        strcat(setup->seen, "the call's connection was closed\n");
        (void)pthread_mutex_unlock(&setup->lock);
    } else if (is(setup, "comments")) {
        begin_stream(fd);
        send_for_ever(fd, ": nothing to say, again and again\n");
    } else if (is(setup, "endless-line")) {
        begin_stream(fd);
        send_for_ever(fd, "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    } else if (is(setup, "endless-json")) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[");
        send_for_ever(fd, "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",");
    } else if (is(setup, "endless-header")) {
        say(fd, "HTTP/1.1 200 OK\r\n");
        send_for_ever(fd, "X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n");
    } else if (is(setup, "html")) {
        respond(fd, "200 OK", "Content-Type: text/html\r\n", "<html>welcome</html>");
    } else if (is(setup, "wrong-id")) {
        answer(fd, 987654, TEXT("other"));
    } else if (is(setup, "accepted")) {
        respond(fd, "202 Accepted", "", "");
    } else if (is(setup, "refused")) {
        respond(fd, "400 Bad Request", "Content-Type: application/json\r\n",
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"no\"}}");
    } else if (is(setup, "tells-secret")) {
        char said[1024];
        const char *at = strcasestr(of->head, "x-key: ");
        (void)snprintf(said, sizeof said, "you sent %.*s", at != NULL ? (int)strcspn(at, "\r") : 0,
                       at != NULL ? at : "");
        respond(fd, "500 Internal Server Error", "Content-Type: text/plain\r\n", said);
    } else if (is(setup, "redirect-here")) {
        respond(fd, "307 Temporary Redirect", "Location: /other\r\n", "");
    } else if (is(setup, "redirect-there")) {
        respond(fd, "307 Temporary Redirect", "Location: http://127.0.0.2:1/mcp\r\n", "");
    } else {
        answer(fd, id, TEXT("said"));
    }
}

static void serve_stateful(struct connection *of, const char *method, unsigned long id) {
    struct setup *setup = of->setup;
    bool knows = has(of, "\r\nMcp-Session-Id: session-1\r\n") ||
                 has(of, "\r\nMcp-Session-Id: session-2\r\n");
    (void)pthread_mutex_lock(&setup->lock);
    bool forgets = setup->is_forgotten && strcmp(method, "tools/call") == 0;
    setup->is_forgotten = setup->is_forgotten && !forgets;
    (void)pthread_mutex_unlock(&setup->lock);
    if (strcmp(method, "initialize") == 0) {
        char head[128];
        (void)snprintf(head, sizeof head,
                       "Content-Type: application/json\r\nMcp-Session-Id: session-%d\r\n",
                       was_seen(setup, "session-1") ? 2 : 1);
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":{\"protocolVersion\":"
                       "\"2025-06-18\",\"capabilities\":{\"tools\":{\"listChanged\":true}},"
                       "\"serverInfo\":{\"name\":\"f\",\"version\":\"1.0.0\"}}}",
                       id);
        respond(of->fd, "200 OK", head, text);
    } else if (forgets || !knows) {
        respond(of->fd, knows ? "404 Not Found" : "400 Bad Request", "", "");
    } else if (strcmp(method, "tools/list") == 0) {
        char tools[1024];
        (void)snprintf(tools, sizeof tools, TOOLS,
                       was_seen(setup, "changed now")
                               ? ",{\"name\":\"more\",\"description\":\"New\",\"inputSchema\":"
                                 "{\"type\":\"object\"}}"
                               : "");
        answer(of->fd, id, tools);
    } else if (strcmp(method, "tools/call") == 0) {
        call(of, id);
    } else {
        respond(of->fd, "202 Accepted", "", "");
    }
}

static void serve_stateless(struct connection *of, const char *method, unsigned long id) {
    char tools[1024];
    (void)snprintf(tools, sizeof tools, TOOLS, "");
    if (strcmp(method, "server/discover") == 0) {
        answer(of->fd, id,
               "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}");
    } else if (strcmp(method, "tools/list") == 0) {
        answer(of->fd, id, tools);
    } else if (strcmp(method, "tools/call") == 0) {
        call(of, id);
    } else {
        respond(of->fd, "404 Not Found", "", "");
    }
}

/* The id of the first call. */
static unsigned long id_of_call(struct setup *setup) {
    (void)pthread_mutex_lock(&setup->lock);
    const char *id = strstr(setup->seen, "\"method\":\"tools/call\"");
    while (id != NULL && id > setup->seen && strncmp(id, "\"id\":", 5) != 0) {
        id--;
    }
    unsigned long number = id != NULL ? strtoul(id + 5, NULL, 10) : 0;
    (void)pthread_mutex_unlock(&setup->lock);
    return number;
}

/* What is said unasked, or the rest of a stream that has ended. */
static void serve_get(struct connection *of) {
    struct setup *setup = of->setup;
    if (has(of, "Last-Event-ID: here")) {
        unsigned long id = id_of_call(setup);
        begin_stream(of->fd);
        event(of->fd, "there", id, TEXT("resumed"));
    } else if (is(setup, "changes")) {
        begin_stream(of->fd);
        (void)pthread_mutex_lock(&setup->lock);
        setup->unasked = of->fd;
        (void)pthread_mutex_unlock(&setup->lock);
        await_close(of->fd);
    } else {
        respond(of->fd, "405 Method Not Allowed", "", "");
    }
}

/* The authorization server, and the metadata of the other; @return whether it was one of them */
static bool serve_oauth(struct connection *of) {
    struct setup *setup = of->setup;
    char text[1024];
    if (strstr(of->head, "/.well-known/oauth-protected-resource") != NULL) {
        (void)snprintf(text, sizeof text,
                       "{\"resource\":\"http://127.0.0.1:%u/%s\",\"authorization_servers\":"
                       "[\"http://127.0.0.1:%u/as\"]}",
                       setup->port, is(setup, "oauth-other") ? "other" : "mcp", setup->port);
        respond_json(of->fd, text);
    } else if (strstr(of->head, "/.well-known/oauth-authorization-server/as") != NULL) {
        (void)snprintf(text, sizeof text,
                       "{\"issuer\":\"http://127.0.0.1:%u/as\",\"token_endpoint\":"
                       "\"http://127.0.0.1:%u/token\"}",
                       setup->port, setup->port);
        respond_json(of->fd, text);
    } else if (strncmp(of->head, "POST /token ", 12) == 0) {
        unsigned number = atomic_fetch_add(&setup->tokens, 1) + 1;
        (void)snprintf(text, sizeof text,
                       "{\"access_token\":\"the-token-%u\",\"token_type\":\"bearer\","
                       "\"refresh_token\":\"refresh-%u\",\"expires_in\":3600}",
                       number, number);
        respond_json(of->fd, text);
    } else {
        return false;
    }
    return true;
}

/* @return whether a token is missing, and that was said */
static bool wants_token(struct connection *of) {
    struct setup *setup = of->setup;
    char head[512];
    if (strncmp(atomic_load(&setup->mode), "oauth", 5) != 0) {
        return false;
    }
    bool wants_scope = is(setup, "oauth-scope") && strstr(of->body, "tools/call") != NULL &&
                       !was_seen(setup, "scope=read%20write");
    if (!has(of, "Authorization: Bearer the-token-")) {
        (void)snprintf(head, sizeof head,
                       "WWW-Authenticate: Bearer realm=\"x, y\", resource_metadata=\"http://"
                       "127.0.0.1:%u/.well-known/oauth-protected-resource\", scope=\"read\"\r\n",
                       setup->port);
        respond(of->fd, "401 Unauthorized", head, "");
        return true;
    }
    if (wants_scope) {
        respond(of->fd, "403 Forbidden",
                "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"write\"\r\n", "");
    }
    return wants_scope;
}

static void serve(struct connection *of) {
    struct setup *setup = of->setup;
    bool is_stateless = is(setup, "stateless") || is(setup, "silent-stateless");
    if (serve_oauth(of) || wants_token(of)) {
        return;
    }
    if (strncmp(of->head, "GET ", 4) == 0) {
        serve_get(of);
        return;
    }
    if (strncmp(of->head, "DELETE ", 7) == 0) {
        respond(of->fd, "200 OK", "", "");
        return;
    }
    if (strncmp(of->head, "POST /other ", 12) == 0) {
        const char *id = strstr(of->body, "\"id\":");
        answer(of->fd, id != NULL ? strtoul(id + 5, NULL, 10) : 0, TEXT("elsewhere"));
        return;
    }
    yyjson_doc *doc = yyjson_read(of->body, strlen(of->body), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *method = yyjson_get_str(yyjson_obj_get(root, "method"));
    unsigned long id = yyjson_get_uint(yyjson_obj_get(root, "id"));
    if (method == NULL) {
        respond(of->fd, "202 Accepted", "", "");
    } else if (is_stateless) {
        serve_stateless(of, method, id);
    } else {
        serve_stateful(of, method, id);
    }
    yyjson_doc_free(doc);
}

static void *serve_connection(void *user) {
    struct connection *of = user;
    while (read_request(of)) {
        note(of->setup, of);
        serve(of);
        if (has(of, "Last-Event-ID") || strstr(of->body, "tools/call") != NULL) {
            break; /* it may have been a stream */
        }
    }
    (void)shutdown(of->fd, SHUT_RDWR);
    free(of);
    return NULL;
}

static void *accept_connections(void *user) {
    struct setup *setup = user;
    int fd;
    while ((fd = accept(setup->listener, NULL, NULL)) >= 0) {
        struct connection *of = calloc(1, sizeof *of);
        *of = (struct connection){.setup = setup, .fd = fd};
        assert_true(setup->connections < CONNECTIONS_MAX);
        setup->fds[setup->connections] = fd;
        assert_int_equal(
                pthread_create(&setup->threads[setup->connections++], NULL, serve_connection, of),
                0);
    }
    return NULL;
}

static void start_server(struct setup *setup) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    setup->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(setup->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(setup->listener, 64), 0);
    assert_int_equal(getsockname(setup->listener, (struct sockaddr *)&address, &length), 0);
    setup->port = ntohs(address.sin_port);
    setup->unasked = -1;
    assert_int_equal(pthread_create(&setup->thread, NULL, accept_connections, setup), 0);
}

static void stop_server(struct setup *setup) {
    (void)shutdown(setup->listener, SHUT_RDWR);
    (void)pthread_join(setup->thread, NULL);
    for (unsigned i = 0; i < setup->connections; i++) {
        (void)shutdown(setup->fds[i], SHUT_RDWR);
        (void)pthread_join(setup->threads[i], NULL);
        (void)close(setup->fds[i]);
    }
    (void)close(setup->listener);
}

/* --------------------------------------------------------------------- host */

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
    bool found = strstr(setup->lines, words) != NULL;
    (void)pthread_mutex_unlock(&setup->lock);
    return found;
}

static int set_up(void **state) {
    struct setup *setup = calloc(1, sizeof *setup);
    *state = setup;
    (void)pthread_mutex_init(&setup->lock, NULL);
    strcpy(setup->root, "/tmp/toolrack-web-XXXXXX");
    (void)alarm(PATIENCE_S * 3);
    (void)setenv("no_proxy", "127.0.0.1", 1);
    if (mkdtemp(setup->root) == NULL) {
        return -1;
    }
    (void)snprintf(setup->config, sizeof setup->config, "%s/toolrack.json", setup->root);
    (void)snprintf(setup->state, sizeof setup->state, "%s/state", setup->root);
    setup->mode = "";
    start_server(setup);
    return 0;
}

static int teardown(void **state) {
    struct setup *setup = *state;
    toolrack_close(setup->host);
    stop_server(setup);
    (void)alarm(0);
    int code = remove_tree(setup->root);
    (void)pthread_mutex_destroy(&setup->lock);
    free(setup);
    return code;
}

/* Open a host with the server as "x", in a mode, with more members of its block. */
static void start(struct setup *setup, const char *mode, const char *more) {
    const char *const dirs[] = {setup->root, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    setup->mode = mode;
    FILE *file = fopen(setup->config, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "{\"mcpServers\": {\"x\": {\"type\": \"http\", \"url\": \"http://127.0.0.1:%u/"
                  "mcp\", \"permission\": \"safe\"%s%s}}}",
                  setup->port, more[0] != '\0' ? ", " : "", more);
    assert_int_equal(fclose(file), 0);
    options.config_file = setup->config;
    options.state_dir = setup->state;
    options.plugin_dirs = dirs;
    options.log = log_it;
    options.log_level = TOOLRACK_LOG_INFO;
    options.user = setup;
    if (toolrack_open(&options, &setup->host, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static int decide(void *user, struct toolrack_input *inputs, size_t count) {
    (void)user;
    for (size_t i = 0; i < count; i++) {
        bool is_sample = inputs[i].kind == TOOLRACK_INPUT_SAMPLE;
        inputs[i].answer = is_sample ? TOOLRACK_ANSWER_ACCEPTED : TOOLRACK_ANSWER_DECLINED;
        if (is_sample) {
            inputs[i].content = toolrack_alloc(128);
            strcpy(inputs[i].content, "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{"
                                      "\"type\":\"text\",\"text\":\"hello\"}}");
        }
    }
    return 0;
}

static int call_for(struct setup *setup, uint32_t deadline, char *ret, size_t room,
                    struct toolrack_error *err) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = deadline;
    options.input = decide;
    options.user = setup;
    *err = (struct toolrack_error){0};
    int code =
            toolrack_call(setup->host, "x_echo", "{\"text\":\"h\u00e9\"}", &options, &result, err);
    (void)snprintf(ret, room, "%s", code == 0 ? toolrack_result_json(result, NULL) : "");
    toolrack_result_free(result);
    return code;
}

static void expect(struct setup *setup, const char *json) {
    char got[4096];
    struct toolrack_error err;
    if (call_for(setup, 20000, got, sizeof got, &err) < 0) {
        fail_msg("%s\n%s", err.message, setup->lines);
    }
    assert_string_equal(got, json);
}

static void expect_error(struct setup *setup, int code, const char *words) {
    char got[4096];
    struct toolrack_error err;
    int failed = call_for(setup, 20000, got, sizeof got, &err);
    if (failed != code || strstr(err.message, words) == NULL) {
        fail_msg("%d \"%s\" %s", failed, err.message, got);
    }
}

/* ------------------------------------------------------------------ protocol */

static void a_server_of_sessions(void **state) {
    struct setup *setup = *state;
    start(setup, "sessions", "\"headers\": {\"X-Team\": \"tools\"}");
    expect(setup, "\"said\"");
    assert_true(was_seen(setup, "Mcp-Session-Id: session-1\r\n"));
    assert_true(was_seen(setup, "MCP-Protocol-Version: 2025-06-18\r\n"));
    assert_true(was_seen(setup, "X-Team: tools\r\n"));
    assert_true(was_seen(setup, "notifications/initialized"));
    assert_false(was_seen(setup, "Mcp-Param-"));
    toolrack_close(setup->host);
    setup->host = NULL;
    AWAIT(was_seen(setup, "DELETE /mcp "));
}

static void a_stateless_server(void **state) {
    struct setup *setup = *state;
    start(setup, "stateless", "");
    expect(setup, "\"said\"");
    assert_true(was_seen(setup, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                                "Mcp-Name: echo\r\nMcp-Param-Text: =?base64?aMOp?=\r\n"));
    assert_false(was_seen(setup, "Mcp-Session-Id"));
    assert_true(is_logged(setup, "the tool bad is left out: an \"x-mcp-header\""));
}

static void answers_in_streams(void **state) {
    struct setup *setup = *state;
    start(setup, "stream", "");
    expect(setup, "\"streamed\"");
    assert_true(is_logged(setup, "mcp.x: half"));
}

static void a_stream_that_ends_is_resumed(void **state) {
    struct setup *setup = *state;
    start(setup, "resumed", "");
    expect(setup, "\"resumed\"");
}

static void a_forgotten_session_is_begun_anew(void **state) {
    struct setup *setup = *state;
    start(setup, "sessions", "");
    expect(setup, "\"said\"");
    (void)pthread_mutex_lock(&setup->lock);
    setup->is_forgotten = true;
    (void)pthread_mutex_unlock(&setup->lock);
    expect(setup, "\"said\"");
    assert_true(was_seen(setup, "Mcp-Session-Id: session-2\r\n"));
}

static void questions_and_requests_for_a_model(void **state) {
    struct setup *setup = *state;
    start(setup, "asks", "");
    expect(setup, "\"answered\"");
    setup->mode = "samples";
    expect(setup, "\"answered\"");
}

static bool hears(struct setup *setup) {
    (void)pthread_mutex_lock(&setup->lock);
    bool does = setup->unasked >= 0;
    (void)pthread_mutex_unlock(&setup->lock);
    return does;
}

static bool has_more(struct setup *setup) {
    struct toolrack_tool *tool = toolrack_get(setup->host, "x_more");
    toolrack_tool_unref(tool);
    return tool != NULL;
}

static void changes_are_heard(void **state) {
    struct setup *setup = *state;
    start(setup, "changes", "");
    expect(setup, "\"said\"");
    AWAIT(hears(setup));
    (void)pthread_mutex_lock(&setup->lock);
    strcat(setup->seen, "changed now\n");
    say(setup->unasked, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                        "\"notifications/tools/list_changed\"}\n\n");
    (void)pthread_mutex_unlock(&setup->lock);
    AWAIT(has_more(setup));
}

static void cancellation(void **state) {
    struct setup *setup = *state;
    char got[64];
    struct toolrack_error err;
    start(setup, "silent", "");
    assert_int_equal(call_for(setup, 100, got, sizeof got, &err), TOOLRACK_E_TIMEOUT);
    AWAIT(was_seen(setup, "the call's connection was closed"));
    AWAIT(was_seen(setup, "\"method\":\"notifications/cancelled\""));
}

static void cancellation_without_sessions(void **state) {
    struct setup *setup = *state;
    char got[64];
    struct toolrack_error err;
    start(setup, "silent-stateless", "");
    assert_int_equal(call_for(setup, 100, got, sizeof got, &err), TOOLRACK_E_TIMEOUT);
    AWAIT(was_seen(setup, "the call's connection was closed"));
    assert_false(was_seen(setup, "notifications/cancelled"));
}

static void silence_has_a_limit(void **state) {
    struct setup *setup = *state;
    char got[64];
    struct toolrack_error err;
    start(setup, "comments", "\"call_ms\": 50");
    assert_int_equal(call_for(setup, TOOLRACK_NO_DEADLINE, got, sizeof got, &err),
                     TOOLRACK_E_EXECUTION_FAILED);
    if (strstr(err.message, "said nothing about the call for 50 ms") == NULL) {
        fail_msg("%s", err.message);
    }
}

/* -------------------------------------------------------------- misbehaviour */

static void what_is_no_answer(void **state) {
    static const struct {
        _Atomic(const char *) mode;
        const char *words;
    } cases[] = {
            {"broken-off", "ended the stream before the answer"},
            {"html", "answers with the content type text/html"},
            {"wrong-id", "answered, but not this request"},
            {"accepted", "answers without content"},
            {"refused", "MCP server 'x': no (-32603)"},
            {"endless-line", "more than the 33554432 bytes allowed"},
            {"endless-json", "more than the 33554432 bytes allowed"},
            {"endless-header", "header"},
            {"redirect-there", "redirects http://127.0.0.1:"},
    };
    struct setup *setup = *state;
    start(setup, "", "");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char got[64];
        struct toolrack_error err;
        setup->mode = cases[i].mode;
        int code = call_for(setup, 20000, got, sizeof got, &err);
        if (code == 0 || code == TOOLRACK_E_TIMEOUT ||
            strstr(err.message, cases[i].words) == NULL) {
            fail_msg("%s: %d \"%s\" %s", cases[i].mode, code, err.message, got);
        }
    }
    setup->mode = "redirect-here";
    expect(setup, "\"elsewhere\"");
    setup->mode = "";
    expect(setup, "\"said\"");
}

static void a_server_that_is_not_there(void **state) {
    struct setup *setup = *state;
    const char *const keys[] = {"\"args\": []", "\"allow\": [\"network\"]",
                                "\"ca\": \"/nonexistent\"",
                                "\"headers\": {\"A\": \"${file:/nonexistent}\"}"};
    const char *const words[] = {"\"args\" of MCP server 'x' has no meaning beside \"url\"",
                                 "can be allowed \"private\"", "No such file",
                                 "/nonexistent, which cannot be used"};
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        start(setup, "", keys[i]);
        if (!is_logged(setup, words[i])) {
            fail_msg("%s: %s", keys[i], setup->lines);
        }
        toolrack_close(setup->host);
        setup->host = NULL;
    }
}

/* -------------------------------------------------------------------- secrets */

static void secrets_are_not_told(void **state) {
    struct setup *setup = *state;
    char path[128];
    char more[256];
    (void)snprintf(path, sizeof path, "%s/key", setup->root);
    (void)snprintf(more, sizeof more, "\"headers\": {\"X-Key\": \"${file:%s}\"}", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("very-secret-key\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0644), 0);
    start(setup, "", more);
    assert_true(is_logged(setup, "chmod 600"));
    toolrack_close(setup->host);
    assert_int_equal(chmod(path, 0600), 0);
    start(setup, "tells-secret", more);
    expect_error(setup, TOOLRACK_E_EXECUTION_FAILED, "you sent X-Key: ***************");
    assert_true(was_seen(setup, "X-Key: very-secret-key\r\n"));
    assert_false(is_logged(setup, "very-secret-key"));
}

/* --------------------------------------------------------------------- tokens */

#define CREDENTIALS                                                        \
    "\"auth\": {\"type\": \"client_credentials\", \"client_id\": \"me\", " \
    "\"client_secret\": \"${env:TOOLRACK_TEST_SECRET}\"}"

static void tokens_by_client_credentials(void **state) {
    struct setup *setup = *state;
    (void)setenv("TOOLRACK_TEST_SECRET", "the:secret", 1);
    start(setup, "oauth", CREDENTIALS);
    expect(setup, "\"said\"");
    assert_int_equal(setup->tokens, 1);
    assert_true(was_seen(setup, "Authorization: Basic bWU6dGhlJTNBc2VjcmV0\r\n"));
    assert_true(was_seen(setup, "grant_type=client_credentials&scope=read&resource=http%3A%2F%2F"));
    assert_false(is_logged(setup, "the:secret") || is_logged(setup, "the-token"));
}

static void a_wider_scope_is_asked_for_once(void **state) {
    struct setup *setup = *state;
    (void)setenv("TOOLRACK_TEST_SECRET", "the:secret", 1);
    start(setup, "oauth-scope", CREDENTIALS);
    expect(setup, "\"said\"");
    assert_int_equal(setup->tokens, 2);
}

static void metadata_of_another_resource_are_refused(void **state) {
    struct setup *setup = *state;
    (void)setenv("TOOLRACK_TEST_SECRET", "the:secret", 1);
    start(setup, "oauth-other", CREDENTIALS);
    assert_true(is_logged(setup, "its metadata are of another resource"));
    assert_int_equal(setup->tokens, 0);
}

static void stored_tokens_are_renewed(void **state) {
    struct setup *setup = *state;
    char path[128];
    char more[256];
    char text[512] = "";
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/tokens", setup->root);
    (void)snprintf(more, sizeof more,
                   "\"auth\": {\"type\": \"stored\", \"client_id\": \"me\", \"file\": \"%s\"}",
                   path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("{\"access_token\":\"an-old-one\",\"refresh_token\":\"again\"}", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
    start(setup, "oauth", more);
    expect(setup, "\"said\"");
    assert_true(was_seen(setup, "Authorization: Bearer an-old-one\r\n"));
    assert_true(was_seen(setup, "grant_type=refresh_token&refresh_token=again&"));
    file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "the-token-1"));
    assert_non_null(strstr(text, "refresh-1"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void challenges_are_read(void **state) {
    static const struct {
        const char *challenge;
        const char *value; /* NULL: none */
    } cases[] = {
            {"Bearer scope=\"a b\"", "a b"},       {"Bearer realm=x, scope=a", "a"},
            {"Basic scope=\"no\"", NULL},          {"Basic realm=\"x\", Bearer scope=\"y\"", "y"},
            {"bearer SCOPE = \"q\\\"q\"", "q\"q"}, {"Bearer", NULL},
            {"Bearer scope=\"open", "open"},       {"", NULL},
            {"Bearer ,=\"\",,scope=\"\"", ""},
    };
    char got[64];
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        bool found = oauth_challenge_value(cases[i].challenge, "scope", got, sizeof got);
        assert_int_equal(found, cases[i].value != NULL);
        assert_string_equal(got, cases[i].value != NULL ? cases[i].value : "");
    }
}

/* --------------------------------------------------------------------- events */

static int take_event(void *user, const char *data, size_t length, struct toolrack_error *err) {
    struct buf *all = user;
    (void)err;
    buf_add(all, data, length);
    buf_add_char(all, '|');
    return 0;
}

static void events_come_in_pieces(void **state) {
    static const char text[] =
            "\xef\xbb\xbf: c\r\ndata: one\r\ndata:two\n\nevent: other\rdata: x\r\r"
            "id: 7\nretry: 250\ndata\n\nid: a\x01\ndata: three\n\nid: 8\n";
    (void)state;
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct sse sse = {0};
        struct toolrack_error err;
        CLEANUP(buf_finish) struct buf all = BUF_INIT;
        const struct sse_taker taker = {.take = take_event, .user = &all};
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            assert_int_equal(
                    sse_feed(&sse, text + at, left < piece ? left : piece, 1000, &taker, &err), 0);
        }
        buf_add_char(&all, '\0');
        assert_string_equal(all.data, "one\ntwo|three|");
        assert_string_equal(sse.id, "7");
        assert_int_equal(sse.retry_ms, 250);
        sse_finish(&sse);
    }
}

#define WEB_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            WEB_TEST(a_server_of_sessions),
            WEB_TEST(a_stateless_server),
            WEB_TEST(answers_in_streams),
            WEB_TEST(a_stream_that_ends_is_resumed),
            WEB_TEST(a_forgotten_session_is_begun_anew),
            WEB_TEST(questions_and_requests_for_a_model),
            WEB_TEST(changes_are_heard),
            WEB_TEST(cancellation),
            WEB_TEST(cancellation_without_sessions),
            WEB_TEST(silence_has_a_limit),
            WEB_TEST(what_is_no_answer),
            WEB_TEST(a_server_that_is_not_there),
            WEB_TEST(secrets_are_not_told),
            WEB_TEST(tokens_by_client_credentials),
            WEB_TEST(a_wider_scope_is_asked_for_once),
            WEB_TEST(metadata_of_another_resource_are_refused),
            WEB_TEST(stored_tokens_are_renewed),
            cmocka_unit_test(challenges_are_read),
            cmocka_unit_test(events_come_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
