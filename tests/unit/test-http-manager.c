/* The server and the service manager: sockets that are handed over, and beats of the watchdog. */
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/manager.h"
#include "http-client.h"
#include "patience.h"
#include "serve/http/beat.h"
#include "serve/http/parts.h"

#define WATCHDOG_MS 400

/* ---------------------------------------------------------------- a front that can hang */

static atomic_bool hangs;
static atomic_uint inside;

void mcp_post(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
              char *text, size_t length, struct exchange *exchange) {
    (void)mcp;
    (void)principal;
    (void)headers;
    (void)text;
    (void)length;
    exchange->calls->finish(exchange, &(struct exchange_answer){.status = 500});
}

void mcp_get(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
             struct exchange *exchange) {
    mcp_post(mcp, principal, headers, NULL, 0, exchange);
}

void mcp_delete(struct mcp *mcp, const struct principal *principal,
                const struct mcp_headers *headers, struct exchange *exchange) {
    mcp_post(mcp, principal, headers, NULL, 0, exchange);
}

void mcp_gone(struct exchange *exchange) {
    (void)exchange;
}

void mcp_cut(struct mcp *mcp) {
    (void)mcp;
}

void mcp_drain(struct mcp *mcp) {
    (void)mcp;
}

static bool find(struct front *front, const char *method, const char *target,
                 struct front_route *ret) {
    (void)front;
    (void)method;
    (void)target;
    *ret = (struct front_route){.gives = FRONT_GIVES_JSON, .route = "/", .class = FRONT_PUBLIC};
    return true;
}

static void receive(struct front *front, const struct principal *principal,
                    const struct front_request *request, struct exchange *exchange) {
    (void)front;
    (void)principal;
    (void)request;
    uint64_t since = 0;
    (void)atomic_fetch_add(&inside, 1);
    while (atomic_load(&hangs) && patience_yield(&since)) {
    }
    exchange->calls->finish(exchange,
                            &(struct exchange_answer){.status = 200, .text = "{}", .length = 2});
}

static void gone(struct front *front, struct exchange *exchange) {
    (void)front;
    (void)exchange;
}

static void drain(struct front *front) {
    (void)front;
}

static void refuse(struct buf *out, unsigned status, const char *message) {
    buf_printf(out, "%u %s", status, message);
}

static const struct front_calls calls = {.find = find,
                                         .receive = receive,
                                         .gone = gone,
                                         .drain = drain,
                                         .refuse = refuse,
                                         .refusal_type = "text/front"};

/* ---------------------------------------------------------------- the manager */

static struct toolrack *host;
static struct server *server;
static char folder[] = "/tmp/toolrack-test-manager-XXXXXX";

static void put_path(struct sockaddr_un *ret, const char *name) {
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%s", folder, name);
}

/* A manager that is told things at a socket of its own. */
static int begin_manager(struct manager *ret) {
    *ret = (struct manager){.watchdog_us = WATCHDOG_MS * 1000,
                            .address_size = sizeof ret->address,
                            .fd = socket(AF_UNIX, SOCK_DGRAM, 0)};
    put_path(&ret->address, "notify");
    int told = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(told, (struct sockaddr *)&ret->address, sizeof ret->address), 0);
    return told;
}

/* Read all that was told within some time. */
static unsigned count_beats(int told, int within_ms) {
    struct pollfd wait = {.fd = told, .events = POLLIN};
    unsigned count = 0;
    char text[64];
    while (poll(&wait, 1, within_ms) > 0) {
        ssize_t got = recv(told, text, sizeof text - 1, 0);
        assert_true(got > 0);
        text[got] = '\0';
        assert_string_equal(text, "WATCHDOG=1");
        count++;
    }
    return count;
}

static void await_beats(int told, unsigned count) {
    struct pollfd wait = {.fd = told, .events = POLLIN};
    for (char text[64]; count > 0; count--) {
        assert_int_equal(poll(&wait, 1, PATIENCE_S * 1000), 1);
        assert_true(recv(told, text, sizeof text, 0) > 0);
    }
}

/* ---------------------------------------------------------------- the server */

static int start(const struct manager *manager, const char *settings, struct toolrack_error *err) {
    static struct front front = {.calls = &calls};
    const struct server_start start = {
            .host = host, .fronts = {&front}, .settings = settings, .manager = manager};
    return server_start(&start, &server, err);
}

static int stop(void **state) {
    (void)state;
    if (server != NULL) {
        server_silence(server);
        server_stop(server);
        server = NULL;
    }
    return 0;
}

