/* `toolrack serve` as its users start it: the line when it is ready, a call by both eras, the ways
 * to end it, and where it does not start. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "http-client.h"
#include "patience.h"
#include "serving.h"

/* Whether a message is answered by something with `text`. */
static void expect_answer(int fd, const char *headers, const char *message, const char *text) {
    struct client_left left = {0};
    assert_true(client_request(fd, "POST", "/mcp", headers, message));
    struct client_response response = client_read(fd, &left);
    if (response.status != 200 || strstr(response.body, text) == NULL) {
        fail_msg("%u %s instead of %s", response.status, response.body != NULL ? response.body : "",
                 text);
    }
    client_response_finish(&response);
    client_left_finish(&left);
}

static void calls(void **state) {
    (void)state;
    struct serving serving = serving_start(ARGS("--listen", "127.0.0.1:0", "--socket", "socket"));
    int fd = client_connect(serving_port(&serving));
    expect_answer(fd,
                  "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                  "Mcp-Name: add\r\n",
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"add\",\"arguments\":{\"a\":2,\"b\":3},\"_meta\":{"
                  "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                  "\"text\":\"5");
    (void)close(fd);
    uint64_t since = 0;
    do { /* each address has a line; the socket's comes second */
        fd = client_connect_path("socket");
    } while (fd < 0 && patience_yield(&since));
    expect_answer(fd, "",
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                  "\"name\":\"test\",\"version\":\"1\"}}}",
                  "\"protocolVersion\":\"2025-11-25\"");
    (void)close(fd);
    assert_int_equal(0, kill(serving.pid, SIGHUP)); /* reads files again, and goes on */
    fd = client_connect_path("socket");
    expect_answer(fd, "",
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
                  "\"name\":\"test\",\"version\":\"1\"}}}",
                  "\"protocolVersion\":\"2025-06-18\"");
    (void)close(fd);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(-1, access("socket", F_OK));
    serving = serving_start(ARGS("--listen", "127.0.0.1:0"));
    assert_int_equal(0, serving_end(&serving, SIGINT));
}

static unsigned status_of(unsigned port, const char *headers) {
    struct client_left left = {0};
    int fd = client_connect(port);
    assert_true(client_request(fd, "GET", "/api/log", headers, NULL));
    struct client_response response = client_read(fd, &left);
    unsigned status = response.status;
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(fd);
    return status;
}

#define SECRET "trk_0123456789abcdef0123456789abcdef"
#define OTHER  "trk_fedcba9876543210fedcba9876543210"

static void a_file_has_the_token(void **state) {
    (void)state;
    char folder[256];
    char path[300];
    assert_non_null(getcwd(folder, sizeof folder));
    (void)snprintf(path, sizeof path, "%s/token", folder);
    e2e_write("token", SECRET "\n");
    (void)setenv("TOOLRACK_TOKEN_FILE", path, 1);
    struct serving serving = serving_start(ARGS("--listen", "0.0.0.0:0"));
    unsigned port = 0;
    assert_int_equal(1, sscanf(serving.line, "listening on http://0.0.0.0:%u", &port));
    assert_int_equal(401, status_of(port, ""));
    assert_int_equal(401, status_of(port, "Authorization: Bearer " OTHER "\r\n"));
    assert_int_equal(200, status_of(port, "Authorization: Bearer " SECRET "\r\n"));
    /* Another secret in the file, from SIGHUP on. */
    e2e_write("token", OTHER "\n");
    assert_int_equal(0, kill(serving.pid, SIGHUP));
    AWAIT(status_of(port, "Authorization: Bearer " OTHER "\r\n") == 200);
    assert_int_equal(401, status_of(port, "Authorization: Bearer " SECRET "\r\n"));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    /* Nothing of it is kept. */
    EXPECT(RUN("token"), 0, "", "toolrack: there are no tokens\n");
    assert_int_equal(1, WEXITSTATUS(system("grep -rq fedcba state")));
    e2e_write("token", "secret\n");
    struct run run = RUN("serve", "--listen", "127.0.0.1:0");
    assert_int_equal(1, run.exit);
    EXPECT_MATCH(run.err, "*/token has no token; write one line there: trk_*");
    run_finish(&run);
    /* Empty is no way to a server without a token. */
    (void)setenv("TOOLRACK_TOKEN_FILE", "", 1);
    run = RUN("serve", "--listen", "127.0.0.1:0");
    assert_int_equal(1, run.exit);
    assert_string_equal("", run.out);
    EXPECT_MATCH(run.err,
                 "*TOOLRACK_TOKEN_FILE is empty; set it to the absolute path of a file *, or "
                 "unset it\n");
    run_finish(&run);
    (void)setenv("TOOLRACK_TOKEN_FILE", path, 1);
    assert_int_equal(0, unlink("token"));
    run = RUN("serve", "--listen", "127.0.0.1:0");
    assert_int_equal(1, run.exit);
    EXPECT_MATCH(run.err, "*cannot read the token in /*/token: No such file*make the file*");
    run_finish(&run);
    (void)unsetenv("TOOLRACK_TOKEN_FILE");
}

/* Read what comes until `text` is in it. */
static void await_text(int fd, const char *text) {
    char room[4096];
    size_t length = 0;
    room[0] = '\0';
    while (strstr(room, text) == NULL) {
        ssize_t got = patience_read(fd, room + length, sizeof room - 1 - length);
        if (got <= 0) {
            fail_msg("not '%s', but %s", text, room);
        }
        length += (size_t)got;
        room[length] = '\0';
    }
}

