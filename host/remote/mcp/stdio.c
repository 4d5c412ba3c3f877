#include "remote/mcp/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
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
#include "remote/mcp/rate.h"
#include "worker/spawn.h"

#define READ_SIZE         65536u
/* Most bytes read of its errors at a time: who writes them without end leaves time for others. */
#define READ_ERRORS_MAX   65536
/* So many lines after one that names an error may belong to it. */
#define FAILURE_LINES_MAX 40u

struct stdio {
    struct transport base;
    const char *name;
    const struct log *log;
    struct process process; /* its socket and output are not used */
    bool is_reaped;
    siginfo_t end;
    int input;  /* what the server reads */
    int output; /* what it writes */
    int errors;
    bool is_quiet;           /* no errors were there when it was waited for last */
    struct buf unsent;       /* for its input */
    atomic_bool has_unsent;  /* the same, for who waits */
    struct buf read;         /* of its output; */
    size_t taken;            /* this much of that was given out, and */
    size_t searched;         /* this much has no line end behind `taken` */
    char line[LOG_LINE_MAX]; /* of its errors, so far; the last one when it has ended */
    size_t line_length;
    struct rate lines;
    char last[LOG_LINE_MAX];
    char failure[LOG_LINE_MAX]; /* the last that names an error, while it is not long ago */
    unsigned since;             /* lines after that */
    struct secrets *secrets;
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

static void end(struct transport *transport) {
    struct stdio *io = (struct stdio *)transport;
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
    buf_finish(&io->unsent);
    buf_finish(&io->read);
    free(io);
}

static pid_t group(const struct transport *transport) {
    const struct stdio *io = (const struct stdio *)transport;
    return io->is_reaped ? 0 : io->process.pid;
}

/* ------------------------------------------------------------------ errors */

/* Engines print what went wrong, where, and then something about themselves. */
static bool names_error(const char *line) {
    return line[0] != ' ' && line[0] != '\t' &&
           (strstr(line, "rror") != NULL || strstr(line, "xception") != NULL ||
            strstr(line, "panicked") != NULL);
}

static void log_error_line(struct stdio *io) {
    io->line[io->line_length] = '\0';
    utf8_copy(io->last, sizeof io->last, io->line);
    utf8_make_line(io->last);
    mount_secrets_hide(io->secrets, io->last);
    if (names_error(io->last)) {
        memcpy(io->failure, io->last, sizeof io->failure);
        io->since = 0;
    } else if (++io->since > FAILURE_LINES_MAX) {
        io->failure[0] = '\0';
    }
    io->line_length = 0;
    enum rate_verdict verdict = rate_judge(&io->lines, RATE_LINES_MAX);
    if (verdict == RATE_PASSES) {
        log_line(io->log, LOG_INFO, "mcp", "%s: %s", io->name, io->last);
    } else if (verdict == RATE_FIRST_TOO_MUCH) {
        log_line(io->log, LOG_WARNING, "mcp",
                 "%s: more than %u lines of errors within a second: the others of this second are "
                 "dropped",
                 io->name, RATE_LINES_MAX);
    }
}

static void read_errors(struct stdio *io) {
    char bytes[4096];
    ssize_t got = -1;
    ssize_t all = 0;
    while (io->errors >= 0 && (all += got > 0 ? got : 0) < READ_ERRORS_MAX &&
           (got = read(io->errors, bytes, sizeof bytes)) > 0) {
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

/* Say how a server ended that has closed its output: "was killed by signal 9 (Killed)".
 * @param ret_signal  0: none */
static void say_end(struct stdio *io, char *ret, size_t room, int *ret_signal) {
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
    bool has_more = io->failure[0] != '\0' && io->since > 0;
    if (io->last[0] != '\0' && length < room) {
        (void)snprintf(ret + length, room - length, "%s%.400s; it last wrote: %.600s",
                       has_more ? "; it wrote: " : "", has_more ? io->failure : "", io->last);
    }
}

/* ---------------------------------------------------------------- messages */

/* Write what fits now; the rest is written by who waits. */
static void flush(struct stdio *io) {
    struct buf *unsent = &io->unsent;
    size_t sent = 0;
    ssize_t written = 0;
    while (sent < unsent->length && (written = send(io->input, unsent->data + sent,
                                                    unsent->length - sent, MSG_NOSIGNAL)) > 0) {
        sent += (size_t)written;
    }
    bool is_closed = written < 0 && errno != EAGAIN && errno != EINTR;
    if (is_closed || sent == unsent->length) {
        buf_clear(unsent); /* if its input is closed, reading will tell why */
    } else if (sent > 0) {
        memmove(unsent->data, unsent->data + sent, unsent->length - sent);
        buf_truncate(unsent, unsent->length - sent);
    }
    atomic_store(&io->has_unsent, unsent->length > 0);
}

static int send_line(struct transport *transport, const struct outgoing *out,
                     struct toolrack_error *err) {
    struct stdio *io = (struct stdio *)transport;
    struct buf *unsent = &io->unsent;
    size_t before = unsent->length;
    if (before + out->text->length >= STDIO_UNSENT_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "MCP server '%s' does not read what it is sent: %zu bytes wait, of the %u "
                         "allowed",
                         io->name, before, STDIO_UNSENT_MAX);
    }
    buf_add(unsent, out->text->data, out->text->length);
    buf_add_char(unsent, '\n');
    if (unsent->failed) {
        unsent->failed = false;
        buf_truncate(unsent, before);
        return error_oom(err);
    }
    flush(io);
    return 0;
}

/* The server is told by a notification. */
static bool drop(struct transport *transport, uint64_t number) {
    (void)transport;
    (void)number;
    return false;
}

static void wait_for_either(struct transport *transport, int ms) {
    struct stdio *io = (struct stdio *)transport;
    struct pollfd fds[] = {
            {.fd = io->output, .events = POLLIN},
            {.fd = io->errors, .events = POLLIN},
            {.fd = atomic_load(&io->has_unsent) ? io->input : -1, .events = POLLOUT}};
    io->is_quiet = poll(fds, ARRAY_LENGTH(fds), ms) > 0 && fds[1].revents == 0;
}

static int explain_end(struct stdio *io, struct toolrack_error *err) {
    char how[LOG_LINE_MAX + 128];
    int signal;
    say_end(io, how, sizeof how, &signal);
    (void)error_set(err, TOOLRACK_E_IO, "MCP server '%s' %s", io->name, how);
    err->signal = signal;
    return err->code;
}

static int receive(struct transport *transport, struct toolrack_error *err) {
    struct stdio *io = (struct stdio *)transport;
    struct buf *all = &io->read;
    flush(io);
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
    if (!io->is_quiet || got <= 0) {
        read_errors(io);
    }
    io->is_quiet = false;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        return explain_end(io, err);
    }
    all->length += got > 0 ? (size_t)got : 0;
    if (all->length > MCP_MESSAGE_MAX && memchr(all->data, '\n', all->length) == NULL) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "MCP server '%s' sent a line of more than the %u bytes allowed", io->name,
                         MCP_MESSAGE_MAX);
    }
    return 0;
}

