/* What the service manager leaves in the environment, and what it is told. */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
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

#include "base/cleanup.h"
#include "base/manager.h"
#include "patience.h"

/* A process that a manager starts: descriptors from 3 on, and variables. */
struct start {
    int fds[2]; /* 0: none */
    const char *variables[5];
    const char *pid_of; /* the variable that names this process */
};

/* In the child: what was taken, or why it was not, as one line. */
static void describe(char *ret, size_t size) {
    struct manager manager;
    struct toolrack_error err = {0};
    if (manager_take(&manager, &err) < 0) {
        (void)snprintf(ret, size, "%s", err.message);
        return;
    }
    size_t at = (size_t)snprintf(ret, size, "told %d, watchdog %llu, left %s%s%s, sockets",
                                 manager.fd >= 0, (unsigned long long)manager.watchdog_us,
                                 getenv("LISTEN_FDS") != NULL ? "LISTEN_FDS " : "",
                                 getenv("NOTIFY_SOCKET") != NULL ? "NOTIFY_SOCKET " : "",
                                 getenv("WATCHDOG_USEC") != NULL ? "WATCHDOG_USEC" : "nothing");
    for (size_t i = 0; i < manager.socket_count; i++) {
        const struct manager_socket *one = &manager.sockets[i];
        at += (size_t)snprintf(ret + at, size - at, " %d '%s'%s%s", one->fd, one->name,
                               (fcntl(one->fd, F_GETFD) & FD_CLOEXEC) != 0 ? "" : " inherited",
                               (fcntl(one->fd, F_GETFL) & O_NONBLOCK) != 0 ? "" : " blocking");
    }
    manager_finish(&manager);
}

static void be_child(const struct start *start, int out) {
    char text[1024];
    char pid[16];
    int kept = fcntl(out, F_DUPFD, 20);
    int moved[2] = {-1, -1};
    for (int i = 0; i < 2; i++) {
        moved[i] = start->fds[i] > 0 ? fcntl(start->fds[i], F_DUPFD, 20) : -1;
    }
    for (int i = 0; i < 2; i++) {
        (void)(moved[i] >= 0 ? dup2(moved[i], 3 + i) : close(3 + i));
    }
    for (size_t i = 0; start->variables[i] != NULL; i++) {
        (void)putenv((char *)(uintptr_t)start->variables[i]);
    }
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (start->pid_of != NULL) {
        (void)setenv(start->pid_of, pid, 1);
    }
    describe(text, sizeof text);
    (void)!write(kept, text, strlen(text));
    _exit(0);
}

static void expect(const struct start *start, const char *text) {
    int ends[2];
    int status;
    char got[1024];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        be_child(start, ends[1]);
    }
    (void)close(ends[1]);
    ssize_t length = patience_read(ends[0], got, sizeof got - 1);
    (void)close(ends[0]);
    assert_int_equal(patience_child(pid, &status), pid);
    assert_true(length > 0);
    got[length] = '\0';
    if (strstr(got, text) == NULL) {
        fail_msg("'%s' instead of '%s'", got, text);
    }
}

static int listening(int domain, int type) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_un path;
    } address = {.any = {.sa_family = (sa_family_t)domain}};
    socklen_t size = domain == AF_INET ? sizeof address.four : sizeof address.any.sa_family;
    int fd = socket(domain, type, 0);
    assert_int_equal(bind(fd, &address.any, size), 0);
    assert_true(type != SOCK_STREAM || listen(fd, 1) == 0);
    return fd;
}

static void takes_sockets(void **state) {
    (void)state;
    CLEANUP(closep) int four = listening(AF_INET, SOCK_STREAM);
    CLEANUP(closep) int path = listening(AF_UNIX, SOCK_STREAM);
    expect(&(struct start){{four, path},
                           {"LISTEN_FDS=2", "LISTEN_FDNAMES=web:admin.socket"},
                           "LISTEN_PID"},
           "told 0, watchdog 0, left nothing, sockets 3 'web' 4 'admin.socket'");
    expect(&(struct start){{four, path}, {"LISTEN_FDS=2"}, "LISTEN_PID"},
           "left nothing, sockets 3 '' 4 ''");
    /* Those of another process are left alone. */
    expect(&(struct start){{four, path}, {"LISTEN_FDS=2", "LISTEN_PID=1"}, NULL},
           "left nothing, sockets");
    expect(&(struct start){{four, path}, {"LISTEN_FDS=2"}, NULL}, "left nothing, sockets");
    expect(&(struct start){{0}, {"LISTEN_FDS=0"}, "LISTEN_PID"}, "left nothing, sockets");
}