/* Begin a call that reports progress. Returns its connection when it runs. */
static int begin_call(unsigned port, const char *tool) {
    char request[300];
    int fd = client_connect(port);
    (void)snprintf(request, sizeof request,
                   "POST /api/tools/%s/call HTTP/1.1\r\nHost: localhost\r\n"
                   "Accept: text/event-stream\r\nContent-Type: application/json\r\n"
                   "Content-Length: 2\r\n\r\n{}",
                   tool);
    assert_true(client_send_text(fd, request));
    await_text(fd, "it runs");
    return fd;
}

/* Its tool goes on, in the process in which the calls of others run. */
static void a_client_that_leaves_harms_no_other(void **state) {
    (void)state;
    char file[512];
    struct client_left left = {0};
    assert_int_equal(0, mkdir("own", 0700));
    (void)snprintf(file, sizeof file, "%s/zoo_deaf.so", getenv("E2E_ZOO"));
    e2e_copy(file, "own/zoo_deaf.so", 0);
    struct serving serving = serving_start(ARGS("--plugins", "own", "--listen", "127.0.0.1:0"));
    unsigned port = serving_port(&serving);
    int neighbour = begin_call(port, "zoo_deaf_neighbour");
    (void)close(begin_call(port, "zoo_deaf"));
    int next = client_connect(port);
    assert_true(client_request(next, "POST", "/api/tools/zoo_deaf_ok/call", "", "{}"));
    struct client_response response = client_read(next, &left);
    assert_int_equal(200, response.status);
    await_text(neighbour, "\"result\":42");
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(next);
    (void)close(neighbour);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* Whether a call of the tool `build` is answered by a status and a text. */
static bool build_answers(unsigned port, unsigned status, const char *text) {
    struct client_left left = {0};
    int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/api/tools/build/call", "", "{}"));
    struct client_response response = client_read(fd, &left);
    bool is_so = response.status == status && strstr(response.body, text) != NULL;
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(fd);
    return is_so;
}

/* As a package installs it: under another name first. */
static void install_build(void) {
    char from[512];
    (void)snprintf(from, sizeof from, "%s/build.so", getenv("E2E_BUILDS"));
    e2e_copy(from, "bundled/new", 0);
    assert_int_equal(0, rename("bundled/new", "bundled/build.so"));
}

/* A bundled plugin that is installed while a host runs serves; the mark may stay or go. */
static void an_absent_plugin_arrives(void **state) {
    (void)state;
    char folder[512];
    assert_int_equal(0, mkdir("bundled", 0700));
    e2e_write("bundled/build.so.absent", "install it\n");
    assert_non_null(getcwd(folder, sizeof folder - sizeof "/bundled"));
    (void)strcat(folder, "/bundled");
    (void)setenv("TOOLRACK_BUILTIN_DIR", folder, 1);
    struct serving serving =
            serving_start_bare(ARGS("--config", "", "--state", "state", "--listen", "127.0.0.1:0"));
    (void)unsetenv("TOOLRACK_BUILTIN_DIR");
    unsigned port = serving_port(&serving);
    assert_true(build_answers(port, 404, "build"));
    install_build();
    AWAIT(build_answers(port, 200, "\"result\":1"));
    assert_int_equal(0, unlink("bundled/build.so"));
    AWAIT(build_answers(port, 404, "build"));
    assert_int_equal(0, unlink("bundled/build.so.absent"));
    install_build();
    AWAIT(build_answers(port, 200, "\"result\":1"));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void where_it_does_not_start(void **state) {
    (void)state;
    struct run run = RUN("serve", "--listen", "0.0.0.0:0");
    assert_int_equal(1, run.exit);
    assert_string_equal("", run.out);
    EXPECT_MATCH(run.err, "*0.0.0.0:0*toolrack *token add NAME; *TOOLRACK_TOKEN_FILE*");
    run_finish(&run);
    EXPECT(RUN("serve", "--listen", "nowhere"), 2, "",
           "*'nowhere' is no address to listen at*127.0.0.1:8137*");
    EXPECT(RUN("serve", "--listen", "127.0.0.1:9", "--listen", "localhost:9"), 2, "",
           "*'localhost:9' has the port of \"127.0.0.1:9\", and only one can have it; "
           "remove one of them, *");
    run = RUN("serve", "--profile", "unknown", "--listen", "127.0.0.1:0");
    EXPECT_MATCH(run.err, "*unknown*");
    assert_int_equal(2, run.exit);
    run_finish(&run);
    struct serving serving = serving_start(ARGS("--listen", "127.0.0.1:0"));
    char address[64];
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", serving_port(&serving));
    run = RUN("serve", "--listen", address, "--no-daemon");
    EXPECT_MATCH(run.err, "*cannot listen at 127.0.0.1:*choose another port*");
    run_finish(&run);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    EXPECT(RUN("token", "add", "t"), 0, NULL, NULL);
    run = RUN("serve", "--listen", "192.0.2.1:0"); /* which no machine has: RFC 5737 */
    EXPECT_MATCH(run.err,
                 "*cannot listen at 192.0.2.1:0: *; write an address that this machine has*");
    run_finish(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(calls, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(a_file_has_the_token, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(a_client_that_leaves_harms_no_other, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(an_absent_plugin_arrives, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(where_it_does_not_start, e2e_setup, e2e_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