/* As the manager makes one; NULL: of IPv4. */
static void listen_at(struct manager *manager, const char *name) {
    struct sockaddr_un path;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(name != NULL ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    put_path(&path, name != NULL ? name : "");
    assert_int_equal(name != NULL ? bind(fd, (struct sockaddr *)&path, sizeof path)
                                  : bind(fd, (struct sockaddr *)&address, sizeof address),
                     0);
    assert_int_equal(listen(fd, 16), 0);
    manager->sockets[manager->socket_count++].fd = fd;
}

static unsigned port_of(int fd) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static void expect_answer(int fd) {
    struct client_left left = {0};
    assert_true(client_request(fd, "GET", "/", "", NULL));
    struct client_response response = client_read(fd, &left);
    assert_int_equal(response.status, 200);
    client_response_finish(&response);
    client_left_finish(&left);
}

/* ---------------------------------------------------------------- cases */

static void sockets_of_the_manager_are_served_and_stay(void **state) {
    (void)state;
    struct manager manager = {.fd = -1};
    struct toolrack_error err = {0};
    struct sockaddr_un path;
    char settings[256];
    listen_at(&manager, NULL);
    listen_at(&manager, "socket");
    put_path(&path, "socket");
    /* The configuration names them too: they are the same. */
    (void)snprintf(settings, sizeof settings, "{\"listen\":[\"127.0.0.1:%u\"],\"socket\":\"%s\"}",
                   port_of(manager.sockets[0].fd), path.sun_path);
    const char *const rows[] = {"{}", settings};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (start(&manager, rows[i], &err) < 0) {
            fail_msg("%s", err.message);
        }
        assert_int_equal(server->listener_count, 2);
        CLEANUP(closep) int fd = client_connect(port_of(manager.sockets[0].fd));
        CLEANUP(closep) int other = client_connect_path(path.sun_path);
        expect_answer(fd);
        expect_answer(other);
        (void)stop(NULL);
        CLEANUP(closep) int between = client_connect_path(path.sun_path);
        assert_true(between >= 0); /* the next server answers */
    }
    manager_finish(&manager);
    (void)unlink(path.sun_path);
}

static void other_addresses_come_beside(void **state) {
    (void)state;
    struct manager manager = {.fd = -1};
    struct toolrack_error err = {0};
    listen_at(&manager, NULL);
    assert_int_equal(start(&manager, "{\"listen\":[\"127.0.0.1:0\"]}", &err), 0);
    assert_int_equal(server->listener_count, 2);
    manager_finish(&manager);
}

static void what_others_reach_needs_a_token(void **state) {
    (void)state;
    struct manager manager = {.fd = -1};
    struct toolrack_error err = {0};
    struct sockaddr_in all = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&all, sizeof all) | listen(fd, 16), 0);
    manager.sockets[manager.socket_count++].fd = fd;
    assert_int_equal(start(&manager, "{}", &err), TOOLRACK_E_REFUSED);
    assert_non_null(strstr(err.message, "may reach 0.0.0.0:"));
    manager_finish(&manager);
}

static void a_socket_without_a_path_is_refused(void **state) {
    (void)state;
    struct manager manager = {.fd = -1};
    struct toolrack_error err = {0};
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    /* The kernel chooses an abstract name. */
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) | listen(fd, 16), 0);
    manager.sockets[manager.socket_count++].fd = fd;
    assert_int_equal(start(&manager, "{}", &err), TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "ListenStream="));
    manager_finish(&manager);
}

static void a_server_that_hangs_does_not_beat(void **state) {
    (void)state;
    struct manager manager;
    struct beat *beat;
    CLEANUP(closep) int told = begin_manager(&manager);
    listen_at(&manager, "socket");
    assert_int_equal(start(&manager, "{}", NULL), 0);
    assert_int_equal(beat_start(server, &manager, &beat, NULL), 0);
    await_beats(told, 3);
    /* A thread that serves connections does not come back. */
    atomic_store(&hangs, true);
    CLEANUP(closep) int fd = client_connect_path(server->listeners[0].path);
    assert_true(client_request(fd, "GET", "/", "", NULL));
    AWAIT(atomic_load(&inside) > 0);
    assert_true(count_beats(told, WATCHDOG_MS) <= 1); /* one may have been on its way */
    atomic_store(&hangs, false);
    await_beats(told, 2);
    /* Nobody gets at the connections. */
    lock_take(&server->lock);
    assert_true(count_beats(told, WATCHDOG_MS) <= 1);
    lock_release(&server->lock);
    await_beats(told, 2);
    beat_stop(beat);
    manager_finish(&manager);
}

static void without_a_watchdog_nobody_beats(void **state) {
    (void)state;
    struct manager manager = {.fd = -1};
    struct beat *beat;
    assert_int_equal(beat_start(NULL, &manager, &beat, NULL), 0);
    assert_null(beat);
    assert_int_equal(beat_start(NULL, NULL, &beat, NULL), 0);
    assert_null(beat);
    beat_stop(NULL);
}

static int begin(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    return toolrack_open(&options, &host, NULL);
}

static int end(void **state) {
    (void)state;
    char command[128];
    toolrack_close(host);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_teardown(sockets_of_the_manager_are_served_and_stay, stop),
            cmocka_unit_test_teardown(other_addresses_come_beside, stop),
            cmocka_unit_test_teardown(what_others_reach_needs_a_token, stop),
            cmocka_unit_test_teardown(a_socket_without_a_path_is_refused, stop),
            cmocka_unit_test_teardown(a_server_that_hangs_does_not_beat, stop),
            cmocka_unit_test(without_a_watchdog_nobody_beats),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
