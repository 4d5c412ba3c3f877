/* Invariants:
 *
 *  (1) The name of a socket in the folder is that of a socket that listens, or of a dead host: it
 * is bound under a temporary name first. (2) Every connection ends in one of three ways: it said
 * that nothing was stored; its change was applied after it came; or it is closed unanswered, and
 * its process connects again. (3) No lock is held while apply() or exchange() run. */
#include "store/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/object.h"
#include "base/own-folder.h"
#include "base/thread.h"
#include "store/database.h"
#include "store/hosts-parts.h"

#define FOLDER "hosts"

/* How long to wait before connections are taken again when no descriptor is free. */
#define DESCRIPTORS_PAUSE_MS 100

/* How long to wait before a lost socket is made again, when that failed. */
#define LOST_PAUSE_MS 1000

/* How long a host lives before it watches its socket, and looks whether it is still there. Linux
 * takes 5 ms to close an inotify descriptor with a watch (it waits for all readers of its lists),
 * which was 5 of the 12 ms of a `toolrack call`, and nobody removes the sockets of commands that
 * end at once. */
#define WATCH_AFTER_MS 200

_Thread_local bool hosts_is_applying;

/* ------------------------------------------------------------------- folder */

/* The address of a socket holds 107 bytes; a longer path is reached by the folder's descriptor. */
void hosts_address(int dir, const char *folder, const char *name, struct sockaddr_un *ret) {
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof ret->sun_path) {
        (void)snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/%s", dir, name);
    }
}

int hosts_make_folder(struct hosts *hosts, struct toolrack_error *err) {
    int code = database_make_folders(hosts->options.state_dir, err);
    return code < 0 || mkdir(hosts->folder, 0700) == 0 || errno == EEXIST
                   ? code
                   : error_set(err, TOOLRACK_E_IO, "cannot make the folder %s: %s", hosts->folder,
                               strerror(errno));
}

/* The name stays that of the host when its socket is made again. */
static bool make_name(char name[HOSTS_NAME_ROOM]) {
    uint64_t number;
    if (name[0] == '\0' && getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
        return false;
    }
    if (name[0] == '\0') {
        (void)snprintf(name, HOSTS_NAME_ROOM, "%016llx", (unsigned long long)number);
    }
    return true;
}

/* Bind under a hidden name, listen, rename: who connects to a name that refuses it may then remove
 * it. */
static bool listen_in(struct hosts *hosts, int dir) {
    char hidden[HOSTS_NAME_ROOM + 1];
    char name[HOSTS_NAME_ROOM];
    struct sockaddr_un address;
    memcpy(name, hosts->name, sizeof name);
    if (!make_name(name)) {
        return false;
    }
    (void)snprintf(hidden, sizeof hidden, ".%s", name);
    hosts_address(dir, hosts->folder, hidden, &address);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        return false;
    }
    if (listen(fd, SOMAXCONN) < 0 || renameat(dir, hidden, dir, hidden + 1) < 0) {
        int why = errno;
        (void)unlinkat(dir, hidden, 0);
        errno = why;
        return false;
    }
    if (hosts->name[0] == '\0') {
        memcpy(hosts->name, name, sizeof hosts->name);
    }
    closep(&hosts->listener);
    hosts->listener = fd;
    fd = -1;
    return true;
}

int hosts_make_socket(struct hosts *hosts, struct toolrack_error *err) {
    int code = hosts_make_folder(hosts, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(closep) int dir = own_folder_open(hosts->folder, false);
    if (dir < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot use the folder %s: %s", hosts->folder,
                         own_folder_words(dir));
    }
    return listen_in(hosts, dir) ? 0
                                 : error_set(err, TOOLRACK_E_IO, "cannot make a socket in %s: %s",
                                             hosts->folder, strerror(errno));
}