/* The next whole line that was read, without its end. */
static bool next_line(struct stdio *io, const char **ret, size_t *ret_length) {
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

static bool next(struct transport *transport, struct incoming *ret) {
    struct stdio *io = (struct stdio *)transport;
    const char *line;
    size_t length;
    while (next_line(io, &line, &length)) {
        bool is_blank = length == 0 || (length == 1 && line[0] == '\r');
        if (!is_blank) {
            ret->message = NULL;
            ret->number = 0;
            (void)mcp_message_read(line, length, &ret->message, &ret->why);
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- whole */

static const struct transport_calls calls = {.send = send_line,
                                             .drop = drop,
                                             .wait = wait_for_either,
                                             .receive = receive,
                                             .next = next,
                                             .group = group,
                                             .end = end};

int stdio_start(const struct stdio_options *options, struct transport **ret,
                struct toolrack_error *err) {
    struct stdio *io = calloc(1, sizeof *io);
    if (io == NULL) {
        return error_oom(err);
    }
    *io = (struct stdio){.base.calls = &calls,
                         .name = options->name,
                         .log = options->log,
                         .secrets = options->secrets,
                         .process = PROCESS_NONE,
                         .input = -1,
                         .output = -1,
                         .errors = -1};
    int code = start(io, options, err);
    if (code < 0) {
        end(&io->base);
        return code;
    }
    *ret = &io->base;
    return 0;
}
