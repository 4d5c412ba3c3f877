/* stdio.c - a client at the other end of two pipes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/thread.h"
#include "serve/mcp/mcp.h"
#include "serve/serve.h"
#include "serve/stdio/input.h"
#include "serve/stdio/output.h"

struct pipes {
    struct toolrack *host;
    struct output output;
    struct input input;
    struct exchange way;
    struct mcp_pipe *pipe;
    int signal_fd; /* of signals, or that of the caller for which serving stops */
    int drain_fd;  /* of the caller: the server is to end; -1: none */
    int cut_fd;    /* of the caller: it ends now; -1: none */
    int closed_fd; /* an eventfd: all is answered and written */
    bool drained;  /* nothing is read any more since that */
    bool has_more; /* lines were read that are not taken */
    int ended;     /* why nothing is read any more: 0: the client's end; a negative errno; 1: a
                      signal */
};

/* Lines that are taken before their calls run. */
#define LINES_MAX 64

/* The way back of one message. */
struct line {
    struct exchange exchange;
    struct pipes *pipes;
};

/* ------------------------------------------------------------ the descriptors */

int serve_stdio_take(struct serve_stdio *ret) {
    CLEANUP(closep) int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    CLEANUP(closep) int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    CLEANUP(closep) int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || out < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) {
        return -errno;
    }
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        int failure = -errno;
        (void)dup2(in, STDIN_FILENO);
        return failure;
    }
    ret->in = in;
    ret->out = out;
    ret->stop = ret->drain = ret->cut = -1;
    in = out = -1;
    return 0;
}

void serve_stdio_release(struct serve_stdio *stdio) {
    (void)close(stdio->in);
    (void)close(stdio->out);
}

/* --------------------------------------------------------------- exchanges */

static void send_line(struct exchange *exchange, const char *event_id, const char *text,
                      size_t length) {
    (void)event_id;
    if (length > 0) {
        output_send(&((struct line *)exchange)->pipes->output, text, length);
    }
}

static void finish_line(struct exchange *exchange, const struct exchange_answer *answer) {
    struct line *line = (struct line *)exchange;
    if (answer->text != NULL) {
        output_send(&line->pipes->output, answer->text, answer->length);
    }
    free(line);
}

static const struct exchange_calls line_calls = {.send = send_line, .finish = finish_line};

static struct pipes *pipes_of(struct exchange *way) {
    return (struct pipes *)((char *)way - offsetof(struct pipes, way));
}

static void send_on_way(struct exchange *way, const char *event_id, const char *text,
                        size_t length) {
    (void)event_id;
    output_send(&pipes_of(way)->output, text, length);
}

static void finish_way(struct exchange *way, const struct exchange_answer *answer) {
    (void)way; /* mcp_pipe_close() calls it */
    (void)answer;
}

static const struct exchange_calls way_calls = {.send = send_on_way, .finish = finish_way};

/* ------------------------------------------------------------------- reading */

static void receive(struct pipes *pipes, char *text, size_t length) {
    struct line *line = malloc(sizeof *line);
    if (line == NULL) {
        output_stop(&pipes->output, -ENOMEM);
        return;
    }
    *line = (struct line){.exchange = {.calls = &line_calls}, .pipes = pipes};
    /* The next line begins where the parser wants room. */
    char behind[YYJSON_PADDING_SIZE];
    memcpy(behind, text + length, sizeof behind);
    mcp_pipe_receive(pipes->pipe, text, length, &line->exchange);
    memcpy(text + length, behind, sizeof behind);
}