int hosts_listen(struct hosts *hosts, struct toolrack_error *err) {
    OBJECT_CHECK(hosts, HOSTS_MAGIC);
    if (hosts->folder == NULL) {
        return 0;
    }
    int code = hosts_make_socket(hosts, err);
    if (code < 0) {
        hosts_set_unreachable(hosts, true);
    }
    hosts->is_lost = code == 0 && !hosts_is_findable(hosts);
    return code;
}

/* -------------------------------------------------------------- connections */

static void answer(struct connection *connection, bool is_applied) {
    const char byte = is_applied ? ANSWER_APPLIED : ANSWER_FAILED;
    if (connection->fd >= 0) {
        (void)send(connection->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)close(connection->fd);
    }
    connection->fd = -1;
}

/* Take what a connection has said. False: it can be dropped. */
static bool read_message(struct connection *connection) {
    char byte;
    ssize_t got = recv(connection->fd, &byte, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (got == 1 && byte == MESSAGE_NOTHING) {
        return false;
    }
    /* What is not understood, or ended, may be anything. */
    connection->is_due = true;
    connection->change = got == 1 && byte == MESSAGE_DECISION ? HOSTS_DECISION : HOSTS_CONTENT;
    return true;
}

static void read_messages(struct hosts *hosts) {
    size_t kept = 0;
    for (size_t i = 0; i < hosts->connection_count; i++) {
        struct connection connection = hosts->connections[i];
        if (connection.is_due || read_message(&connection)) {
            hosts->connections[kept++] = connection;
        } else {
            (void)close(connection.fd);
        }
    }
    hosts->connection_count = kept;
}

/* The folder belongs to one user; the check is for a folder that was opened up later. */
static bool may_tell(int fd) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* False: connections wait that cannot be taken now; something may have changed. */
static bool accept_connections(struct hosts *hosts) {
    int fd;
    while (hosts->connection_count < HOSTS_CONNECTIONS_MAX &&
           (fd = accept4(hosts->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (may_tell(fd)) {
            hosts->connections[hosts->connection_count++] = (struct connection){.fd = fd};
        } else {
            (void)close(fd);
        }
    }
    if (hosts->connection_count == HOSTS_CONNECTIONS_MAX) { /* (2) */
        struct connection *oldest = &hosts->connections[0];
        if (!oldest->is_due) {
            (void)close(oldest->fd);
            *oldest = (struct connection){.fd = -1, .is_due = true, .change = HOSTS_CONTENT};
        }
        return true;
    }
    return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
}

/* ----------------------------------------------------------------- exchange */

static void *exchange_main(void *argument) {
    struct hosts *hosts = argument;
    struct connection taken[HOSTS_CONNECTIONS_MAX];
    hosts_is_applying = true;
    lock_take(&hosts->lock);
    while (hosts->exchange_due && !hosts->stopping) {
        size_t count = hosts->exchange_count;
        memcpy(taken, hosts->exchange_for, count * sizeof *taken);
        hosts->exchange_count = 0;
        hosts->exchange_due = false;
        lock_release(&hosts->lock);
        bool is_applied = hosts->options.exchange(hosts->options.user);
        for (size_t i = 0; i < count; i++) {
            answer(&taken[i], is_applied);
        }
        lock_take(&hosts->lock);
    }
    hosts->exchanging = false;
    lock_release(&hosts->lock);
    return NULL;
}

/* Answer these connections after an exchange that begins after now. */
static void exchange_later(struct hosts *hosts, const struct connection *connections,
                           size_t count) {
    LOCK_SCOPE(&hosts->lock);
    for (size_t i = 0; i < count; i++) {
        struct connection connection = connections[i];
        if (connection.fd >= 0 && hosts->exchange_count < HOSTS_CONNECTIONS_MAX) {
            hosts->exchange_for[hosts->exchange_count++] = connection;
        } else if (connection.fd >= 0) {
            (void)close(connection.fd); /* its process connects again */
        }
    }
    hosts->exchange_due = true;
    if (hosts->exchanging || hosts->stopping) {
        return;
    }
    if (hosts->exchange_started) { /* it has ended, or is about to return */
        (void)pthread_join(hosts->exchange_thread, NULL);
    }
    hosts->exchanging = true;
    hosts->exchange_started = thread_start(&hosts->exchange_thread, exchange_main, hosts) == 0;
    if (!hosts->exchange_started) {
        hosts->exchanging = false;
        for (size_t i = 0; i < hosts->exchange_count; i++) {
            answer(&hosts->exchange_for[i], false);
        }
        hosts->exchange_count = 0;
    }
}

/* ------------------------------------------------------------------- listen */

/* Apply what the connections that are due have said, and answer these. */
static void apply(struct hosts *hosts, bool is_unknown) {
    struct connection due[HOSTS_CONNECTIONS_MAX];
    size_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < hosts->connection_count; i++) {
        if (hosts->connections[i].is_due) {
            due[count++] = hosts->connections[i];
        } else {
            hosts->connections[kept++] = hosts->connections[i];
        }
    }
    hosts->connection_count = kept;
    if (count == 0 && !is_unknown) {
        return;
    }
    bool is_applied = hosts->options.apply(hosts->options.user);
    struct connection exchanging[HOSTS_CONNECTIONS_MAX];
    size_t exchanging_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_applied && due[i].change == HOSTS_CONTENT) {
            exchanging[exchanging_count++] = due[i];
        } else {
            answer(&due[i], is_applied);
        }
    }
    if (exchanging_count > 0 || is_unknown) {
        exchange_later(hosts, exchanging, exchanging_count);
    }
}

