/* test-rebinding - what plugins of the web ask for when a name changes its address meanwhile.
 *
 * The test is the name server: libcurl asks the getaddrinfo() below, which gives another address at
 * each lookup. Only the first of them is allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <toolrack/test.h>
#include <unistd.h>

#include "../../plugins/shared/http.h"
#include "file-server.h"

static const char *answers[4]; /* to the lookups in their order; the last one stays */
static unsigned lookups;

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node != NULL && strcmp(node, "changing.example") == 0) {
        node = answers[lookups];
        lookups += answers[lookups + 1] != NULL;
    }
    return real(node, service, hints, ret);
}

/* Get a URL with a connection of its own, from 127.0.0.1 only. */
static tr_status get(struct tr_call *call) {
    struct http_policy policy = {.bytes_max = 1 << 20, .timeout_ms = 20000, .user_agent = "test"};
    char message[ADDRESS_MESSAGE_SIZE];
    struct http_reply reply;
    assert_true(networks_parse("127.0.0.1", &policy.allowed, message));
    struct http *http = http_create(call, &policy);
    assert_non_null(http);
    bool done = http_get(http, tr_get_string(call, "url", ""), NULL, &reply);
    tr_status status = done ? tr_reply_text(call, reply.body)
                            : tr_fail(call, TR_FAILED, NULL, "%s", reply.message);
    http_reply_finish(&reply);
    http_destroy(http);
    return status;
}
TR_JSON_TOOL(get, ("Get a URL"), TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("get", .description = "Gets"), "1.0.0", get)

struct fixture {
    struct file_server *server; /* at 127.0.0.1 */
    int other;                  /* listens at the same port of 127.0.0.2, and accepts nobody */
    char folder[32];
    char url[64];
    struct tr_test test;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    char path[64];
    (void)snprintf(fixture->folder, sizeof fixture->folder, "%s", "/tmp/rebinding-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    (void)snprintf(path, sizeof path, "%s/page", fixture->folder);
    FILE *page = fopen(path, "we");
    assert_non_null(page);
    (void)fputs("page", page);
    assert_int_equal(fclose(page), 0);
    fixture->server = file_server_start(fixture->folder);
    assert_non_null(fixture->server);
    unsigned port = file_server_port(fixture->server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET, "127.0.0.2", &address.sin_addr), 1);
    fixture->other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fixture->other, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fixture->other, 8), 0);
    (void)snprintf(fixture->url, sizeof fixture->url,
                   "{\"url\": \"http://changing.example:%u/page\"}", port);
    tr_test_init(&fixture->test, &toolrack_plugin);
    memset(answers, 0, sizeof answers);
    lookups = 0;
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/page", fixture->folder);
    (void)unlink(path);
    (void)rmdir(fixture->folder);
    (void)close(fixture->other);
    file_server_stop(fixture->server);
    (void)tr_test_finish(&fixture->test);
    free(fixture);
    return 0;
}

static bool was_connected(const struct fixture *fixture) {
    int connection = accept(fixture->other, NULL, NULL);
    if (connection >= 0) {
        (void)close(connection);
    }
    assert_true(connection >= 0 || errno == EAGAIN);
    return connection >= 0;
}

static void the_address_of_the_connection_counts(void **state) {
    struct fixture *fixture = *state;
    answers[0] = "127.0.0.1";
    answers[1] = "127.0.0.2";
    assert_true(tr_test_call(&fixture->test, "get", fixture->url));
    assert_true(tr_test_replied(&fixture->test, "\"page\""));
    assert_int_equal(lookups, 1);
    assert_false(tr_test_call(&fixture->test, "get", fixture->url));
    assert_non_null(strstr(fixture->test.error.message, "127.0.0.2 is a loopback address"));
    assert_false(was_connected(fixture));
}

/* As it was before the change: nothing is remembered for the worse. */
static void a_name_that_changes_back_is_asked_again(void **state) {
    struct fixture *fixture = *state;
    answers[0] = "127.0.0.2";
    answers[1] = "127.0.0.1";
    assert_false(tr_test_call(&fixture->test, "get", fixture->url));
    assert_true(tr_test_call(&fixture->test, "get", fixture->url));
    assert_true(tr_test_replied(&fixture->test, "\"page\""));
    assert_false(was_connected(fixture));
}

static void a_name_that_is_not_found_is_told(void **state) {
    struct fixture *fixture = *state;
    answers[0] = "no number"; /* no lookup of it leaves the machine */
    assert_false(tr_test_call(&fixture->test, "get", fixture->url));
    assert_non_null(strstr(fixture->test.error.message, "changing.example"));
    assert_null(strstr(fixture->test.error.message, "network:udp"));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(the_address_of_the_connection_counts),
                                       CASE(a_name_that_changes_back_is_asked_again),
                                       CASE(a_name_that_is_not_found_is_told)};
#undef CASE
    return cmocka_run_group_tests_name("rebinding", tests, NULL, NULL);
}