static void refuse_long(struct pipes *pipes) {
    static const char answer[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":"
                                 "\"the message is longer than 66 MiB\"}}";
    output_send(&pipes->output, answer, sizeof answer - 1);
}

/* Take the lines that are there. @return whether more may come */
static bool take_lines(struct pipes *pipes) {
    char *text = NULL;
    size_t length = 0;
    for (int i = 0; i < LINES_MAX; i++) {
        switch (input_take(&pipes->input, &text, &length)) {
        case INPUT_LINE: receive(pipes, text, length); break;
        case INPUT_TOO_LONG: refuse_long(pipes); break;
        case INPUT_MORE: pipes->has_more = false; return true;
        case INPUT_END: return false;
        }
    }
    pipes->has_more = true;
    return true;
}

enum { CAME_INPUT = 1, CAME_SIGNAL = 2, CAME_DRAIN = 4, CAME_CUT = 8 };

/* Wait until a descriptor can be read, a signal came, or `drain` (-1: none) or that for the cut can
 * be read. After the cut the other end of a stop is shut down too: that is no signal. */
static unsigned wait_for(const struct pipes *pipes, int fd, int drain) {
    struct pollfd waits[] = {{.fd = fd, .events = POLLIN},
                             {.fd = pipes->signal_fd, .events = POLLIN},
                             {.fd = drain, .events = POLLIN},
                             {.fd = pipes->cut_fd, .events = POLLIN}};
    while (poll(waits, ARRAY_LENGTH(waits), -1) < 0 && errno == EINTR) {
    }
    if (waits[3].revents != 0) {
        return CAME_CUT | CAME_DRAIN;
    }
    return (waits[0].revents != 0 ? CAME_INPUT : 0u) | (waits[1].revents != 0 ? CAME_SIGNAL : 0u) |
           (waits[2].revents != 0 ? CAME_DRAIN : 0u);
}

/* Wait for lines. @return whether there are some, or the client's end */
static bool read_lines(struct pipes *pipes) {
    if (output_failure(&pipes->output) != 0) {
        return false;
    }
    unsigned came = wait_for(pipes, pipes->input.fd, pipes->drain_fd);
    pipes->drained = (came & CAME_DRAIN) != 0;
    if ((came & CAME_SIGNAL) != 0) {
        pipes->ended = 1;
    } else if (!pipes->drained) {
        pipes->ended = input_read(&pipes->input);
    }
    return pipes->ended == 0 && !pipes->drained;
}

/* See toolrack_take. What was answered since the last time is written at once. */
static bool take(void *user) {
    struct pipes *pipes = user;
    output_flush(&pipes->output);
    if (!pipes->has_more && !read_lines(pipes)) {
        return false;
    }
    output_hold(&pipes->output);
    bool may_come = take_lines(pipes);
    if (!may_come) {
        output_flush(&pipes->output);
    }
    return may_come;
}

/* What waits for a signal while the last calls end. */
struct watch {
    struct pipes *pipes;
    struct mcp *mcp;
    pthread_t thread;
};

static void *watch_signal(void *argument) {
    struct watch *watch = argument;
    unsigned came = wait_for(watch->pipes, watch->pipes->closed_fd, -1);
    if ((came & CAME_CUT) != 0) {
        mcp_cut(watch->mcp);
    } else if ((came & CAME_SIGNAL) != 0) {
        output_stop(&watch->pipes->output, -EINTR);
        mcp_cancel(watch->mcp);
    }
    return NULL;
}

/* The client's side is closed, or nothing more is read: answer what runs, and write it; a signal
 * cancels that, and the cut of the caller too, with an answer. */
static void close_pipe(struct mcp *mcp, struct pipes *pipes, bool cancels) {
    struct watch watch = {.pipes = pipes, .mcp = mcp};
    uint64_t one = 1;
    bool watches = !cancels && thread_start(&watch.thread, watch_signal, &watch) == 0;
    mcp_pipe_close(pipes->pipe, cancels);
    output_drain(&pipes->output);
    if (watches) {
        (void)!write(pipes->closed_fd, &one, sizeof one);
        (void)pthread_join(watch.thread, NULL);
    }
}

/* The signal has had its effect. */
static void take_signals(const struct pipes *pipes) {
    struct signalfd_siginfo signal;
    while (read(pipes->signal_fd, &signal, sizeof signal) > 0) {
    }
}

static int serve_pipes(struct mcp *mcp, struct pipes *pipes, struct toolrack_error *err) {
    static const struct principal principal = {.permissions = ~0u};
    pipes->way = (struct exchange){.calls = &way_calls};
    int code = mcp_pipe_open(mcp, &principal, &pipes->way, &pipes->pipe, err);
    if (code < 0) {
        return code;
    }
    struct toolrack_source *source = NULL;
    code = toolrack_source_start(pipes->host, take, pipes, &source, err);
    if (code == 0) {
        toolrack_source_wait(source);
        toolrack_source_stop(source);
    }
    bool cancels = code < 0 || pipes->ended != 0 || output_failure(&pipes->output) != 0;
    if (cancels) {
        output_stop(&pipes->output, -EINTR);
    }
    close_pipe(mcp, pipes, cancels);
    int failure = output_failure(&pipes->output);
    if (code < 0) {
        return code;
    }
    if (pipes->ended < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read messages from standard input: %s",
                         strerror(-pipes->ended));
    }
    /* A client that closes its side of the pipe is gone, and that is no failure of the server. */
    return failure != 0 && failure != -EPIPE && failure != -EINTR
                   ? error_set(err, TOOLRACK_E_IO, "cannot write messages to standard output: %s",
                               strerror(-failure))
                   : (int)pipes->drained;
}

int serve_stdio_check(struct toolrack *host, const char *profile, struct toolrack_error *err) {
    struct mcp *mcp = NULL;
    const struct mcp_options options = {.host = host, .profile = profile};
    int code = mcp_create(&options, &mcp, err);
    mcp_destroy(mcp);
    return code;
}

int serve_stdio_run(struct toolrack *host, const char *profile, const struct serve_stdio *stdio,
                    const sigset_t *signals, struct toolrack_error *err) {
    struct pipes pipes = {.host = host,
                          .signal_fd = stdio->stop >= 0
                                               ? stdio->stop
                                               : signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK),
                          .drain_fd = stdio->drain,
                          .cut_fd = stdio->cut,
                          .closed_fd = eventfd(0, EFD_CLOEXEC)};
    struct mcp *mcp = NULL;
    int code = pipes.signal_fd < 0 || pipes.closed_fd < 0
                       ? error_set(err, TOOLRACK_E_IO, "cannot serve: %s", strerror(errno))
                       : 0;
    output_init(&pipes.output, stdio->out, pipes.signal_fd);
    input_init(&pipes.input, stdio->in);
    struct mcp_options options = {.host = host, .profile = profile};
    if (code == 0) {
        code = mcp_create(&options, &mcp, err);
    }
    if (code == 0) {
        code = serve_pipes(mcp, &pipes, err);
    }
    mcp_destroy(mcp);
    input_finish(&pipes.input);
    output_finish(&pipes.output);
    (void)close(pipes.closed_fd);
    if (stdio->stop < 0) {
        take_signals(&pipes);
        (void)close(pipes.signal_fd);
    }
    return code;
}
