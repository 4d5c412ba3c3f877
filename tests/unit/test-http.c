/* The HTTP transport, with a protocol behind it that does what the body says. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "http-client.h"
#include "patience.h"
#include "serve/http/address.h"
#include "serve/http/parts.h"
#include "serve/http/whole.h"

#define MIB          (1024u * 1024)
#define HELD_MAX     1200
#define STREAM_COUNT 1000

/* ---------------------------------------------------------------- the protocol */

/* What a request wants:
 *   now ....... the answer at once          later ..... on another thread
 *   accepted .. no text, 202                stream .... three events, then the answer
 *   hold ...... until let_go() or gone      events .... an event, then until let_go() or gone
 *   flood ..... events until it is gone     echo ...... the number of bytes of the body
 *   missing ... 403 and scopes              pause ..... an event, a pause, the end
 *   who ....... principal and headers */
static struct {
    pthread_mutex_t lock;
    struct exchange *held[HELD_MAX];
    bool left[HELD_MAX];
    size_t count;
    atomic_uint gone;
    atomic_uint finished;
    atomic_uint threads;
    bool drained;
} protocol = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void answer(struct exchange *exchange, int status, const char *text) {
    struct exchange_answer last = {
            .status = status, .text = text, .length = text != NULL ? strlen(text) : 0};
    exchange->calls->finish(exchange, &last);
    (void)atomic_fetch_add(&protocol.finished, 1);
}

static void send_text(struct exchange *exchange, const char *id, const char *text) {
    exchange->calls->send(exchange, id, text, strlen(text));
}

static void *run_later(void *user) {
    answer(user, 200, "{\"later\":true}");
    (void)atomic_fetch_sub(&protocol.threads, 1);
    return NULL;
}

static void *run_stream(void *user) {
    send_text(user, "e1", "");
    send_text(user, "e2", "{\"n\":1}");
    send_text(user, NULL, "{\"n\":2}");
    answer(user, 200, "{\"last\":true}");
    (void)atomic_fetch_sub(&protocol.threads, 1);
    return NULL;
}

static void *run_flood(void *user) {
    struct exchange *exchange = user;
    static char text[65536];
    memset(text, 'x', sizeof text - 1);
    while (atomic_load(&protocol.gone) == 0) {
        send_text(exchange, NULL, text);
    }
    answer(exchange, 200, "{}");
    (void)atomic_fetch_sub(&protocol.threads, 1);
    return NULL;
}

static void begin(void *(*run)(void *user), struct exchange *exchange) {
    pthread_t thread;
    (void)atomic_fetch_add(&protocol.threads, 1);
    assert_int_equal(0, pthread_create(&thread, NULL, run, exchange));
    (void)pthread_detach(thread);
}

static void hold(struct exchange *exchange) {
    (void)pthread_mutex_lock(&protocol.lock);
    assert_true(protocol.count < HELD_MAX);
    protocol.held[protocol.count++] = exchange;
    (void)pthread_mutex_unlock(&protocol.lock);
}

static size_t held(void) {
    (void)pthread_mutex_lock(&protocol.lock);
    size_t count = 0;
    for (size_t i = 0; i < protocol.count; i++) {
        count += protocol.held[i] != NULL;
    }
    (void)pthread_mutex_unlock(&protocol.lock);
    return count;
}

static void let_go(void) {
    (void)pthread_mutex_lock(&protocol.lock);
    for (size_t i = 0; i < protocol.count; i++) {
        if (protocol.held[i] != NULL) {
            answer(protocol.held[i], 200, "{\"held\":true}");
            protocol.held[i] = NULL;
        }
    }
    protocol.count = 0;
    (void)pthread_mutex_unlock(&protocol.lock);
}

static void tell_who(const struct principal *principal, const struct mcp_headers *headers,
                     struct exchange *exchange) {
    char text[512];
    bool more = false;
    const char *who = principal->id == NULL ? exchange->calls->who(exchange) : "";
    const char *region = headers->parameter(headers, "Region", &more);
    (void)snprintf(text, sizeof text,
                   "{\"id\":\"%s\",\"profile\":\"%s\",\"version\":\"%s\",\"method\":\"%s\","
                   "\"region\":\"%s\",\"more\":%s,\"who\":\"%s\"}",
                   principal->id != NULL ? principal->id : "nobody",
                   principal->profile != NULL ? principal->profile : "all",
                   headers->version != NULL ? headers->version : "none",
                   headers->method != NULL ? headers->method : "none",
                   region != NULL ? region : "none", more ? "true" : "false", who);
    answer(exchange, 200, text);
}

void mcp_post(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
              char *text, size_t length, struct exchange *exchange) {
    (void)mcp;
    char size[32];
    memset(text + length, 0, YYJSON_PADDING_SIZE);
    if (strstr(text, "later") != NULL) {
        begin(run_later, exchange);
    } else if (strstr(text, "stream") != NULL) {
        begin(run_stream, exchange);
    } else if (strstr(text, "flood") != NULL) {
        begin(run_flood, exchange);
    } else if (strstr(text, "hold") != NULL) {
        hold(exchange);
    } else if (strstr(text, "events") != NULL) {
        send_text(exchange, NULL, "{\"first\":true}");
        hold(exchange);
    } else if (strstr(text, "accepted") != NULL) {
        answer(exchange, 202, NULL);
    } else if (strstr(text, "pause") != NULL) {
        send_text(exchange, "p1", "");
        exchange->calls->pause(exchange, 250);
        answer(exchange, 200, NULL);
    } else if (strncmp(text, "status ", 7) == 0) {
        answer(exchange, (int)strtol(text + 7, NULL, 10), "{}");
    } else if (strstr(text, "who") != NULL) {
        tell_who(principal, headers, exchange);
    } else if (strstr(text, "begin") != NULL) {
        struct exchange_answer last = {
                .status = 200, .text = "{}", .length = 2, .session = "session-1"};
        exchange->calls->finish(exchange, &last);
    } else if (strstr(text, "echo") != NULL) {
        (void)snprintf(size, sizeof size, "{\"bytes\":%zu}", length);
        answer(exchange, 200, size);
    } else {
        answer(exchange, 200, "{\"now\":true}");
    }
}

void mcp_get(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
             struct exchange *exchange) {
    (void)mcp;
    (void)principal;
    send_text(exchange, headers->last_event_id, "");
    hold(exchange);
}

void mcp_delete(struct mcp *mcp, const struct principal *principal,
                const struct mcp_headers *headers, struct exchange *exchange) {
    (void)mcp;
    (void)principal;
    answer(exchange, headers->session != NULL ? 204 : 400, NULL);
}

void mcp_gone(struct exchange *exchange) {
    (void)pthread_mutex_lock(&protocol.lock);
    for (size_t i = 0; i < protocol.count; i++) {
        if (protocol.held[i] == exchange) {
            protocol.held[i] = NULL;
            answer(exchange, 200, NULL);
        }
    }
    (void)pthread_mutex_unlock(&protocol.lock);
    (void)atomic_fetch_add(&protocol.gone, 1);
}

void mcp_cut(struct mcp *mcp) {
    (void)mcp;
}

void mcp_drain(struct mcp *mcp) {
    (void)mcp;
    protocol.drained = true;
}

/* ---------------------------------------------------------------- the server */

static struct toolrack *host;
static struct server *server;
static unsigned port;
static char folder[] = "/tmp/toolrack-test-http-XXXXXX";
static char socket_path[64];
static char *noted; /* the last line; read when nothing more is noted */
static atomic_uint note_count;

static void note(void *user, const char *line) {
    (void)user;
    free(noted);
    noted = strdup(line);
    (void)atomic_fetch_add(&note_count, 1);
}

static void start_at(const char *settings, const char *const *listen, const char *const *sockets) {
    struct toolrack_error err = {0};
    const struct server_start start = {
            .host = host, .settings = settings, .listen = listen, .sockets = sockets, .note = note};
    protocol.gone = protocol.finished = 0;
    protocol.drained = false;
    atomic_store(&note_count, 0);
    if (server_start(&start, &server, &err) < 0) {
        fail_msg("%s", err.message);
    }
    port = ntohs(((struct sockaddr_in *)&server->listeners[0].address)->sin_port);
}

static void start(const char *settings) {
    start_at(settings, (const char *[]){"127.0.0.1:0", NULL}, NULL);
}

static int stop(void **state) {
    (void)state;
    if (server != NULL) {
        server_silence(server);
        let_go();
        AWAIT(atomic_load(&protocol.threads) == 0);
        assert_int_equal(0, atomic_load(&server->running));
        server_stop(server);
        server = NULL;
    }
    free(noted);
    noted = NULL;
    return 0;
}

/* Whether one request is answered so; the text is looked for in the body, or NULL. */
static void expect(unsigned status, const char *text, const char *method, const char *path,
                   const char *more, const char *body) {
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(fd >= 0);
    (void)client_request(fd, method, path, more, body);
    struct client_response response = client_read(fd, &left);
    if (response.status != status || (text != NULL && strstr(response.body, text) == NULL)) {
        fail_msg("%s %s (%s) gave %u %s", method, path, more, response.status,
                 response.body != NULL ? response.body : "");
    }
    client_response_finish(&response);
    client_left_finish(&left);
}

/* The same of bytes. */
static void expect_of(unsigned status, const char *text, const char *bytes) {
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_send_text(fd, bytes);
    struct client_response response = client_read(fd, &left);
    if (response.status != status || (text != NULL && strstr(response.body, text) == NULL)) {
        fail_msg("%s gave %u %s", bytes, response.status,
                 response.body != NULL ? response.body : "");
    }
    client_response_finish(&response);
    client_left_finish(&left);
}

static unsigned conn_count(void) {
    return atomic_load(&server->conn_count);
}

/* ---------------------------------------------------------------- answers */

