#include "cli/commands.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/linked.h"
#include "base/lock.h"
#include "base/thread.h"
#include "cli/message.h"
#include "cli/peer.h"
#include "cli/run.h"
#include "serve/serve.h"

/* Commands that the kernel keeps until they are taken. */
#define BACKLOG    128
/* How long a command may take to say what it wants. */
#define PATIENCE_S 10
/* How often a wait looks for signals. */
#define HURRY_MS   50u
/* After a moment without descriptors or memory the next command is taken. */
#define REST_MS    100

/* Guarantees:
 *
 *  (1) A command is in the list from before its thread begins until it has sent its last word, and
 *      its descriptor is open as long: so commands_stop() may shut it down.
 *  (2) commands_stop() returns when the list is empty: nothing uses the host then. */
struct commands {
    struct toolrack *host;
    char *path;
    dev_t device; /* which file the socket is: the path may be another one's later */
    ino_t inode;
    int fd;
    int stop; /* an eventfd, readable when commands_stop() begins */
    int cut;  /* likewise, when its patience has ended */
    pthread_t thread;
    struct lock lock; /* guards what follows */
    pthread_cond_t fewer;
    struct command *first;
    unsigned count;
};

struct command {
    struct commands *commands;
    struct command *next;
    struct command **link;
    int fd;
};

/* -------------------------------------------------------------- one command */

static void refuse(int fd, const char *why) {
    (void)message_send(fd, MESSAGE_ALONE, why, strlen(why));
}

/* Whether the process at the other end may have what this user has. */
static bool is_welcome(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != geteuid()) {
        refuse(fd, "the daemon belongs to another user");
        return false;
    }
    const char *why = serve_find_worker(peer.pid);
    if (why != NULL) {
        refuse(fd, why);
    }
    return why == NULL;
}

static void add_end(struct buf *bytes, const struct cli *cli, int code) {
    const struct styles *styles = &cli->styles;
    const struct message_end end = {.code = code,
                                    .signal = cli->signal,
                                    .failed = cli->out.failed,
                                    .style_count = (uint32_t)styles->count};
    buf_add(bytes, &end, sizeof end);
    if (!cli->out.failed) {
        buf_add(bytes, cli->out.data, cli->out.length);
    }
    for (size_t i = 0; i < styles->count; i++) {
        const uint64_t mark[] = {styles->marks[i].at, styles->marks[i].style};
        buf_add(bytes, mark, sizeof mark);
    }
}

static void run(struct command *command, const struct message_run *wanted) {
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    struct toolrack_error own = {.code = 0};
    struct peer peer;
    if (peer_init(&peer, command->fd) < 0) {
        peer_finish(&peer);
        refuse(command->fd, "the daemon has no room for one more command");
        return;
    }
    peer.asks = wanted->asks;
    peer.drain = command->commands->stop;
    peer.cut = command->commands->cut;
    peer.input = wanted->input;
    peer.input_length = wanted->input_length;
    struct cli cli = {.host = command->commands->host,
                      .terminal = wanted->terminal,
                      .width = wanted->columns,
                      .peer = &peer,
                      .err = toolrack_error_create(),
                      .own = &own};
    int code = cli_run_for_peer(&cli, wanted->count, wanted->words);
    if (code < 0) {
        refuse(command->fd, "");
    } else {
        add_end(&bytes, &cli, code);
        if (bytes.failed || bytes.length > MESSAGE_LENGTH_MAX) {
            struct message_end end = {.code = code, .failed = 1};
            (void)message_send(command->fd, MESSAGE_END, &end, sizeof end);
        } else {
            (void)message_send(command->fd, MESSAGE_END, bytes.data, bytes.length);
        }
    }
    cli_finish(&cli);
    peer_finish(&peer);
}

