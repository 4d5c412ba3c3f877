/* serve: serve clients of the Model Context Protocol over HTTP, until a signal ends it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "serve/serve.h"

/* The host watches its folders; the log says what happens. */
static void ignore_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)event;
}

/* A program that started this one waits for the line. */
static void print_ready(void *user, const char *where) {
    (void)user;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_printf(&line, "listening on %s\n", where);
    int failed = line.failed ? -ENOMEM : output_write(STDOUT_FILENO, line.data, line.length);
    if (failed < 0) {
        output_note("cannot write to standard output: %s", strerror(-failed));
    }
}

static void print_note(void *user, const char *line) {
    (void)user;
    output_note("%s", line);
}

int verb_serve(struct cli *cli) {
    sigset_t signals;
    sigset_t before;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    /* Before other threads exist, so that no signal is lost. */
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
    const struct options *options = &cli->options;
    const struct serve_http http = {.listen = options->listen.items,
                                    .listen_count = options->listen.count,
                                    .sockets = options->sockets.items,
                                    .socket_count = options->sockets.count,
                                    .profile = options->profile,
                                    .ready = print_ready,
                                    .note = print_note};
    int code = cli_open(cli, ignore_event);
    if (code == 0) {
        code = serve_http_run(cli->host, &http, &signals, cli->own);
    }
    toolrack_close(cli->host);
    cli->host = NULL;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? cli_fail(cli) : CLI_OK;
}
