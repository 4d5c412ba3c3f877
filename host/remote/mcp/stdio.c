#include "remote/mcp/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "remote/mcp/message.h"
#include "worker/spawn.h"

#define READ_SIZE 65536u

struct stdio {
    const char *name;
    const struct log *log;
    struct process process; /* its socket and output are not used */
    bool is_reaped;
    siginfo_t end;
    int input;  /* what the server reads */
    int output; /* what it writes */
    int errors;
    struct buf read;         /* of its output; */
    size_t taken;            /* this much of that was given out, and */
    size_t searched;         /* this much has no line end behind `taken` */
    char line[LOG_LINE_MAX]; /* of its errors, so far; the last one when it has ended */
    size_t line_length;
    char last[LOG_LINE_MAX];
};

/* ------------------------------------------------------------------- start */

/* What is written goes through a pair of sockets: a pipe whose reader is gone would send the app a
 * signal. */
static bool make_pipe(int *ret_own, int *ret_other, bool writes) {
    int fds[2];
    if ((writes ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) : pipe2(fds, O_CLOEXEC)) <
        0) {
        return false;
    }
    *ret_own = fds[0];
    *ret_other = fds[1];
    int moved = *ret_other > 2 ? *ret_other : fcntl(*ret_other, F_DUPFD_CLOEXEC, 3);
    if (moved != *ret_other) {
        (void)close(*ret_other);
        *ret_other = moved;
    }
    return *ret_other >= 0 && fcntl(*ret_own, F_SETFL, O_NONBLOCK) == 0;
}

static int start(struct stdio *io, const struct stdio_options *options,
                 struct toolrack_error *err) {
    CLEANUP(closep) int input = -1;
    CLEANUP(closep) int output = -1;
    CLEANUP(closep) int errors = -1;
    if (!make_pipe(&io->input, &input, true) || !make_pipe(&io->output, &output, false) ||
        !make_pipe(&io->errors, &errors, false)) {
        return error_set(err, TOOLRACK_E_IO, "cannot make the pipes of MCP server '%s': %s",
                         options->name, strerror(errno));
    }
    int failed = process_start(options->launcher, options->arguments, options->environment,
                               (const int[3]){input, output, errors}, 3, &io->process.pid);
    if (failed != 0) {
        return error_set(err, TOOLRACK_E_IO,
                         "cannot start %s, which launches MCP server '%s': %s; install toolrack's "
                         "worker program there, or name it in TOOLRACK_WORKER",
                         options->launcher, options->name, strerror(failed));
    }
    io->process.pidfd = pidfd_open(io->process.pid, 0);
    if (io->process.pidfd < 0 || !process_put_on_leash(&io->process)) {
        return error_set(err, TOOLRACK_E_IO, "cannot watch MCP server '%s', which was started: %s",
                         options->name, strerror(errno));
    }
    return 0;
}

int stdio_start(const struct stdio_options *options, struct stdio **ret,
                struct toolrack_error *err) {
    struct stdio *io = calloc(1, sizeof *io);
    if (io == NULL) {
        return error_oom(err);
    }
    *io = (struct stdio){.name = options->name,
                         .log = options->log,
                         .process = PROCESS_NONE,
                         .input = -1,
                         .output = -1,
                         .errors = -1};
    int code = start(io, options, err);
    if (code < 0) {
        stdio_end(io);
        return code;
    }
    *ret = io;
    return 0;
}

/* --------------------------------------------------------------------- end */

/* Whether it has ended, and now is reaped; waits `ms` milliseconds at most. */
static bool reap(struct stdio *io, int ms) {
    struct pollfd ended = {.fd = io->process.pidfd, .events = POLLIN};
    if (!io->is_reaped && io->process.pidfd >= 0 && poll(&ended, 1, ms) > 0) {
        io->is_reaped =
                waitid(P_PIDFD, (id_t)io->process.pidfd, &io->end, WEXITED | WNOHANG) == 0 ||
                errno == ECHILD;
    }
    return io->is_reaped;
}