static void refuses_other_descriptors(void **state) {
    (void)state;
    CLEANUP(closep) int four = listening(AF_INET, SOCK_STREAM);
    CLEANUP(closep) int datagrams = listening(AF_INET, SOCK_DGRAM);
    CLEANUP(closep) int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const struct {
        int fd;
        const char *text;
    } rows[] = {{datagrams, "descriptor 4 (two) of the service manager is no stream socket; its "
                            "socket unit must have ListenStream="},
                {file, "descriptor 4 (two) of the service manager is no socket"},
                {pair[0], "does not listen, but is a connection; its socket unit must have "
                          "ListenStream= and Accept=no"},
                {0, "descriptor 4 (two) of the service manager is not open"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        expect(&(struct start){{four, rows[i].fd},
                               {"LISTEN_FDS=2", "LISTEN_FDNAMES=one:two"},
                               "LISTEN_PID"},
               rows[i].text);
    }
    const char *const counts[] = {"LISTEN_FDS=17", "LISTEN_FDS=-1", "LISTEN_FDS=2x",
                                  "LISTEN_FDS=", "LISTEN_FDS=99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
        expect(&(struct start){{four}, {counts[i]}, "LISTEN_PID"},
               "is no number of sockets from 1 to 16; ");
    }
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void takes_what_is_told(void **state) {
    (void)state;
    expect(&(struct start){{0}, {"NOTIFY_SOCKET=/run/none", "WATCHDOG_USEC=5"}, NULL},
           "told 1, watchdog 5, left nothing");
    expect(&(struct start){{0}, {"NOTIFY_SOCKET=@none", "WATCHDOG_USEC=5"}, "WATCHDOG_PID"},
           "told 1, watchdog 5, left nothing");
    expect(&(struct start){{0}, {"NOTIFY_SOCKET=@none", "WATCHDOG_USEC=5", "WATCHDOG_PID=1"}, NULL},
           "told 1, watchdog 0, left nothing");
    expect(&(struct start){{0}, {"WATCHDOG_USEC=5"}, NULL}, "told 0, watchdog 0, left nothing");
    expect(&(struct start){{0}, {"NOTIFY_SOCKET="}, NULL}, "told 0, watchdog 0, left nothing");
    expect(&(struct start){{0}, {"NOTIFY_SOCKET=@none", "WATCHDOG_USEC=soon"}, NULL},
           "is no number of microseconds; correct WatchdogSec=");
    const char *const wrong[] = {"NOTIFY_SOCKET=run/socket", "NOTIFY_SOCKET=vsock:2:1",
                                 "NOTIFY_SOCKET=@"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        expect(&(struct start){{0}, {wrong[i]}, NULL},
               "is no Unix socket: neither an absolute path nor @ and a name; ");
    }
}

/* What a manager hears at an address. */
static void expect_told(const struct sockaddr_un *address, socklen_t size) {
    char text[256];
    CLEANUP(closep) int told = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(told, (const struct sockaddr *)address, size), 0);
    struct manager manager = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                              .address = *address,
                              .address_size = size};
    manager_tell(&manager, "READY=%d", 1);
    assert_int_equal(recv(told, text, sizeof text, 0), 7);
    assert_memory_equal(text, "READY=1", 7);
    manager_status(&manager, "two\nlines of %s", "it");
    ssize_t length = recv(told, text, sizeof text - 1, 0);
    text[length] = '\0';
    assert_string_equal(text, "STATUS=two lines of it");
    manager_reloading(&manager);
    length = recv(told, text, sizeof text - 1, 0);
    text[length] = '\0';
    assert_int_equal(strncmp(text, "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
    (void)close(told);
    told = -1;
    manager_tell(&manager, "READY=1"); /* nobody hears it */
    manager_finish(&manager);
    manager_tell(&manager, "READY=1");
    manager_tell(NULL, "READY=1");
    manager_status(NULL, "none");
}

static void tells_by_path_and_by_name(void **state) {
    (void)state;
    char folder[] = "/tmp/toolrack-test-manager-XXXXXX";
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path.sun_path, sizeof path.sun_path, "%s/notify", folder);
    expect_told(&path, sizeof path);
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", folder);
    expect_told(&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
    (void)unlink(path.sun_path);
    (void)rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(takes_sockets),
            cmocka_unit_test(refuses_other_descriptors),
            cmocka_unit_test(takes_what_is_told),
            cmocka_unit_test(tells_by_path_and_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