/* Begin to watch the socket, when it is time for that. Whether something may have been removed that
 * nothing tells of. */
static bool watch_when_due(struct hosts *hosts) {
    if (hosts->watch_due_ns == 0 || clock_now_ns() < hosts->watch_due_ns) {
        return false;
    }
    hosts->watch_due_ns = 0;
    if (!hosts_watch(hosts)) {
        log_line(hosts->options.log, LOG_WARNING, "store",
                 "if the folder %s is removed, what other processes decide takes effect at the "
                 "next start: it cannot be watched: %s",
                 hosts->folder, strerror(errno));
    }
    return true;
}

/* How long poll() may take; -1: until something happens. */
static int pause_ms(const struct hosts *hosts, bool can_accept) {
    if (!can_accept) {
        return DESCRIPTORS_PAUSE_MS;
    }
    if (hosts->watch_due_ns != 0) {
        uint64_t now_ns = clock_now_ns();
        return now_ns >= hosts->watch_due_ns
                       ? 0
                       : (int)((hosts->watch_due_ns - now_ns) / CLOCK_NS_PER_MS) + 1;
    }
    return hosts->is_lost ? LOST_PAUSE_MS : -1;
}

/* Descriptors that are polled before the connections. */
#define POLLED_FIRST 3

static void *listen_main(void *argument) {
    struct hosts *hosts = argument;
    bool can_accept = true;
    hosts_is_applying = true;
    for (;;) {
        struct pollfd polled[HOSTS_CONNECTIONS_MAX + POLLED_FIRST] = {
                {.fd = hosts->wake, .events = POLLIN},
                {.fd = can_accept ? hosts->listener : -1, .events = POLLIN},
                {.fd = hosts->watch, .events = POLLIN}};
        for (size_t i = 0; i < hosts->connection_count; i++) {
            polled[POLLED_FIRST + i] =
                    (struct pollfd){.fd = hosts->connections[i].fd, .events = POLLIN};
        }
        (void)poll(polled, POLLED_FIRST + hosts->connection_count, pause_ms(hosts, can_accept));
        if (polled[0].revents != 0) {
            return NULL;
        }
        can_accept = accept_connections(hosts);
        read_messages(hosts);
        bool was_out_of_reach = false;
        if (watch_when_due(hosts) || polled[2].revents != 0 || hosts->is_lost) {
            was_out_of_reach = hosts_find_again(hosts);
        }
        apply(hosts, !can_accept || was_out_of_reach);
        atomic_store(&hosts->learns, can_accept && !hosts->is_lost && hosts->watched >= 0);
    }
}