static void take(struct command *command) {
    struct message message = {0};
    struct message_run wanted = {0};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    const struct timeval none = {0};
    if (!is_welcome(command->fd)) {
        return;
    }
    (void)setsockopt(command->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int failed = message_receive(command->fd, &message);
    (void)setsockopt(command->fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    bool is_probe = failed == 0 && message.kind == MESSAGE_PROBE;
    if (failed == 0 && !is_probe) {
        failed = message.kind == MESSAGE_RUN ? message_read_run(&message.bytes, &wanted) : -EBADMSG;
    }
    if (failed == 0 && !is_probe && strcmp(wanted.version, toolrack_version()) != 0) {
        failed = -EPROTO;
    }
    if (failed == 0) {
        /* A command that waits no longer was told that it is not run. */
        failed = message_send(command->fd, MESSAGE_BEGUN, NULL, 0);
        if (failed == 0 && !is_probe) {
            run(command, &wanted);
        }
    } else if (failed != -ENODATA) {
        refuse(command->fd, failed == -EPROTO ? "the daemon is of another version"
                                              : "the daemon does not understand the command");
    }
    free(wanted.words);
    buf_finish(&message.bytes);
}

static void *serve_command(void *argument) {
    struct command *command = argument;
    struct commands *commands = command->commands;
    take(command);
    lock_take(&commands->lock);
    LINKED_REMOVE(command);
    commands->count--;
    (void)close(command->fd);
    (void)pthread_cond_broadcast(&commands->fewer);
    lock_release(&commands->lock);
    free(command);
    return NULL;
}

/* ---------------------------------------------------------------- listening */

static void begin(struct commands *commands, int fd) {
    struct command *command = calloc(1, sizeof *command);
    pthread_t thread;
    LOCK_SCOPE(&commands->lock);
    if (command == NULL || commands->count == COMMANDS_MAX) {
        refuse(fd, "");
        (void)close(fd);
        free(command);
        return;
    }
    *command = (struct command){.commands = commands, .fd = fd};
    if (thread_start(&thread, serve_command, command) != 0) {
        refuse(fd, "");
        (void)close(fd);
        free(command);
        return;
    }
    (void)pthread_detach(thread);
    LINKED_ADD(&commands->first, command);
    commands->count++;
}

static void *listen_for_commands(void *argument) {
    struct commands *commands = argument;
    struct pollfd waits[] = {{.fd = commands->fd, .events = POLLIN},
                             {.fd = commands->stop, .events = POLLIN}};
    for (;;) {
        if (poll(waits, ARRAY_LENGTH(waits), -1) < 0 && errno != EINTR) {
            (void)poll(NULL, 0, REST_MS);
            continue;
        }
        if (waits[1].revents != 0) {
            return NULL;
        }
        int fd = accept4(commands->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            begin(commands, fd);
        } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            (void)poll(&waits[1], 1, REST_MS);
        }
    }
}

/* The lock of the state folder is held, so a socket that is there is of a daemon that has ended.
 * Another file is somebody's, and stays. */
static int remove_stale(const char *path, struct toolrack_error *err) {
    struct stat status;
    if (lstat(path, &status) < 0) {
        return errno == ENOENT ? 0
                               : error_set(err, TOOLRACK_E_IO, "cannot look at %s: %s", path,
                                           strerror(errno));
    }
    if (!S_ISSOCK(status.st_mode)) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "cannot listen for commands: %s exists and is no socket; remove it", path);
    }
    return unlink(path) == 0 || errno == ENOENT
                   ? 0
                   : error_set(err, TOOLRACK_E_IO, "cannot remove the old socket %s: %s", path,
                               strerror(errno));
}

static bool note_file(struct commands *commands) {
    struct stat status;
    if (lstat(commands->path, &status) < 0) {
        return false;
    }
    commands->device = status.st_dev;
    commands->inode = status.st_ino;
    return true;
}

