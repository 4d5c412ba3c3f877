/* `toolrack serve` as a service: a manager hands it a socket over and is told how it is. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "http-client.h"
#include "patience.h"

struct service {
    pid_t pid;
    int told; /* what the service says arrives here */
    int listening;
    unsigned port;
};

static void be_service(const struct service *service) {
    char pid[16];
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)dup2(service->listening, 3);
    (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC),
               STDOUT_FILENO); /* that of the test is TAP */
    (void)setenv("LISTEN_PID", pid, 1);
    (void)setenv("LISTEN_FDS", "1", 1);
    (void)setenv("LISTEN_FDNAMES", "toolrack.socket", 1);
    (void)setenv("WATCHDOG_USEC", "1000000", 1);
    (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "--config", "", "--state", "state", "--plugins",
                e2e_plugins(), "serve", (char *)NULL);
    _exit(127);
}

static struct service start(void) {
    struct service service = {.told = socket(AF_UNIX, SOCK_DGRAM, 0),
                              .listening = socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un notify = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    (void)snprintf(notify.sun_path + 1, sizeof notify.sun_path - 1, "toolrack-test-%d",
                   (int)getpid());
    socklen_t notify_size =
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(notify.sun_path + 1));
    assert_int_equal(0, bind(service.told, (struct sockaddr *)&notify, notify_size));
    assert_int_equal(0, bind(service.listening, (struct sockaddr *)&address, sizeof address));
    assert_int_equal(0, listen(service.listening, 16));
    assert_int_equal(0, getsockname(service.listening, (struct sockaddr *)&address, &size));
    service.port = ntohs(address.sin_port);
    notify.sun_path[0] = '@';
    service.pid = fork();
    assert_true(service.pid >= 0);
    if (service.pid == 0) {
        (void)setenv("NOTIFY_SOCKET", notify.sun_path, 1);
        be_service(&service);
    }
    return service;
}

/* The next thing that is said, but for beats, is this. */
static void expect_told(const struct service *service, const char *pattern) {
    struct pollfd wait = {.fd = service->told, .events = POLLIN};
    char text[512];
    do {
        assert_int_equal(1, poll(&wait, 1, PATIENCE_S * 1000));
        ssize_t got = recv(service->told, text, sizeof text - 1, 0);
        assert_true(got > 0);
        text[got] = '\0';
    } while (strcmp(text, "WATCHDOG=1") == 0 && strcmp(pattern, text) != 0);
    EXPECT_MATCH(text, pattern);
}

static void expect_served(const struct service *service) {
    struct client_left left = {0};
    int fd = client_connect(service->port);
    assert_true(client_request(fd, "GET", "/healthz", "", NULL));
    struct client_response response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(fd);
}

static void a_manager_is_told_how_the_service_is(void **state) {
    (void)state;
    int status = -1;
    struct service service = start();
    expect_served(&service); /* who comes early waits */
    char serving[128];
    (void)snprintf(serving, sizeof serving,
                   "STATUS=serving at http://127.0.0.1:%u, unix:/*/state/toolrack.sock",
                   service.port);
    expect_told(&service, serving);
    expect_told(&service, "READY=1");
    expect_told(&service, "WATCHDOG=1");
    expect_told(&service, "WATCHDOG=1");
    assert_int_equal(0, kill(service.pid, SIGHUP));
    expect_told(&service, "RELOADING=1\nMONOTONIC_USEC=*");
    expect_told(&service, "READY=1");
    expect_served(&service);
    assert_int_equal(0, kill(service.pid, SIGTERM));
    expect_told(&service, "STATUS=ending; calls that run are answered for 10 s at most");
    expect_told(&service, "STOPPING=1\nEXTEND_TIMEOUT_USEC=40000000");
    assert_int_equal(service.pid, patience_child(service.pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int fd = client_connect(service.port); /* the manager listens on, for the next one */
    assert_true(fd >= 0);
    (void)close(fd);
    (void)close(service.told);
    (void)close(service.listening);
}

static void what_is_no_manager_is_refused(void **state) {
    (void)state;
    (void)setenv("NOTIFY_SOCKET", "elsewhere", 1);
    struct run run = RUN("serve", "--listen", "127.0.0.1:0");
    (void)unsetenv("NOTIFY_SOCKET");
    assert_int_equal(1, run.exit);
    EXPECT_MATCH(run.err, "*NOTIFY_SOCKET=elsewhere is no Unix socket*; unset it, *");
    run_finish(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(a_manager_is_told_how_the_service_is, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(what_is_no_manager_is_refused, e2e_setup, e2e_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
