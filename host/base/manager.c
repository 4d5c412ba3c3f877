#include "base/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* The first descriptor that is handed over. */
#define FDS_START  3
/* How long a message may wait for a manager that does not read. */
#define TELL_MAX_S 5
/* Longest message. */
#define TELL_ROOM  1024u

/* A number of the environment, from 1 on. False: it is none. */
static bool read_number(const char *text, uint64_t *ret) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number == 0) {
        return false;
    }
    *ret = number;
    return true;
}

/* Whether a variable names this process; without it, all are meant. */
static bool is_meant(const char *pid_text) {
    uint64_t pid;
    return pid_text == NULL || (read_number(pid_text, &pid) && pid == (uint64_t)getpid());
}

/* ---------------------------------------------------------------- sockets */

/* What is wrong with a descriptor; NULL: it is a socket that listens. */
static const char *find_problem(int fd) {
    struct stat status;
    int type = 0;
    int domain = 0;
    int listens = 0;
    socklen_t size = sizeof type;
    if (fstat(fd, &status) < 0) {
        return "is not open";
    }
    if (!S_ISSOCK(status.st_mode) || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0) {
        return "is no socket";
    }
    if (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6) {
        return "is neither a Unix socket nor one of IPv4 or IPv6";
    }
    if (type != SOCK_STREAM) {
        return "is no stream socket";
    }
    return listens != 0 ? NULL : "does not listen, but is a connection";
}

/* The next name of a list with colons between; "" where the list has ended. */
static const char *copy_name(const char *names, char ret[MANAGER_NAME_ROOM]) {
    size_t length = strcspn(names, ":");
    (void)snprintf(ret, MANAGER_NAME_ROOM, "%.*s", (int)length, names);
    return names[length] == ':' ? names + length + 1 : names + length;
}

static int take_socket(struct manager *manager, int fd, const char **names,
                       struct toolrack_error *err) {
    struct manager_socket *socket = &manager->sockets[manager->socket_count];
    *names = copy_name(*names, socket->name);
    const char *problem = find_problem(fd);
    if (problem == NULL && (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
                            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)) {
        problem = strerror(errno);
    }
    if (problem != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "descriptor %d%s%.64s%s of the service manager %s; its socket unit must "
                         "have ListenStream= and Accept=no",
                         fd, socket->name[0] != '\0' ? " (" : "", socket->name,
                         socket->name[0] != '\0' ? ")" : "", problem);
    }
    socket->fd = fd;
    manager->socket_count++;
    return 0;
}

static int take_sockets(struct manager *manager, struct toolrack_error *err) {
    const char *text = getenv("LISTEN_FDS");
    const char *pid = getenv("LISTEN_PID");
    const char *names = getenv("LISTEN_FDNAMES");
    uint64_t count;
    int code = 0;
    /* Without a process the variables were inherited from somewhere: sd_listen_fds(3). */
    if (text == NULL || pid == NULL || !is_meant(pid) || strcmp(text, "0") == 0) {
        return 0;
    }
    if (!read_number(text, &count) || count > LISTEN_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "LISTEN_FDS=%.32s of the service manager is no number of sockets from 1 "
                         "to %u; start the service with fewer of them",
                         text, LISTEN_MAX);
    }
    names = names != NULL ? names : "";
    for (int i = 0; code == 0 && i < (int)count; i++) {
        code = take_socket(manager, FDS_START + i, &names, err);
    }
    return code;
}

/* ---------------------------------------------------------------- the way to the manager */

static int take_notify(struct manager *manager, struct toolrack_error *err) {
    const char *text = getenv("NOTIFY_SOCKET");
    size_t length = text != NULL ? strlen(text) : 0;
    struct sockaddr_un *address = &manager->address;
    if (length == 0) {
        return 0;
    }
    if ((text[0] != '/' && text[0] != '@') || length < 2 || length >= sizeof address->sun_path) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "NOTIFY_SOCKET=%.128s is no Unix socket: neither an absolute path nor @ "
                         "and a name; unset it, or name one of at most %zu bytes",
                         text, sizeof address->sun_path - 1);
    }
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, text, length);
    bool is_abstract = text[0] == '@';
    if (is_abstract) {
        address->sun_path[0] = '\0';
    }
    manager->address_size =
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (is_abstract ? 0 : 1));
    manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = {.tv_sec = TELL_MAX_S};
    if (manager->fd < 0 ||
        setsockopt(manager->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot reach the service manager: %s",
                         strerror(errno));
    }
    return 0;
}

static int take_watchdog(struct manager *manager, struct toolrack_error *err) {
    const char *text = getenv("WATCHDOG_USEC");
    if (text == NULL || !is_meant(getenv("WATCHDOG_PID")) || manager->fd < 0) {
        return 0;
    }
    return read_number(text, &manager->watchdog_us)
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "WATCHDOG_USEC=%.32s of the service manager is no number of "
                               "microseconds; correct WatchdogSec= of the unit",
                               text);
}

int manager_take(struct manager *ret, struct toolrack_error *err) {
    static const char *const variables[] = {"LISTEN_FDS",     "LISTEN_PID",    "LISTEN_FDNAMES",
                                            "LISTEN_PIDFDID", "NOTIFY_SOCKET", "WATCHDOG_USEC",
                                            "WATCHDOG_PID"};
    *ret = (struct manager){.fd = -1};
    int code = take_sockets(ret, err);
    code = code < 0 ? code : take_notify(ret, err);
    code = code < 0 ? code : take_watchdog(ret, err);
    for (size_t i = 0; i < ARRAY_LENGTH(variables); i++) {
        (void)unsetenv(variables[i]);
    }
    return code;
}

void manager_finish(struct manager *manager) {
    for (size_t i = 0; i < manager->socket_count; i++) {
        (void)close(manager->sockets[i].fd);
    }
    closep(&manager->fd);
    *manager = (struct manager){.fd = -1};
}

/* ---------------------------------------------------------------- what it is told */

static void send_text(const struct manager *manager, const char *text) {
    ssize_t sent;
    do { /* by address: a manager that is started again listens at the same one */
        sent = sendto(manager->fd, text, strlen(text), MSG_NOSIGNAL,
                      (const struct sockaddr *)&manager->address, manager->address_size);
    } while (sent < 0 && errno == EINTR);
}

void manager_tell(const struct manager *manager, const char *format, ...) {
    char text[TELL_ROOM];
    if (manager == NULL || manager->fd < 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    send_text(manager, text);
}

void manager_status(const struct manager *manager, const char *format, ...) {
    static const char key[] = "STATUS=";
    char text[TELL_ROOM];
    if (manager == NULL || manager->fd < 0) {
        return;
    }
    memcpy(text, key, sizeof key);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + sizeof key - 1, sizeof text - sizeof key + 1, format, args);
    va_end(args);
    for (char *at = text; *at != '\0'; at++) {
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    }
    send_text(manager, text);
}

void manager_reloading(const struct manager *manager) {
    manager_tell(manager, "RELOADING=1\nMONOTONIC_USEC=%llu",
                 (unsigned long long)(clock_now_ns() / 1000));
}