int hosts_start(struct hosts *hosts, struct toolrack_error *err) {
    OBJECT_CHECK(hosts, HOSTS_MAGIC);
    if (hosts->listener < 0) {
        return 0;
    }
    hosts->wake = eventfd(0, EFD_CLOEXEC);
    hosts->watch_due_ns = clock_now_ns() + WATCH_AFTER_MS * CLOCK_NS_PER_MS;
    hosts->started = hosts->wake >= 0 && thread_start(&hosts->thread, listen_main, hosts) == 0;
    return hosts->started ? 0
                          : error_set(err, TOOLRACK_E_IO,
                                      "cannot start the thread that learns of decisions: %s",
                                      strerror(hosts->wake < 0 ? errno : EAGAIN));
}

bool hosts_learns(const struct hosts *hosts) {
    return hosts->folder == NULL || atomic_load(&hosts->learns);
}

/* --------------------------------------------------------------------- life */

struct hosts *hosts_create(const struct hosts_options *options) {
    struct hosts *hosts = calloc(1, sizeof *hosts);
    if (hosts == NULL) {
        return NULL;
    }
    hosts->magic = HOSTS_MAGIC;
    hosts->options = *options;
    hosts->listener = -1;
    hosts->wake = -1;
    hosts->watch = -1;
    hosts->watched = -1;
    hosts->mark = -1;
    lock_init(&hosts->lock);
    if (options->state_dir != NULL &&
        asprintf(&hosts->folder, "%s/" FOLDER, options->state_dir) < 0) {
        hosts->folder = NULL;
        hosts_destroy(hosts);
        return NULL;
    }
    return hosts;
}

/* No process connects to a name that is removed; those that have connected see the connection end,
 * and that the name is gone. */
static void remove_socket(struct hosts *hosts) {
    CLEANUP(freep) char *path = NULL;
    if (asprintf(&path, "%s/%s", hosts->folder, hosts->name) < 0) {
        path = NULL;
    } else {
        (void)unlink(path);
    }
    (void)close(hosts->listener);
    hosts->listener = -1;
}

void hosts_stop(struct hosts *hosts) {
    if (hosts == NULL) {
        return;
    }
    OBJECT_CHECK(hosts, HOSTS_MAGIC);
    if (hosts->started) {
        (void)eventfd_write(hosts->wake, 1);
        (void)pthread_join(hosts->thread, NULL);
        hosts->started = false;
        atomic_store(&hosts->learns, false);
    }
    lock_take(&hosts->lock);
    hosts->stopping = true;
    bool is_started = hosts->exchange_started;
    hosts->exchange_started = false;
    lock_release(&hosts->lock);
    if (is_started) {
        (void)pthread_join(hosts->exchange_thread, NULL);
    }
    if (hosts->listener >= 0) {
        remove_socket(hosts);
    }
    closep(&hosts->watch);
    hosts->watch = -1;
    hosts_set_unreachable(hosts, false);
    for (size_t i = 0; i < hosts->connection_count; i++) {
        (void)close(hosts->connections[i].fd);
    }
    for (size_t i = 0; i < hosts->exchange_count; i++) {
        (void)close(hosts->exchange_for[i].fd);
    }
    hosts->connection_count = 0;
    hosts->exchange_count = 0;
}

void hosts_destroy(struct hosts *hosts) {
    if (hosts == NULL) {
        return;
    }
    hosts_stop(hosts);
    OBJECT_WIPE(hosts, HOSTS_MAGIC);
    if (hosts->wake >= 0) {
        (void)close(hosts->wake);
    }
    lock_finish(&hosts->lock);
    free(hosts->folder);
    free(hosts);
}