static int open_socket(struct commands *commands, struct toolrack_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(commands->path) >= sizeof address.sun_path) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is too long for the path of a socket",
                         commands->path);
    }
    memcpy(address.sun_path, commands->path, strlen(commands->path) + 1);
    int code = remove_stale(commands->path, err);
    if (code < 0) {
        return code;
    }
    commands->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    commands->stop = eventfd(0, EFD_CLOEXEC);
    commands->cut = eventfd(0, EFD_CLOEXEC);
    /* The mode of the descriptor becomes that of the file. */
    return commands->fd >= 0 && commands->stop >= 0 && commands->cut >= 0 &&
                           fchmod(commands->fd, 0600) == 0 &&
                           bind(commands->fd, (const struct sockaddr *)&address, sizeof address) ==
                                   0 &&
                           chmod(commands->path, 0600) == 0 && note_file(commands) &&
                           listen(commands->fd, BACKLOG) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_IO, "cannot listen for commands at %s: %s",
                               commands->path, strerror(errno));
}

/* Remove the socket. What took its place stays. */
static void leave_path(const struct commands *commands) {
    struct stat status;
    if (lstat(commands->path, &status) == 0 && status.st_dev == commands->device &&
        status.st_ino == commands->inode) {
        (void)unlink(commands->path);
    }
}

static void destroy(struct commands *commands) {
    closep(&commands->fd);
    closep(&commands->stop);
    closep(&commands->cut);
    free(commands->path);
    (void)pthread_cond_destroy(&commands->fewer);
    lock_finish(&commands->lock);
    free(commands);
}

int commands_start(struct toolrack *host, const char *path, struct commands **ret,
                   struct toolrack_error *err) {
    struct commands *commands = calloc(1, sizeof *commands);
    if (commands == NULL) {
        return error_oom(err);
    }
    *commands =
            (struct commands){.host = host, .path = strdup(path), .fd = -1, .stop = -1, .cut = -1};
    lock_init(&commands->lock);
    clock_cond_init(&commands->fewer);
    int code = commands->path == NULL ? error_oom(err) : open_socket(commands, err);
    int failed = code < 0 ? 0 : thread_start(&commands->thread, listen_for_commands, commands);
    if (failed != 0) {
        code = error_set(err, TOOLRACK_E_IO, "cannot start a thread: %s", strerror(failed));
    }
    if (code < 0) {
        destroy(commands);
        return code;
    }
    *ret = commands;
    return 0;
}

/* Let verbs find that their command has ended; `mcp` finds that it is the daemon that ends. */
static void end(struct commands *commands) {
    (void)eventfd_write(commands->cut, 1);
    LOCK_SCOPE(&commands->lock);
    for (struct command *command = commands->first; command != NULL; command = command->next) {
        (void)shutdown(command->fd, SHUT_RD);
    }
}

/* Wait until no command runs, or the patience has an end. */
static void wait_for_commands(struct commands *commands, unsigned patience_ms,
                              const sigset_t *hurry) {
    const struct timespec now = {0};
    uint64_t end_ns = clock_now_ns() + (uint64_t)patience_ms * CLOCK_NS_PER_MS;
    LOCK_SCOPE(&commands->lock);
    while (commands->count > 0 && clock_now_ns() < end_ns && sigtimedwait(hurry, NULL, &now) < 0) {
        struct timespec until = clock_timespec(clock_now_ns() + HURRY_MS * CLOCK_NS_PER_MS);
        (void)lock_wait_until(&commands->lock, &commands->fewer, &until);
    }
}

void commands_stop(struct commands *commands, unsigned patience_ms, const sigset_t *hurry) {
    if (commands == NULL) {
        return;
    }
    leave_path(commands);
    (void)eventfd_write(commands->stop, 1);
    (void)pthread_join(commands->thread, NULL);
    wait_for_commands(commands, patience_ms, hurry);
    end(commands);
    lock_take(&commands->lock);
    while (commands->count > 0) {
        lock_wait(&commands->lock, &commands->fewer);
    }
    lock_release(&commands->lock);
    destroy(commands);
}