void stdio_end(struct stdio *io) {
    if (io == NULL) {
        return;
    }
    closep(&io->input);
    if (io->process.pid > 0 && !reap(io, (int)STDIO_END_MS_MAX)) {
        if (kill(-io->process.pid, SIGKILL) < 0) {
            (void)kill(io->process.pid, SIGKILL);
        }
        (void)reap(io, -1);
    }
    process_end_group(&io->process); /* what it has started and left */
    closep(&io->process.pidfd);
    closep(&io->output);
    closep(&io->errors);
    buf_finish(&io->read);
    free(io);
}

pid_t stdio_group(const struct stdio *io) {
    return io->is_reaped ? 0 : io->process.pid;
}

/* ------------------------------------------------------------------ errors */

static void log_error_line(struct stdio *io) {
    io->line[io->line_length] = '\0';
    utf8_copy(io->last, sizeof io->last, io->line);
    utf8_make_line(io->last);
    log_line(io->log, LOG_INFO, "mcp", "%s: %s", io->name, io->last);
    io->line_length = 0;
}

static void read_errors(struct stdio *io) {
    char bytes[4096];
    ssize_t got = -1;
    while (io->errors >= 0 && (got = read(io->errors, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '\n' || io->line_length == sizeof io->line - 1) {
                log_error_line(io);
            }
            if (bytes[i] != '\n') {
                io->line[io->line_length++] = bytes[i];
            }
        }
    }
    if (got == 0) { /* it has closed them: there is nothing to wait for */
        closep(&io->errors);
        io->errors = -1;
    }
}

void stdio_say_end(struct stdio *io, char *ret, size_t room, int *ret_signal) {
    *ret_signal = 0;
    bool has_ended = reap(io, 100);
    read_errors(io);
    if (io->line_length > 0) {
        log_error_line(io);
    }
    if (!has_ended) {
        (void)snprintf(ret, room, "closed its output");
    } else if (io->end.si_code == CLD_EXITED) {
        (void)snprintf(ret, room, "exited with status %d", io->end.si_status);
    } else {
        *ret_signal = io->end.si_status;
        (void)snprintf(ret, room, "was killed by signal %d (%s)", io->end.si_status,
                       strsignal(io->end.si_status));
    }
    size_t length = strlen(ret);
    if (io->last[0] != '\0' && length < room) {
        (void)snprintf(ret + length, room - length, "; it last wrote: %s", io->last);
    }
}

/* ---------------------------------------------------------------- messages */

long stdio_write(struct stdio *io, const char *text, size_t length) {
    ssize_t written = send(io->input, text, length, MSG_NOSIGNAL);
    return written >= 0 ? (long)written : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

void stdio_wait(const struct stdio *io, bool writes, int ms) {
    struct pollfd fds[] = {{.fd = io->output, .events = POLLIN},
                           {.fd = io->errors, .events = POLLIN},
                           {.fd = writes ? io->input : -1, .events = POLLOUT}};
    (void)poll(fds, ARRAY_LENGTH(fds), ms);
}

int stdio_read(struct stdio *io, struct toolrack_error *err) {
    struct buf *all = &io->read;
    if (io->taken > 0) {
        memmove(all->data, all->data + io->taken, all->length - io->taken);
        all->length -= io->taken;
        io->searched -= io->taken;
        io->taken = 0;
    }
    if (!buf_reserve(all, READ_SIZE)) {
        return error_oom(err);
    }
    ssize_t got = read(io->output, all->data + all->length, READ_SIZE);
    read_errors(io);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        return error_set(err, TOOLRACK_E_IO, "MCP server '%s' has closed its output", io->name);
    }
    all->length += got > 0 ? (size_t)got : 0;
    if (all->length > MCP_MESSAGE_MAX && memchr(all->data, '\n', all->length) == NULL) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "MCP server '%s' sent a line of more than the %u bytes allowed", io->name,
                         MCP_MESSAGE_MAX);
    }
    return 0;
}

bool stdio_line(struct stdio *io, const char **ret, size_t *ret_length) {
    struct buf *all = &io->read;
    const char *end = all->length > io->searched
                              ? memchr(all->data + io->searched, '\n', all->length - io->searched)
                              : NULL;
    if (end == NULL) {
        io->searched = all->length;
        return false;
    }
    *ret = all->data + io->taken;
    *ret_length = (size_t)(end - *ret);
    io->taken = (size_t)(end - all->data) + 1;
    io->searched = io->taken;
    return true;
}