static void answers(void **state) {
    (void)state;
    start("{}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    static const struct {
        const char *body;
        unsigned status;
        const char *text;
    } rows[] = {{"now", 200, "{\"now\":true}"},
                {"later", 200, "{\"later\":true}"},
                {"accepted", 202, ""},
                {"stream", 200,
                 "id: e1\ndata:\n\nid: e2\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\n"
                 "data: {\"last\":true}\n\n"},
                {"pause", 200, "id: p1\ndata:\n\nretry: 250\n\n"},
                {"now", 200, "{\"now\":true}"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        assert_true(client_request(fd, "POST", "/mcp", "", rows[i].body));
        struct client_response response = client_read(fd, &left);
        assert_int_equal(rows[i].status, response.status);
        assert_string_equal(rows[i].text, response.body);
        assert_true(response.ended);
        if (strchr(rows[i].text, ':') != NULL && rows[i].text[0] != '{') {
            assert_string_equal("text/event-stream", client_header(&response, "Content-Type"));
            assert_string_equal("no", client_header(&response, "X-Accel-Buffering"));
        }
        client_response_finish(&response);
    }
    client_left_finish(&left);
    expect(200, "{}", "POST", "/mcp/", "", "begin");
    expect(204, NULL, "DELETE", "/mcp", "Mcp-Session-Id: x\r\n", NULL);
}

static void many_threads_answer(void **state) {
    (void)state;
    start("{}");
    int fds[16];
    struct client_left left[ARRAY_LENGTH(fds)] = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        fds[i] = client_connect(port);
    }
    for (unsigned round = 0; round < 50; round++) {
        for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
            assert_true(client_request(fds[i], "POST", "/mcp", "", round % 2 ? "later" : "stream"));
        }
        for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
            struct client_response response = client_read(fds[i], &left[i]);
            assert_int_equal(200, response.status);
            assert_true(response.ended);
            client_response_finish(&response);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        (void)close(fds[i]);
        client_left_finish(&left[i]);
    }
}

static void pipelined_requests(void **state) {
    (void)state;
    start("{}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    const char *bodies[] = {"later", "now", "stream", "accepted", "later"};
    for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
        assert_true(client_request(fd, "POST", "/mcp", "", bodies[i]));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
        struct client_response response = client_read(fd, &left);
        assert_int_equal(i == 3 ? 202 : 200, response.status);
        assert_true(i == 3 || strstr(response.body, i == 2 ? "last" : bodies[i]) != NULL);
        client_response_finish(&response);
    }
    client_left_finish(&left);
}

static void principals_and_headers(void **state) {
    (void)state;
    start("{}");
    expect(200,
           "{\"id\":\"nobody\",\"profile\":\"all\",\"version\":\"2026-07-28\","
           "\"method\":\"ping\",\"region\":\"eu\",\"more\":false,",
           "POST", "/mcp",
           "mcp-protocol-version: 2026-07-28\r\nMcp-Method: ping\r\nMCP-PARAM-region: eu\r\n",
           "who");
    expect(200, "\"more\":true", "POST", "/mcp", "Mcp-Param-Region: eu\r\nMcp-Param-Region: us\r\n",
           "who");
}

/* ---------------------------------------------------------------- who is there */

/* Send a request that says nothing of who sends it, as another user if this process may be one. */
static int connect_as(uid_t user) {
    /* The socket belongs to the user that the thread has in the file system when it is made. */
    (void)setfsuid(user);
    int fd = client_connect(port);
    (void)setfsuid(geteuid());
    return fd;
}

static void send_as(uid_t user, const char *expected) {
    struct client_left left = {0};
    CLEANUP(closep) int fd = connect_as(user);
    assert_true(client_request(fd, "POST", "/mcp", "", "who"));
    struct client_response response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    assert_non_null(strstr(response.body, expected));
    client_response_finish(&response);
    client_left_finish(&left);
}

static void who_sends_what_has_no_token(void **state) {
    (void)state;
    start_at("{}", (const char *[]){"127.0.0.1:0", NULL}, NULL);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "\"id\":\"nobody\",");
    send_as(geteuid(), expected);
    (void)snprintf(expected, sizeof expected, "\"who\":\"uid:%u\"}", (unsigned)geteuid());
    send_as(geteuid(), expected);
    if (geteuid() == 0) {
        send_as(65534, "\"who\":\"uid:65534\"}");
    }
    /* What has sent it is gone: nobody, and certainly not root, as which the kernel reports it. */
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", "", "hold"));
    AWAIT(held() == 1);
    struct conn *conn = (struct conn *)protocol.held[0];
    assert_true(conn->has_user && conn->user == geteuid());
    conn->has_user = false;
    uint32_t user = 0;
    assert_true(address_owner(conn->fd, &user));
    assert_int_equal(user, geteuid());
    (void)close(fd);
    fd = -1;
    assert_false(address_owner(conn->fd, &user));
    assert_int_equal(0, strncmp(conn->owner, "uid:", 4)); /* asked when the request came */
    conn->owner[0] = '\0';
    const char *who = conn->exchange.calls->who(&conn->exchange);
    assert_int_equal(0, strncmp(who, "connection:", 11));
    assert_int_equal(11 + 32, strlen(who));
    assert_string_equal(who, conn->exchange.calls->who(&conn->exchange));
}

/* A client that waits for no answer may be gone when its request is read. */
static void who_has_sent_and_gone_is_known(void **state) {
    (void)state;
    start("{}");
    int fd = client_connect(port);
    AWAIT(conn_count() == 1);
    lock_take(&server->lock);
    struct conn *conn = server->conns;
    lock_take(&conn->lock); /* the request is not read before it is released */
    lock_release(&server->lock);
    assert_true(client_request(fd, "POST", "/mcp", "", "hold"));
    (void)close(fd);
    lock_release(&conn->lock);
    AWAIT(held() == 1);
    char expected[32];
    (void)snprintf(expected, sizeof expected, "uid:%u", (unsigned)geteuid());
    assert_string_equal(conn->owner, expected);
}

static void the_owner_of_a_connection(void **state) {
    (void)state;
    static const char *const addresses[] = {"127.0.0.1:0", "[::1]:0"};
    uint32_t user = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++) {
        struct sockaddr_storage address;
        struct sockaddr_storage bound;
        socklen_t size;
        struct toolrack_error err;
        CLEANUP(closep) int listens = -1;
        assert_int_equal(0, address_read(addresses[i], &address, &size, &err));
        assert_int_equal(0, address_listen(&address, size, &listens, &bound, &err));
        CLEANUP(closep) int client = socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(0, connect(client, (const struct sockaddr *)&bound, size));
        assert_int_equal(1, poll(&(struct pollfd){.fd = listens, .events = POLLIN}, 1, -1));
        CLEANUP(closep) int fd = accept4(listens, NULL, NULL, SOCK_CLOEXEC);
        assert_true(fd >= 0);
        assert_true(address_owner(fd, &user));
        assert_int_equal(user, geteuid());
        /* A socket that listens is no connection, nor is one where the peer has left. */
        assert_false(address_owner(listens, &user));
        assert_int_equal(0, shutdown(client, SHUT_WR));
        assert_true(address_owner(fd, &user));
        (void)close(client);
        client = -1;
        assert_false(address_owner(fd, &user));
    }
    int pair[2];
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    assert_false(address_owner(pair[0], &user));
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* ---------------------------------------------------------------- refusals */

static void hosts_and_origins(void **state) {
    (void)state;
    start("{\"hosts\":[\"tools.example.com\"],\"origins\":[\"https://app.example.org\"]}");
    static const struct {
        unsigned status;
        const char *headers;
    } rows[] = {
            {200, "Host: localhost\r\n"},
            {200, "Host: LOCALHOST:9\r\n"},
            {200, "Host: 127.0.0.1\r\n"},
            {200, "Host: 127.9.9.9:1\r\n"},
            {200, "Host: [::1]:8137\r\n"},
            {200, "Host: tools.example.com\r\n"},
            {200, "Host: Tools.Example.Com.:443\r\n"},
            {403, "Host: evil.example.com\r\n"},
            {403, "Host: localhost.evil.example.com\r\n"},
            {403, "Host: 192.168.1.1\r\n"},
            {403, "Host: [::2]\r\n"},
            {400, "Host: local host\r\n"},
            {400, "Host: localhost:0\r\n"},
            {400, "Host: localhost:99999\r\n"},
            {400, "Host: [::1\r\n"},
            {400, "Host: user@localhost\r\n"},
            {400, "Host: \r\n"},
            {400, "Host: localhost\r\nHost: localhost\r\n"},
            {200, "Origin: http://localhost:5173\r\n"},
            {200, "Origin: http://[::1]\r\n"},
            {200, "Origin: https://app.example.org\r\n"},
            {200, "Origin: https://tools.example.com\r\n"},
            {403, "Origin: http://app.example.org\r\n"},
            {403, "Origin: https://evil.example.com\r\n"},
            {403, "Origin: https://app.example.org.evil.example.com\r\n"},
            {403, "Origin: null\r\n"},
            {403, "Origin: \r\n"},
            {403, "Origin: http://192.168.1.1\r\n"},
            {403, "Origin: http://localhost/path\r\n"},
            {403, "Origin: file://localhost\r\n"},
            /* Nobody's word but a trusted proxy's. */
            {403, "Host: evil.example.com\r\nX-Forwarded-Host: localhost\r\n"},
            {200, "Host: localhost\r\nX-Forwarded-Host: evil.example.com\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        expect(rows[i].status, NULL, "POST", "/mcp", rows[i].headers, "now");
    }
    expect(403, "add it to \\\"hosts\\\"", "POST", "/mcp", "Host: evil.example.com\r\n", "now");
}

/* Browsers write both in lower case, an address in its shortest form, and no default port. */
static void hosts_and_origins_are_those_of_browsers(void **state) {
    (void)state;
    start("{\"hosts\":[\"P.Example:443\",\"[2001:DB8:0::1]\"],\"origins\":[\"HTTPS://"
          "Q.Example:443\","
          "\"http://r.example:80\",\"https://s.example:81\",\"http://[2001:DB8:0::2]:81\","
          "\"chrome-extension://abc\"]}");
    static const struct {
        unsigned status;
        const char *headers;
    } rows[] = {
            {200, "Host: p.example\r\n"},
            {200, "Host: p.example:443\r\n"},
            {403, "Host: p.example:444\r\n"},
            {200, "Host: [2001:db8::1]\r\n"},
            {200, "Origin: https://p.example\r\n"},
            {403, "Origin: http://p.example\r\n"},
            {200, "Origin: https://q.example\r\n"},
            {403, "Origin: http://q.example\r\n"},
            {403, "Origin: https://q.example:444\r\n"},
            {200, "Origin: http://r.example\r\n"},
            {200, "Origin: https://s.example:81\r\n"},
            {403, "Origin: https://s.example\r\n"},
            {200, "Origin: http://[2001:db8::2]:81\r\n"},
            {200, "Origin: chrome-extension://abc\r\n"},
            {403, "Origin: moz-extension://abc\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        expect(rows[i].status, NULL, "POST", "/mcp", rows[i].headers, "now");
    }
}

static void the_host_of_each_request_counts(void **state) {
    (void)state;
    start("{\"hosts\":[\"tools.example.com\"]}");
    static const struct {
        unsigned status;
        const char *headers;
    } rows[] = {
            {200, "Host: tools.example.com\r\n"},
            {200, "Host: tools.example.com\r\nOrigin: https://tools.example.com\r\n"},
            {403, "Host: tools.example.com\r\nOrigin: https://wrong.example.com\r\n"},
            {403, "Host: wrong.example.com\r\n"},
            {403, "Host: wrong.example.com\r\n"},
            {403, "Host: tools.example.com\r\nOrigin: https://wrong.example.com\r\n"},
            {403, "Host: tools.example.co\r\n"},
            {200, "Host: tools.example.com\r\n"},
            {400, "Host: \r\n"},
            {400, "Host: tools.example.com/\r\n"},
            {200, "Host: tools.example.com\r\n"},
            {200, "Host: localhost\r\n"},
            {403, "Host: localhost\r\nOrigin: https://wrong.example.com\r\n"},
            {200, "Host: localhost\r\n"},
    };
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        (void)client_request(fd, "POST", "/mcp", rows[i].headers, "now");
        struct client_response response = client_read(fd, &left);
        assert_int_equal(rows[i].status, response.status);
        client_response_finish(&response);
    }
    client_left_finish(&left);
}

static void browsers_of_named_origins(void **state) {
    (void)state;
    start("{\"origins\":[\"https://app.example.org\"]}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_request(fd, "OPTIONS", "/mcp", "Origin: https://app.example.org\r\n", NULL);
    struct client_response response = client_read(fd, &left);
    assert_int_equal(204, response.status);
    assert_string_equal("https://app.example.org",
                        client_header(&response, "Access-Control-Allow-Origin"));
    assert_null(strstr(client_header(&response, "Access-Control-Allow-Headers"), "Param"));
    client_response_finish(&response);
    (void)client_request(fd, "OPTIONS", "/mcp",
                         "Origin: https://app.example.org\r\n"
                         "Access-Control-Request-Headers: content-type,mcp-param-region\r\n"
                         "Access-Control-Request-Headers: Mcp-Param-B, mcp-param-, mcp-param-a b, "
                         "mcp-param-\"x\", x-mcp-param-c, mcp-param-d\r\n",
                         NULL);
    response = client_read(fd, &left);
    assert_string_equal(
            "Mcp-Name, mcp-param-region, Mcp-Param-B, mcp-param-d",
            strstr(client_header(&response, "Access-Control-Allow-Headers"), "Mcp-Name"));
    client_response_finish(&response);
    CLEANUP(buf_finish) struct buf many = BUF_INIT;
    buf_add_text(&many, "Origin: https://app.example.org\r\nAccess-Control-Request-Headers: ");
    for (unsigned i = 0; i < 300; i++) {
        buf_printf(&many, "%smcp-param-%03u", i > 0 ? "," : "", i);
    }
    buf_add_text(&many, "\r\n");
    (void)client_request(fd, "OPTIONS", "/mcp", many.data, NULL);
    response = client_read(fd, &left);
    assert_int_equal(204, response.status);
    assert_in_range(strlen(client_header(&response, "Access-Control-Allow-Headers")), 700, 920);
    client_response_finish(&response);
    (void)client_request(fd, "POST", "/mcp", "Origin: http://localhost\r\n", "now");
    response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    assert_null(client_header(&response, "Access-Control-Allow-Origin"));
    client_response_finish(&response);
    client_left_finish(&left);
    expect(405, NULL, "OPTIONS", "/mcp", "Origin: http://localhost\r\n", NULL);
}

/* A target with a scheme names the host: the header Host is not read. */
static void the_host_of_the_target_counts(void **state) {
    (void)state;
    start("{}");
    static const struct {
        unsigned status;
        const char *target;
        const char *host;
    } rows[] = {{200, "http://localhost:8137/mcp", "evil.example.com"},
                {200, "HTTPS://127.0.0.1/mcp?a=b", "localhost"},
                {200, "http://[::1]:1/mcp/", "localhost"},
                {403, "http://evil.example.com/mcp", "localhost"},
                {403, "http://localhost.evil.example.com/mcp", "localhost"},
                {400, "http://localhost@evil.example.com/mcp", "localhost"},
                {400, "http:///mcp", "localhost"},
                {404, "http://localhost", "localhost"},
                {404, "ftp://localhost/mcp", "localhost"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char bytes[256];
        (void)snprintf(bytes, sizeof bytes,
                       "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                       "Content-Length: 3\r\n\r\nnow",
                       rows[i].target, rows[i].host);
        expect_of(rows[i].status, NULL, bytes);
    }
    expect_of(403, "'evil.example.com:80'",
              "POST http://evil.example.com:80/mcp HTTP/1.1\r\nHost: localhost\r\n"
              "Content-Type: application/json\r\nContent-Length: 3\r\n\r\nnow");
}

static void get_and_delete_are_of_sessions(void **state) {
    (void)state;
    start("{}");
    static const char *const methods[] = {"GET", "DELETE"};
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        (void)client_request(fd, methods[i], "/mcp", "", NULL);
        struct client_response response = client_read(fd, &left);
        assert_int_equal(405, response.status);
        assert_string_equal("POST", client_header(&response, "Allow"));
        assert_non_null(strstr(response.body, "\"jsonrpc\":\"2.0\""));
        assert_non_null(strstr(response.body, "Mcp-Session-Id"));
        client_response_finish(&response);
    }
    client_left_finish(&left);
}

/* Of the answers of the protocol, also to a client that has closed its side. */
static void a_status_has_the_headers_that_it_needs(void **state) {
    (void)state;
    static const struct {
        const char *body;
        unsigned status;
        const char *header;
        const char *value;
    } rows[] = {{"status 405", 405, "Allow", "POST, DELETE"},
                {"status 429", 429, "Retry-After", "1"},
                {"status 503", 503, "Retry-After", "1"},
                {"status 404", 404, "Allow", NULL},
                {"status 404", 404, "Retry-After", NULL}};
    start("{}");
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(rows); i++) {
        size_t row = i / 2;
        struct client_left left = {0};
        CLEANUP(closep) int fd = client_connect(port);
        assert_true(client_request(fd, "POST", "/mcp", "", rows[row].body));
        if (i % 2 == 1) {
            (void)shutdown(fd, SHUT_WR);
        }
        struct client_response response = client_read(fd, &left);
        assert_int_equal(rows[row].status, response.status);
        const char *value = client_header(&response, rows[row].header);
        if (rows[row].value != NULL) {
            assert_non_null(value);
            assert_string_equal(rows[row].value, value);
        } else {
            assert_null(value);
        }
        client_response_finish(&response);
        client_left_finish(&left);
    }
}

static void refusals(void **state) {
    (void)state;
    start("{\"limits\":{\"body_bytes\":100000,\"header_bytes\":4000}}");
    expect(404, "/mcp", "POST", "/", "", "now");
    expect(404, NULL, "POST", "/mcpx", "", "now");
    expect(404, "there is nothing here; the endpoint is /mcp", "GET", "/favicon.ico", "", NULL);
    expect(404, NULL, "POST", "/%6dcp", "", "now");
    expect(405, NULL, "PUT", "/mcp", "", "now");
    expect(405, NULL, "PATCH", "/mcp", "", NULL);
    expect(400, "no body", "POST", "/mcp", "", "");
    expect_of(411, NULL,
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n");
    expect_of(415, "application/json",
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
              "Content-Length: 3\r\n\r\nnow");
    expect_of(415, NULL, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nnow");
    expect_of(200, NULL,
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
              "Content-Type: application/json; charset=UTF-8\r\n\r\nnow");
    expect_of(415, NULL,
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
              "Content-Type: application/json; charset=latin1\r\n\r\nnow");
    expect(415, "Content-Encoding", "POST", "/mcp", "Content-Encoding: gzip\r\n", "now");
    expect_of(200, NULL,
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
              "Accept: application/json\r\nContent-Type: application/json\r\n\r\nnow");
    expect_of(406, "application/json and text/event-stream",
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
              "Accept: text/event-stream\r\nContent-Type: application/json\r\n\r\nnow");
    expect_of(406, NULL,
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
              "Accept: */*;q=0\r\nContent-Type: application/json\r\n\r\nnow");
    expect_of(
            200, NULL,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nAccept: text/*;q=0.1\r\n"
            "Accept: application/*\r\nContent-Type: application/json\r\n\r\nnow");
    expect_of(406, NULL,
              "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n");
    expect(401, "unknown, revoked or expired", "POST", "/mcp", "Authorization: Bearer x\r\n",
           "now");
    char *long_text = calloc(1, 300000);
    memset(long_text, 'a', 299999);
    expect(413, "100000", "POST", "/mcp", "", long_text);
    long_text[100001] = '\0';
    expect(413, "100000", "POST", "/mcp", "", long_text);
    char *more = NULL;
    assert_true(asprintf(&more, "X-Long: %.4500s\r\n", long_text) > 0);
    expect(431, "4000", "POST", "/mcp", more, "now");
    char *path = NULL;
    assert_true(asprintf(&path, "/mcp?%.2100s", long_text) > 0);
    (void)path;
    free(path);
    assert_true(asprintf(&path, "/mcp/%.2100s", long_text) > 0);
    expect(414, "2048", "POST", path, "", "now");
    free(path);
    free(more);
    free(long_text);
}

static void headers_have_a_limit(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        unsigned status;
        int length;
    } rows[] = {{"{}", 200, 8000},
                {"{}", 431, 8300},
                {"{\"limits\":{\"header_bytes\":16384}}", 200, 16200},
                {"{\"limits\":{\"header_bytes\":16384}}", 431, 16500},
                {"{\"limits\":{\"header_bytes\":1024}}", 200, 900},
                {"{\"limits\":{\"header_bytes\":1024}}", 431, 1100}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        start(rows[i].settings);
        CLEANUP(buf_finish) struct buf more = BUF_INIT;
        buf_printf(&more, "X-Long: %0*d\r\n", rows[i].length, 0);
        expect(rows[i].status, rows[i].status == 431 ? "header_bytes" : NULL, "POST", "/mcp",
               more.data, "now");
        (void)stop(state);
    }
}

/* Two programs on the way must not see two different requests. */
static void smuggled_requests(void **state) {
    (void)state;
    start("{}");
    static const char *const refused[] = {
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET",
            "Content-Length: 3\r\nContent-Length: 4\r\n\r\nnow",
            "Content-Length: 3\r\nContent-Length: 3\r\n\r\nnow",
            "Content-Length: 3, 3\r\n\r\nnow",
            "Content-Length: +3\r\n\r\nnow",
            "Content-Length: -3\r\n\r\nnow",
            "Content-Length: 0x3\r\n\r\nnow",
            "Content-Length: 3 4\r\n\r\nnow",
            "Content-Length: 99999999999999999999\r\n\r\nnow",
            "Transfer-Encoding: gzip\r\n\r\nnow",
            "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked \r\n\r\n3\r\nnow\r\n0\r\n\r\n",
            "Transfer-Encoding: \013chunked\r\n\r\n3\r\nnow\r\n0\r\n\r\n",
            "Content-Length : 3\r\n\r\nnow",
            "Transfer-Encoding: chunked\r\n\r\nxyz\r\nnow\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nnowEXTRA\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nnow\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        struct client_left left = {0};
        char text[512];
        CLEANUP(closep) int fd = client_connect(port);
        (void)snprintf(
                text, sizeof text,
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s",
                refused[i]);
        (void)client_send_text(fd, text);
        struct client_response response = client_read(fd, &left);
        if (response.status == 200 || response.status == 202) {
            fail_msg("this was taken: %s", refused[i]);
        }
        client_response_finish(&response);
        /* Nothing that follows is taken for a request. */
        (void)client_request(fd, "POST", "/mcp", "", "now");
        if (!client_is_closed(fd)) {
            fail_msg("the connection stays open after: %s", refused[i]);
        }
        client_left_finish(&left);
    }
    assert_int_equal(0, atomic_load(&protocol.finished));
    expect_of(200, "{\"bytes\":10}",
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              "Transfer-Encoding: chunked\r\n\r\n4\r\necho\r\n6\r\n,12345\r\n0\r\n\r\n");
}

/* A text that may have zeros. */
struct bytes {
    const char *data;
    size_t length;
};
#define BYTES(text) \
    { text, sizeof(text) - 1 }

/* The parts of a head that is taken, which every other one differs from in one place. */
static const struct bytes ordinary[] = {
        BYTES("POST /mcp?a=b HTTP/1.1\r\n"), BYTES("Host: localhost\r\n"),
        BYTES("Content-Type: application/json\r\n"), BYTES("Content-Length: 3\r\n"), BYTES("\r\n")};

/* The head with another text in the place of `count` parts from `at` on. */
static void make_head(size_t at, size_t count, const struct bytes *part, struct buf *ret) {
    buf_clear(ret);
    for (size_t i = 0; i < ARRAY_LENGTH(ordinary); i++) {
        if (i == at) {
            buf_add(ret, part->data, part->length);
        }
        if (i < at || i >= at + count) {
            buf_add(ret, ordinary[i].data, ordinary[i].length);
        }
    }
    assert_false(ret->failed);
}

/* Whether a request with this head is refused, and nothing that follows it is taken. */
static void expect_distrust(const struct buf *head) {
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_send(fd, head->data, head->length);
    (void)client_send_text(fd, "now");
    (void)client_request(fd, "POST", "/mcp", "", "now");
    struct client_response response = client_read(fd, &left);
    if (response.status != 0 && response.status != 400) {
        fail_msg("%u for: %.*s", response.status, (int)head->length, head->data);
    }
    client_response_finish(&response);
    if (!client_is_closed(fd)) {
        fail_msg("the connection stays open after: %.*s", (int)head->length, head->data);
    }
    client_left_finish(&left);
    assert_int_equal(0, atomic_load(&protocol.finished));
}

/* Whether it is answered, and the request that follows it too. */
static void expect_trust(const char *head, size_t length) {
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_send(fd, head, length);
    (void)client_send_text(fd, "now");
    (void)client_request(fd, "POST", "/mcp", "", "now");
    for (unsigned i = 0; i < 2; i++) {
        struct client_response response = client_read(fd, &left);
        if (response.status != 200) {
            fail_msg("%u for: %.*s%s", response.status, (int)length, head,
                     response.body != NULL ? response.body : "");
        }
        client_response_finish(&response);
    }
    client_left_finish(&left);
}

static void a_head_has_one_reading(void **state) {
    (void)state;
    start("{}");
    static const struct bytes lines[] = {
            /* that go on in the next line */
            BYTES("X: a\r\n b\r\n"), BYTES("X: a\r\n\tb\r\n"), BYTES("X:\r\n b\r\n"),
            BYTES("X: a\r\n b\r\n c\r\n"), BYTES("X: a\r\n \r\n"), BYTES(" X: a\r\n"),
            BYTES("\tX: a\r\n"), BYTES("Transfer-Encoding:\r\n chunked\r\n"),
            BYTES("Transfer-Encoding:\r\n\tchunked\r\n"),
            BYTES("Transfer-Encoding\r\n : chunked\r\n"),
            /* that make up for the length of what is left out */
            BYTES("X:a\r\nY:b\r\nZ: c\r\n d\r\n"), BYTES("X:a\r\nY:\r\n b\r\n"),
            /* with half an end within */
            BYTES("X: a\rTransfer-Encoding: chunked\r\n"), BYTES("X: a\r\r\n"), BYTES("X\r: a\r\n"),
            BYTES("X:\ra\r\n"), BYTES("\rX: a\r\n"), BYTES("X: a\n"), BYTES("X: a\nY: b\r\n"),
            BYTES("X:  a\nY: b\r\n"), BYTES("X: a\r\nY: b\n"), BYTES("X:\n"),
            /* with characters that end a text, or that no header has */
            BYTES("X: a\0b\r\n"), BYTES("X: \0a\r\n"), BYTES("X: a\0\r\n"), BYTES("X: a\0 \r\n"),
            BYTES("X: a\0 \n"), BYTES("X: a\0\0\r\n"), BYTES("X\0: a\r\n"), BYTES("X\0Y: a\r\n"),
            BYTES("\0X: a\r\n"), BYTES("\0\r\n"), BYTES("Transfer-Encoding: \0chunked\r\n"),
            BYTES("X: a\0\r\nTransfer-Encoding: chunked\r\n"), BYTES("X: a\x01\r\n"),
            BYTES("X: \x0b\r\n"), BYTES("X: a\x7f\r\n"), BYTES("X y: a\r\n"), BYTES("X : a\r\n"),
            BYTES("X\t: a\r\n"), BYTES("X\x0b: a\r\n"), BYTES("X(: a\r\n"), BYTES(": a\r\n"),
            BYTES("X\r\n"), BYTES("X\xc3\xa4: a\r\n")};
    CLEANUP(buf_finish) struct buf head = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        for (size_t at = 1; at < ARRAY_LENGTH(ordinary); at++) {
            make_head(at, 0, &lines[i], &head);
            expect_distrust(&head);
        }
    }
    static const struct {
        size_t at;
        struct bytes part;
    } parts[] = {{0, BYTES("POST  /mcp HTTP/1.1\r\n")},
                 {0, BYTES("POST /mcp  HTTP/1.1\r\n")},
                 {0, BYTES("POST /mcp HTTP/1.1 \r\n")},
                 {0, BYTES("POST /mcp HTTP/1.1\r\r\n")},
                 {0, BYTES("POST /mcp HTTP/1.1\n")},
                 {0, BYTES("POST /mcp HTTP/1.1\0\n")},
                 {0, BYTES("POST /mcp?\rb HTTP/1.1\r\n")},
                 {0, BYTES("POST /mcp?\0b HTTP/1.1\r\n")},
                 {0, BYTES("POST /mcp?\tb HTTP/1.1\r\n")},
                 {0, BYTES("POST /mcp?a b HTTP/1.1\r\n")},
                 {0, BYTES("POST\t/mcp HTTP/1.1\r\n")},
                 {0, BYTES("POST\0 /mcp HTTP/1.1\r\n")},
                 {0, BYTES("POST /mcp HTTP/1.1\r\n\r\n")},
                 {1, BYTES("Host: localhost\n")},
                 {1, BYTES("Host:\r\n localhost\r\n")},
                 {2, BYTES("Content-Type: application/json\n")},
                 {3, BYTES("Content-Length:\r\n 3\r\n")},
                 {3, BYTES("Content-Length: 3\r\n 4\r\n")},
                 {3, BYTES("Content-Length: 3\0009\r\n")},
                 {3, BYTES("Content-Length: 3\0\r\n")},
                 {3, BYTES("Content-Length: 3\n")},
                 {3, BYTES("Content-Length: 3\r4\r\n")},
                 {3, BYTES("Content-Length\0: 3\r\n")},
                 {4, BYTES("\n")},
                 {4, BYTES("\0\r\n")},
                 {4, BYTES("\r\r\n")}};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        make_head(parts[i].at, 1, &parts[i].part, &head);
        expect_distrust(&head);
    }
    /* The same with LF at the end of every line. */
    make_head(0, 0, &(struct bytes)BYTES(""), &head);
    CLEANUP(buf_finish) struct buf bare = BUF_INIT;
    for (size_t i = 0; i < head.length; i++) {
        if (head.data[i] != '\r') {
            buf_add_char(&bare, head.data[i]);
        }
    }
    expect_distrust(&bare);
    /* Where one program sees chunks and another none. */
    static const struct bytes old = BYTES("POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n");
    make_head(0, 1, &old, &head);
    expect_distrust(&head);
}

static void heads_of_real_clients_are_taken(void **state) {
    (void)state;
    start("{\"limits\":{\"header_bytes\":60000}}");
    static const struct bytes lines[] = {BYTES("X:a\r\n"),
                                         BYTES("X:  a\r\n"),
                                         BYTES("X:\ta\r\n"),
                                         BYTES("X: a \t\r\n"),
                                         BYTES("X:\r\n"),
                                         BYTES("X: \r\n"),
                                         BYTES("X: a\tb c\r\n"),
                                         BYTES("X: \xc3\xa4\xff\r\n"),
                                         BYTES("X: a: b\r\n"),
                                         BYTES("!#$%&'*+-.^_`|~09azAZ: a\r\n"),
                                         BYTES("Cookie: a=b; c=\"d\"\r\n"),
                                         BYTES("X: a\r\nX: a\r\n")};
    CLEANUP(buf_finish) struct buf head = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        for (size_t at = 1; at < ARRAY_LENGTH(ordinary); at++) {
            make_head(at, 0, &lines[i], &head);
            expect_trust(head.data, head.length);
        }
    }
    static const char *const heads[] = {
            /* an empty line, as some send after a body (RFC 9112, 2.2) */
            "\r\nPOST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 3\r\n\r\n",
            /* a target with a query that is taken apart */
            "POST /mcp?a=%20b+c&d&=e&f=%00 HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n",
            /* curl */
            "POST /mcp HTTP/1.1\r\nHost: localhost:8137\r\nUser-Agent: curl/8.14.1\r\n"
            "Accept: */*\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n",
            /* fetch() of node */
            "POST /mcp HTTP/1.1\r\nhost: localhost:8137\r\nconnection: keep-alive\r\n"
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
            "accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\n"
            "accept-encoding: gzip, deflate\r\ncontent-length: 3\r\n\r\n",
            /* httpx and http.client of Python */
            "POST /mcp HTTP/1.1\r\nHost: localhost:8137\r\nAccept-Encoding: gzip, deflate\r\n"
            "Connection: keep-alive\r\nUser-Agent: python-httpx/0.28.1\r\n"
            "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
            "Content-Length: 3\r\n\r\n",
            "POST /mcp HTTP/1.1\r\nHost: localhost:8137\r\nAccept-Encoding: identity\r\n"
            "Content-Length: 3\r\nContent-Type: application/json\r\n\r\n",
            /* nginx before it, with connections that stay */
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: 192.0.2.1\r\n"
            "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nContent-Length: 3\r\n"
            "user-agent: node\r\naccept: application/json, text/event-stream\r\n"
            "content-type: application/json\r\n\r\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(heads); i++) {
        expect_trust(heads[i], strlen(heads[i]));
    }
    /* nginx without them */
    expect_of(200, NULL,
              "POST /mcp HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n"
              "content-type: application/json\r\n\r\nnow");
    /* more than the first memory of a connection holds */
    CLEANUP(buf_finish) struct buf wide = BUF_INIT;
    buf_add_text(&wide, "X-Wide: ");
    for (unsigned i = 0; i < 40000; i++) {
        buf_add_char(&wide, 'a');
    }
    buf_add_text(&wide, "\r\n");
    assert_false(wide.failed);
    make_head(2, 0, &(struct bytes){wide.data, wide.length}, &head);
    expect_trust(head.data, head.length);
}

/* What ends a chunk is read in two ways too, and cannot be seen: nothing follows. */
static void chunks_end_their_connection(void **state) {
    (void)state;
    start("{}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_send_text(
            fd, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n3;\nnow\r\n0\r\n\r\n");
    (void)client_request(fd, "POST", "/mcp", "", "now");
    struct client_response response = client_read(fd, &left);
    if (server->lenient) {
        assert_int_equal(200, response.status);
        assert_string_equal("close", client_header(&response, "Connection"));
    } else {
        assert_int_not_equal(200, response.status);
    }
    client_response_finish(&response);
    assert_true(client_is_closed(fd));
    assert_int_equal(server->lenient, atomic_load(&protocol.finished));
    client_left_finish(&left);
}

static void floods_of_headers(void **state) {
    (void)state;
    start("{\"limits\":{\"header_bytes\":8192}}");
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_send_text(fd, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    for (unsigned i = 0; i < 100000; i++) {
        if (!client_send_text(fd, "X-Some-Header: a value of it\r\n")) {
            break;
        }
    }
    assert_true(client_is_closed(fd));
    AWAIT(conn_count() == 0);
    expect(200, NULL, "POST", "/mcp", "", "now");
}

/* ---------------------------------------------------------------- bodies */

static void large_bodies(void **state) {
    (void)state;
    start("{}");
    char *body = malloc(64 * MIB + 1);
    assert_non_null(body);
    memset(body, 'x', 64 * MIB);
    memcpy(body, "echo", 4);
    body[64 * MIB] = '\0';
    expect(200, "{\"bytes\":67108864}", "POST", "/mcp", "", body);
    AWAIT(atomic_load(&server->body_bytes) == 0);
    free(body);
    /* One more is refused before it is sent. */
    expect_of(413, "67174400",
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              "Content-Length: 67174401\r\nExpect: 100-continue\r\n\r\n");
    expect_of(200, "now",
              "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nnow");
}

static void bodies_together(void **state) {
    (void)state;
    start("{\"limits\":{\"bodies_bytes\":100000}}");
    CLEANUP(closep) int fd = client_connect(port);
    char *body = calloc(1, 80001);
    memset(body, 'x', 80000);
    (void)client_send_text(fd, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: 80001\r\n\r\n");
    assert_true(client_send_text(fd, body));
    AWAIT(atomic_load(&server->body_bytes) == 80000);
    expect(503, "again later", "POST", "/mcp", "", body);
    (void)close(fd);
    fd = -1;
    AWAIT(atomic_load(&server->body_bytes) == 0);
    memcpy(body, "echo", 4);
    expect(200, "80000", "POST", "/mcp", "", body);
    free(body);
}

/* ---------------------------------------------------------------- clients that leave or linger */

static void clients_that_leave(void **state) {
    (void)state;
    start("{}");
    static const char *const bodies[] = {"hold", "events"};
    for (unsigned i = 0; i < ARRAY_LENGTH(bodies); i++) {
        CLEANUP(closep) int fd = client_connect(port);
        assert_true(client_request(fd, "POST", "/mcp", "", bodies[i]));
        AWAIT(held() == 1);
        (void)close(fd);
        fd = -1;
        AWAIT(atomic_load(&protocol.gone) == i + 1);
        assert_int_equal(0, held());
    }
    AWAIT(conn_count() == 0);
}

static void a_client_that_leaves_its_stream(void **state) {
    (void)state;
    start("{}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(
            client_request(fd, "GET", "/mcp", "Mcp-Session-Id: x\r\nLast-Event-ID: e7\r\n", NULL));
    struct client_response response = client_read_until(fd, &left, "e7");
    assert_int_equal(200, response.status);
    assert_string_equal("id: e7\ndata:\n\n", response.body);
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(fd);
    fd = -1;
    AWAIT(atomic_load(&protocol.gone) == 1);
}

/* Begin a stream that waits, beside an older connection of the same thread: the oldest is looked at
 * whenever libmicrohttpd looks at any. At a socket in the file system there is one thread. */
static int begin_beside(int *older, const char *version) {
    start_at("{\"limits\":{\"stream_bytes\":100000}}", (const char *[]){NULL},
             (const char *[]){socket_path, NULL});
    *older = client_connect_path(socket_path);
    AWAIT(conn_count() == 1);
    int fd = client_connect_path(socket_path);
    char text[256];
    (void)snprintf(text, sizeof text,
                   "POST /mcp %s\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\nContent-Length: 6\r\n\r\n"
                   "events",
                   version);
    assert_true(client_send_text(fd, text));
    struct client_left left = {0};
    struct client_response response = client_read_until(fd, &left, "first");
    assert_int_equal(200, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
    AWAIT(held() == 1);
    return fd;
}

static void flood_the_held(void) {
    static char text[60000];
    memset(text, 'x', sizeof text - 1);
    for (unsigned i = 0; i < 1000 && atomic_load(&protocol.gone) == 0; i++) {
        (void)pthread_mutex_lock(&protocol.lock);
        if (protocol.held[0] != NULL) {
            send_text(protocol.held[0], NULL, text);
        }
        (void)pthread_mutex_unlock(&protocol.lock);
    }
}

static void finish_the_held(const char *text) {
    (void)pthread_mutex_lock(&protocol.lock);
    answer(protocol.held[0], 200, text);
    protocol.held[0] = NULL;
    (void)pthread_mutex_unlock(&protocol.lock);
}

/* A stream of HTTP/1.0 ends with its connection, one of HTTP/1.1 does not. */
static void streams_end_beside_others(void **state) {
    enum end { LEAVES, NEVER_READS, IS_ANSWERED, IS_ENDED };
    static const struct {
        const char *version;
        enum end end;
        unsigned stay;
    } rows[] = {{"HTTP/1.1", LEAVES, 1},      {"HTTP/1.1", NEVER_READS, 1},
                {"HTTP/1.1", IS_ANSWERED, 2}, {"HTTP/1.1", IS_ENDED, 2},
                {"HTTP/1.0", LEAVES, 1},      {"HTTP/1.0", NEVER_READS, 1},
                {"HTTP/1.0", IS_ANSWERED, 1}, {"HTTP/1.0", IS_ENDED, 1}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(closep) int older = -1;
        CLEANUP(closep) int fd = begin_beside(&older, rows[i].version);
        switch (rows[i].end) {
        case LEAVES:
            (void)close(fd);
            fd = -1;
            break;
        case NEVER_READS: flood_the_held(); break;
        case IS_ANSWERED: finish_the_held("{\"last\":true}"); break;
        case IS_ENDED: finish_the_held(NULL); break;
        }
        AWAIT(atomic_load(&server->running) == 0);
        AWAIT(conn_count() == rows[i].stay);
        assert_int_equal(0, stop(state));
    }
}

/* Its request and its end may reach the server at once. */
static void the_end_of_no_client_is_lost(void **state) {
    (void)state;
    start("{}");
    for (size_t i = 0; i < 60; i++) {
        struct client_left left = {0};
        CLEANUP(closep) int fd = client_connect(port);
        assert_true(client_request(fd, "POST", "/mcp", "", "now"));
        (void)shutdown(fd, SHUT_WR);
        struct client_response response = client_read(fd, &left);
        assert_int_equal(200, response.status);
        client_response_finish(&response);
        client_left_finish(&left);
    }
    AWAIT(conn_count() == 0); /* long before they have been idle for a minute */
}

static void addresses_of_this_machine_are_one(void **state) {
    (void)state;
    static const struct {
        const char *one;
        const char *other;
        bool same;
    } rows[] = {{"127.0.0.1", "127.8.9.10", true},
                {"10.0.0.1", "10.0.0.2", false},
                {"127.0.0.1", "128.0.0.1", false}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        unsigned char keys[2][16];
        for (size_t k = 0; k < 2; k++) {
            struct sockaddr_storage address = {0};
            struct sockaddr_in *four = (struct sockaddr_in *)&address;
            four->sin_family = AF_INET;
            assert_int_equal(
                    1, inet_pton(AF_INET, k == 0 ? rows[i].one : rows[i].other, &four->sin_addr));
            address_key(&address, keys[k]);
        }
        assert_int_equal(rows[i].same, memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
    }
}

/* A thread that reads what the configuration names must not wait for whoever writes it. */
static void only_regular_files_are_read(void **state) {
    (void)state;
    char place[] = "/tmp/toolrack-whole-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(place));
    (void)snprintf(path, sizeof path, "%s/fifo", place);
    assert_int_equal(0, mkfifo(path, 0600));
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error err = {0};
    assert_int_equal(TOOLRACK_E_IO, whole_read("/serve/tls/key", path, 10, &text, &err));
    assert_non_null(strstr(err.message, "it is not a regular file"));
    assert_string_equal("/serve/tls/key", err.field);
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, rmdir(place));
}

/* However the two threads that hear of it come to it. */
static void who_closes_with_the_request_gets_the_answer(void **state) {
    (void)state;
    start("{}");
    for (int i = 0; i < 300; i++) {
        struct client_left left = {0};
        CLEANUP(closep) int fd = client_connect(port);
        assert_true(client_request(fd, "POST", "/mcp", "", "now"));
        (void)shutdown(fd, SHUT_WR);
        struct client_response response = client_read(fd, &left);
        assert_int_equal(200, response.status);
        client_response_finish(&response);
        client_left_finish(&left);
    }
    AWAIT(conn_count() == 0);
}

static const char json_alone[] =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
        "Accept: application/json\r\nContent-Type: application/json\r\n\r\nhold";

/* However long it takes, and whether its side is closed meanwhile; who is gone is noticed. */
static void who_takes_json_alone_gets_no_stream(void **state) {
    (void)state;
    start("{\"limits\":{\"keep_alive_s\":1}}");
    CLEANUP(closep) int silent = client_connect(port);
    CLEANUP(closep) int half_closed = client_connect(port);
    CLEANUP(closep) int stream = client_connect(port);
    int gone = client_connect(port);
    const int fds[] = {silent, half_closed, gone};
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        assert_true(client_send_text(fds[i], json_alone));
        AWAIT(held() == i + 1);
    }
    (void)shutdown(half_closed, SHUT_WR);
    (void)close(gone);
    AWAIT(atomic_load(&protocol.gone) == 1);
    struct client_left left = {0};
    assert_true(client_request(stream, "POST", "/mcp", "", "events"));
    struct client_response response = client_read_until(stream, &left, ":\n\n:\n\n");
    client_response_finish(&response);
    client_left_finish(&left);
    char first[128] = "";
    static const char probe[] = "HTTP/1.1 102 Processing\r\n\r\n";
    assert_int_equal(strlen(probe), patience_read(half_closed, first, strlen(probe)));
    assert_string_equal(probe, first);
    let_go();
    for (size_t i = 0; i < 2; i++) {
        response = client_read(fds[i], &left);
        assert_int_equal(200, response.status);
        assert_string_equal("application/json", client_header(&response, "Content-Type"));
        assert_string_equal("{\"held\":true}", response.body);
        client_response_finish(&response);
        client_left_finish(&left);
    }
    assert_int_equal(1, atomic_load(&protocol.gone));
}

static void half_closed_clients_get_their_answer(void **state) {
    (void)state;
    start("{}");
    /* At once; and when its side is closed before the answer, or before the rest of the stream. */
    static const char *const bodies[] = {"now", "hold", "events"};
    for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
        struct client_left left = {0};
        CLEANUP(closep) int fd = client_connect(port);
        assert_true(client_request(fd, "POST", "/mcp", "", bodies[i]));
        AWAIT(i == 0 || held() == 1);
        (void)shutdown(fd, SHUT_WR);
        let_go();
        struct client_response response = client_read(fd, &left);
        assert_int_equal(200, response.status);
        assert_true(response.ended);
        assert_true(i == 0 || strstr(response.body, "{\"held\":true}") != NULL);
        client_response_finish(&response);
        client_left_finish(&left);
    }
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", "", "hold"));
    AWAIT(held() == 1);
    (void)shutdown(fd, SHUT_WR);
    /* The comment that finds out whether it is still there. */
    char first[512];
    ssize_t got = patience_read(fd, first, sizeof first - 1);
    assert_true(got > 0);
    first[got] = '\0';
    assert_non_null(strstr(first, "200 OK"));
    assert_non_null(strstr(first, "\r\n\r\n:\n\n"));
    assert_int_equal(1, held());
    let_go();
    left = (struct client_left){.bytes = strdup(first), .length = (size_t)got};
    struct client_response response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    assert_string_equal(":\n\ndata: {\"held\":true}\n\n", response.body);
    client_response_finish(&response);
    client_left_finish(&left);
    assert_int_equal(0, atomic_load(&protocol.gone));
}

static void clients_that_send_slowly(void **state) {
    (void)state;
    start("{\"limits\":{\"read_s\":1,\"idle_s\":1}}");
    static const char *const beginnings[] = {
            "", "PO", "POST /mcp HTTP/1.1\r\nHost: lo",
            ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: 1000\r\n\r\n")};
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++) {
        CLEANUP(closep) int fd = client_connect(port);
        (void)client_send_text(fd, beginnings[i]);
        uint64_t since = 0;
        /* A byte now and then does not help. */
        struct pollfd look = {.fd = fd, .events = POLLIN | POLLRDHUP};
        while (poll(&look, 1, 100) == 0) {
            (void)client_send_text(fd, i == 0 ? "\r\n" : "a");
            assert_true(patience_yield(&since));
        }
        assert_true(client_is_closed(fd));
    }
    AWAIT(conn_count() == 0);
    assert_int_equal(0, atomic_load(&protocol.finished));
}

static void idle_connections_end(void **state) {
    (void)state;
    start("{\"limits\":{\"idle_s\":1}}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", "", "now"));
    struct client_response response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    assert_true(client_is_closed(fd));
    client_response_finish(&response);
    client_left_finish(&left);
}

static void a_client_that_never_reads(void **state) {
    (void)state;
    start("{\"limits\":{\"stream_bytes\":1000000,\"write_s\":60}}");
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", "", "flood"));
    AWAIT(atomic_load(&protocol.gone) == 1);
    AWAIT(atomic_load(&protocol.threads) == 0);
    AWAIT(conn_count() == 0);
}

/* Its answer is small enough for the limit of memory, so that the limit of time ends it. */
static void a_client_that_reads_too_late(void **state) {
    (void)state;
    start("{\"limits\":{\"stream_bytes\":400000000,\"write_s\":1}}");
    int size = 4096;
    CLEANUP(closep) int fd = client_connect(port);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    assert_true(client_request(fd, "POST", "/mcp", "", "events"));
    AWAIT(held() == 1);
    static char text[4 * MIB];
    memset(text, 'x', sizeof text - 1);
    (void)pthread_mutex_lock(&protocol.lock);
    for (unsigned i = 0; i < 8; i++) {
        send_text(protocol.held[0], NULL, text);
    }
    (void)pthread_mutex_unlock(&protocol.lock);
    AWAIT(atomic_load(&protocol.gone) == 1);
    AWAIT(conn_count() == 0);
}

static void silent_streams_get_comments(void **state) {
    (void)state;
    start("{\"limits\":{\"keep_alive_s\":1}}");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", "", "events"));
    struct client_response response = client_read_until(fd, &left, "\n:\n\n");
    assert_string_equal("data: {\"first\":true}\n\n:\n\n", response.body);
    client_response_finish(&response);
    client_left_finish(&left);
}

/* In how many seconds the thread that watches connections looks at them, if nothing happens. */
static uint64_t watch_sleeps_s(void) {
    uint64_t until_ms = atomic_load(&server->watch_until_ms);
    uint64_t now_ms = server_now_ms();
    return until_ms == UINT64_MAX || until_ms < now_ms ? 0 : (until_ms - now_ms) / 1000;
}

static void the_watch_sleeps_until_something_is_due(void **state) {
    (void)state;
    start("{\"limits\":{\"keep_alive_s\":3600,\"idle_s\":1800}}");
    CLEANUP(closep) int stream = client_connect(port);
    assert_true(client_request(stream, "POST", "/mcp", "", "events"));
    AWAIT(watch_sleeps_s() > 3500); /* until the stream is to get a comment */
    CLEANUP(closep) int idle = client_connect(port);
    assert_true(client_request(idle, "POST", "/mcp", "", "now"));
    AWAIT(watch_sleeps_s() > 1700 && watch_sleeps_s() <= 1800); /* until the other has idled */
    (void)close(stream); /* which it hears of while it sleeps */
    stream = -1;
    AWAIT(atomic_load(&protocol.gone) == 1);
}

static void a_thousand_streams(void **state) {
    (void)state;
    start("{\"limits\":{\"connections_per_address\":1100,\"streams\":2200}}");
    struct rlimit limit;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    size_t count =
            limit.rlim_cur >= 2 * STREAM_COUNT + 200 ? STREAM_COUNT : limit.rlim_cur / 2 - 100;
    int *fds = calloc(count, sizeof *fds);
    for (size_t i = 0; i < count; i++) {
        fds[i] = client_connect(port);
        assert_true(fds[i] >= 0);
        assert_true(client_request(fds[i], "POST", "/mcp", "", "events"));
    }
    AWAIT(held() == count);
    expect(200, "now", "POST", "/mcp", "", "now");
    expect(200, "later", "POST", "/mcp", "", "later");
    /* Half of them leave, the others get an answer. */
    for (size_t i = 0; i < count; i += 2) {
        (void)close(fds[i]);
    }
    AWAIT(atomic_load(&protocol.gone) == (count + 1) / 2);
    let_go();
    for (size_t i = 1; i < count; i += 2) {
        struct client_left left = {0};
        struct client_response response = client_read(fds[i], &left);
        assert_true(response.ended && strstr(response.body, "held") != NULL);
        client_response_finish(&response);
        client_left_finish(&left);
        (void)close(fds[i]);
    }
    free(fds);
    AWAIT(conn_count() == 0);
}

/* Connections of which each has had a request. */
static void connect_served(int *fds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct client_left left = {0};
        fds[i] = client_connect(port);
        assert_true(client_request(fds[i], "POST", "/mcp", "", "now"));
        struct client_response response = client_read(fds[i], &left);
        assert_int_equal(200, response.status);
        client_response_finish(&response);
        client_left_finish(&left);
    }
}

static void close_all(int *fds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
    AWAIT(conn_count() == 0);
}

static void too_many(void **state) {
    (void)state;
    start("{\"limits\":{\"connections\":4,\"streams\":4}}");
    int fds[4];
    connect_served(fds, ARRAY_LENGTH(fds));
    expect(503, "connections", "POST", "/mcp", "", "now");
    for (size_t i = 0; i < 2; i++) {
        assert_true(client_request(fds[i], "POST", "/mcp", "", "hold"));
    }
    AWAIT(held() == 2);
    struct client_left left = {0};
    assert_true(client_request(fds[2], "POST", "/mcp", "", "now"));
    struct client_response response = client_read(fds[2], &left);
    assert_int_equal(429, response.status); /* one party: half of them */
    assert_string_equal("1", client_header(&response, "Retry-After"));
    client_response_finish(&response);
    let_go();
    AWAIT(atomic_load(&server->running) == 0);
    assert_true(client_request(fds[2], "POST", "/mcp", "", "now"));
    response = client_read(fds[2], &left);
    assert_int_equal(200, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
    close_all(fds, ARRAY_LENGTH(fds));
    assert_int_equal(0, stop(NULL));

    start("{\"limits\":{\"connections_per_address\":1}}");
    connect_served(fds, 1);
    expect(503, "connections_per_address", "POST", "/mcp", "", "now");
    close_all(fds, 1);
}

static unsigned count_kind(enum conn_kind kind) {
    LOCK_SCOPE(&server->lock);
    return server->kind_counts[kind];
}

static uint64_t begun_count(void) {
    LOCK_SCOPE(&server->lock);
    return server->next_id;
}

/* Those that are refused take no place of others, and the owner of the socket has one. */
static void an_address_leaves_places_to_others(void **state) {
    (void)state;
    int served[2];
    int fds[10];
    start_at("{\"limits\":{\"connections\":4,\"connections_per_address\":2}}",
             (const char *[]){"127.0.0.1:0", "[::1]:0", NULL}, (const char *[]){socket_path, NULL});
    connect_served(served, ARRAY_LENGTH(served));
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        fds[i] = client_connect(port);
        assert_true(fds[i] >= 0);
    }
    AWAIT(count_kind(CONN_CROWDED) == ARRAY_LENGTH(fds));
    assert_int_equal(2, count_kind(CONN_REMOTE));
    expect(503, "connections_per_address", "POST", "/mcp", "", "now");
    int local[4];
    for (size_t i = 0; i < ARRAY_LENGTH(local); i++) {
        struct client_left left = {0};
        local[i] = client_connect_path(socket_path);
        assert_true(client_request(local[i], "POST", "/mcp", "", "now"));
        struct client_response response = client_read(local[i], &left);
        assert_int_equal(200, response.status);
        client_response_finish(&response);
        client_left_finish(&left);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(local); i++) {
        (void)close(local[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        (void)close(fds[i]);
    }
    close_all(served, ARRAY_LENGTH(served));
    assert_int_equal(0, count_kind(CONN_CROWDED));
}

/* Users of this machine have the same addresses. */
static void a_user_leaves_places_to_others(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    start("{\"limits\":{\"connections_per_address\":2}}");
    int served[2];
    connect_served(served, ARRAY_LENGTH(served));
    expect(503, "connections_per_address", "POST", "/mcp", "", "now");
    send_as(65534, "\"who\":\"uid:65534\"}");
    AWAIT(atomic_load(&note_count) == 1);
    assert_non_null(strstr(noted, "too many connections of user 0"));
    expect(503, "connections_per_address", "POST", "/mcp", "", "now");
    assert_int_equal(1, atomic_load(&note_count)); /* not a line for each */
    close_all(served, ARRAY_LENGTH(served));
}

/* Who sends no whole request keeps nobody out: of the same user, of others, and of those that are
 * to hear that there are too many. */
static void what_is_half_sent_is_given_up_first(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        unsigned served; /* connections that are not given up */
        unsigned status; /* of who comes then */
        unsigned kept;   /* of the half-sent ones */
    } rows[] = {
            {"{\"limits\":{\"connections_per_address\":4}}", 2, 200, 1},
            {"{\"limits\":{\"connections\":4}}", 2, 200, 1},
            {"{\"limits\":{\"connections_per_address\":2}}", 2, 503, SERVER_CONNECTIONS_MORE - 1}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        int served[2];
        int half[SERVER_CONNECTIONS_MORE + 20];
        start(rows[i].settings);
        connect_served(served, rows[i].served);
        for (size_t j = 0; j < ARRAY_LENGTH(half); j++) {
            half[j] = client_connect(port);
            assert_true(half[j] >= 0);
            bool is_refused = rows[i].status == 503 && j % 3 == 2; /* at its head, and closed */
            (void)client_send_text(half[j], j % 3 == 0 || is_refused ? ""
                                            : j % 3 == 1 ? "POST /mcp HTTP/1.1\r\nHost: loc"
                                                         : "POST /mcp HTTP/1.1\r\n"
                                                           "Host: localhost\r\n"
                                                           "Content-Length: 100\r\n\r\n{");
        }
        AWAIT(begun_count() == rows[i].served + ARRAY_LENGTH(half)); /* by several threads */
        expect(rows[i].status, NULL, "POST", "/mcp", "", "now");
        AWAIT(conn_count() == rows[i].served + rows[i].kept);
        assert_true(client_is_closed(half[0]));
        assert_int_equal(1, atomic_load(&note_count));
        struct client_left left = {0};
        assert_true(client_request(served[0], "POST", "/mcp", "", "now"));
        struct client_response response = client_read(served[0], &left);
        assert_int_equal(200, response.status);
        client_response_finish(&response);
        client_left_finish(&left);
        for (size_t j = 0; j < ARRAY_LENGTH(half); j++) {
            (void)close(half[j]);
        }
        close_all(served, rows[i].served);
        assert_int_equal(0, stop(NULL));
    }
}

/* Where the process may have fewer descriptors than connections, libmicrohttpd would leave those
 * that come in the queue of the kernel. The last test: the limit is not raised again. */
static void connections_fit_the_open_files(void **state) {
    (void)state;
    static const struct {
        rlim_t files;
        unsigned connections;
        unsigned of_one;
    } rows[] = {{8192, 4096, 2048}, {4224, 3072, 1536}, {1024, 384, 192}, {256, 64, 32}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct rlimit limit;
        assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
        if (limit.rlim_max < rows[i].files) {
            continue;
        }
        limit = (struct rlimit){.rlim_cur = rows[i].files, .rlim_max = rows[i].files};
        assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
        start("{}");
        assert_int_equal(rows[i].connections, server->settings.limits.connections);
        assert_int_equal(rows[i].of_one, server->settings.limits.connections_per_address);
        assert_int_equal(i > 0, atomic_load(&note_count));
        assert_true(i == 0 || strstr(noted, "open files") != NULL);
        assert_int_equal(0, stop(NULL));
    }
}

/* ---------------------------------------------------------------- listeners */

static void several_listeners(void **state) {
    (void)state;
    start_at("{}", (const char *[]){"127.0.0.1:0", "[::1]:0", NULL},
             (const char *[]){socket_path, NULL});
    expect(200, "nobody", "POST", "/mcp", "", "who");
    assert_int_equal(0, strncmp(server->listeners[1].where, "http://[::1]:", 13));
    struct stat status;
    assert_int_equal(0, stat(socket_path, &status));
    assert_int_equal(0600, status.st_mode & 07777);
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect_path(socket_path);
    assert_true(client_request(fd, "POST", "/mcp", "Host: whatever.example.com\r\n", "who"));
    struct client_response response = client_read(fd, &left);
    char user[32];
    (void)snprintf(user, sizeof user, "\"uid:%u\"", (unsigned)getuid());
    assert_int_equal(200, response.status);
    assert_non_null(strstr(response.body, user));
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(fd);
    fd = -1;
    /* A second server does not take the socket away, a later one does. */
    struct toolrack_error err = {0};
    struct socket_file file;
    int taken = -1;
    assert_int_equal(TOOLRACK_E_EXISTS, address_listen_path(socket_path, &taken, &file, &err));
    assert_int_equal(0, stop(NULL));
    assert_int_equal(-1, access(socket_path, F_OK));
    CLEANUP(closep) int stale = -1;
    assert_int_equal(0, address_listen_path(socket_path, &stale, &file, &err));
    (void)close(stale);
    stale = -1;
    assert_int_equal(0, address_listen_path(socket_path, &stale, &file, &err));
}

/* Who puts a socket of its own in the place of a server's keeps it when that ends. */
static void the_socket_of_another_stays(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    struct socket_file file;
    CLEANUP(closep) int other = -1;
    start_at("{}", (const char *[]){"127.0.0.1:0", NULL}, (const char *[]){socket_path, NULL});
    assert_int_equal(0, unlink(socket_path));
    assert_int_equal(0, address_listen_path(socket_path, &other, &file, &err));
    assert_true(server_drain(server, -1));
    assert_int_equal(0, access(socket_path, F_OK));
    assert_int_equal(0, stop(NULL));
    CLEANUP(closep) int fd = client_connect_path(socket_path);
    assert_true(fd >= 0);
    address_leave_path(socket_path, &file);
    assert_int_equal(-1, access(socket_path, F_OK));
    /* Nor does a server that drains take it from the next one. */
    start_at("{}", (const char *[]){"127.0.0.1:0", NULL}, (const char *[]){socket_path, NULL});
    assert_true(server_drain(server, -1));
    (void)close(other);
    other = -1;
    assert_int_equal(0, address_listen_path(socket_path, &other, &file, &err));
    assert_int_equal(0, stop(NULL));
    assert_int_equal(0, access(socket_path, F_OK));
    address_leave_path(socket_path, &file);
}

static void addresses_that_need_authorisation(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        const char *listen;
        int code;
    } rows[] = {
            {"{}", "0.0.0.0:0", TOOLRACK_E_REFUSED},
            {"{}", "[::]:0", TOOLRACK_E_REFUSED},
            {"{\"public_url\":\"https://tools.example.com\"}", "127.0.0.1:0", TOOLRACK_E_REFUSED},
            {"{\"trusted_proxies\":[\"127.0.0.1\"]}", "127.0.0.1:0", TOOLRACK_E_REFUSED},
            {"{\"public_url\":\"https://tools.example.com/\"}", "127.0.0.1:0", TOOLRACK_E_INVALID},
            {"{\"public_url\":\"https://tools example.com\"}", "127.0.0.1:0", TOOLRACK_E_INVALID},
            {"{\"trusted_proxies\":[\"10.0.0.0/33\"]}", "127.0.0.1:0", TOOLRACK_E_INVALID},
            {"{\"origins\":[\"https://*\"]}", "127.0.0.1:0", TOOLRACK_E_INVALID},
            {"{\"hosts\":[\"a b\"]}", "127.0.0.1:0", TOOLRACK_E_INVALID},
            {"{\"tls\":{\"key\":\"/x\"}}", "127.0.0.1:0", TOOLRACK_E_INVALID},
            {"{}", "tools.example.com:80", TOOLRACK_E_INVALID},
            {"{}", "127.0.0.1", TOOLRACK_E_INVALID},
            {"{}", "127.0.0.1:70000", TOOLRACK_E_INVALID},
            {"{}", "203.0.113.1:0", TOOLRACK_E_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct toolrack_error err = {0};
        struct server *none = NULL;
        const struct server_start start = {.host = host,
                                           .settings = rows[i].settings,
                                           .listen = (const char *[]){rows[i].listen, NULL}};
        assert_int_equal(rows[i].code, server_start(&start, &none, &err));
        assert_true(strlen(err.message) > 20);
    }
}

static void the_end_is_graceful(void **state) {
    (void)state;
    start("{}");
    struct client_left left = {0};
    CLEANUP(closep) int idle = client_connect(port);
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", "", "hold"));
    AWAIT(held() == 1);
    AWAIT(conn_count() == 2);
    /* With something readable the drain ends at once, and the call runs on. */
    int hurry[2];
    assert_int_equal(0, pipe(hurry));
    assert_int_equal(1, write(hurry[1], "x", 1));
    assert_false(server_drain(server, hurry[0]));
    assert_true(protocol.drained);
    expect(503, NULL, "POST", "/mcp", "", "now"); /* of a new connection */
    assert_true(client_request(idle, "POST", "/mcp", "", "now"));
    struct client_response response = client_read(idle, &left);
    assert_int_equal(503, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
    let_go();
    assert_true(server_drain(server, -1));
    response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    assert_string_equal("close", client_header(&response, "Connection"));
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(hurry[0]);
    (void)close(hurry[1]);
}

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(socket_path, sizeof socket_path, "%s/socket",
                   mkdtemp(folder) != NULL ? folder : "");
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = 1;
    return toolrack_open(&options, &host, NULL);
}

static int remove_folder(void **state) {
    (void)state;
    toolrack_close(host);
    (void)unlink(socket_path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_teardown(answers, stop),
            cmocka_unit_test_teardown(many_threads_answer, stop),
            cmocka_unit_test_teardown(pipelined_requests, stop),
            cmocka_unit_test_teardown(principals_and_headers, stop),
            cmocka_unit_test_teardown(who_sends_what_has_no_token, stop),
            cmocka_unit_test_teardown(who_has_sent_and_gone_is_known, stop),
            cmocka_unit_test_teardown(the_owner_of_a_connection, stop),
            cmocka_unit_test_teardown(hosts_and_origins, stop),
            cmocka_unit_test_teardown(hosts_and_origins_are_those_of_browsers, stop),
            cmocka_unit_test_teardown(the_host_of_each_request_counts, stop),
            cmocka_unit_test_teardown(browsers_of_named_origins, stop),
            cmocka_unit_test_teardown(the_host_of_the_target_counts, stop),
            cmocka_unit_test_teardown(get_and_delete_are_of_sessions, stop),
            cmocka_unit_test_teardown(a_status_has_the_headers_that_it_needs, stop),
            cmocka_unit_test_teardown(refusals, stop),
            cmocka_unit_test_teardown(headers_have_a_limit, stop),
            cmocka_unit_test_teardown(smuggled_requests, stop),
            cmocka_unit_test_teardown(a_head_has_one_reading, stop),
            cmocka_unit_test_teardown(heads_of_real_clients_are_taken, stop),
            cmocka_unit_test_teardown(chunks_end_their_connection, stop),
            cmocka_unit_test_teardown(floods_of_headers, stop),
            cmocka_unit_test_teardown(large_bodies, stop),
            cmocka_unit_test_teardown(bodies_together, stop),
            cmocka_unit_test_teardown(clients_that_leave, stop),
            cmocka_unit_test_teardown(a_client_that_leaves_its_stream, stop),
            cmocka_unit_test_teardown(streams_end_beside_others, stop),
            cmocka_unit_test_teardown(who_closes_with_the_request_gets_the_answer, stop),
            cmocka_unit_test_teardown(who_takes_json_alone_gets_no_stream, stop),
            cmocka_unit_test_teardown(half_closed_clients_get_their_answer, stop),
            cmocka_unit_test_teardown(the_end_of_no_client_is_lost, stop),
            cmocka_unit_test(addresses_of_this_machine_are_one),
            cmocka_unit_test(only_regular_files_are_read),
            cmocka_unit_test_teardown(clients_that_send_slowly, stop),
            cmocka_unit_test_teardown(idle_connections_end, stop),
            cmocka_unit_test_teardown(a_client_that_never_reads, stop),
            cmocka_unit_test_teardown(a_client_that_reads_too_late, stop),
            cmocka_unit_test_teardown(silent_streams_get_comments, stop),
            cmocka_unit_test_teardown(the_watch_sleeps_until_something_is_due, stop),
            cmocka_unit_test_teardown(a_thousand_streams, stop),
            cmocka_unit_test_teardown(too_many, stop),
            cmocka_unit_test_teardown(an_address_leaves_places_to_others, stop),
            cmocka_unit_test_teardown(a_user_leaves_places_to_others, stop),
            cmocka_unit_test_teardown(what_is_half_sent_is_given_up_first, stop),
            cmocka_unit_test_teardown(several_listeners, stop),
            cmocka_unit_test_teardown(the_socket_of_another_stays, stop),
            cmocka_unit_test_teardown(addresses_that_need_authorisation, stop),
            cmocka_unit_test_teardown(the_end_is_graceful, stop),
            cmocka_unit_test_teardown(connections_fit_the_open_files, stop),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
