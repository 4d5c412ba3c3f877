/* serve: serve clients of MCP and REST over HTTP, as the daemon of the state folder, until a signal
 * ends it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/listen.h"
#include "base/manager.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/output.h"
#include "serve/serve.h"
#include "toolrack/hosts.h"
#include "toolrack/serving.h"

struct serving {
    struct daemon daemon;
    struct manager manager;
    struct commands *commands; /* or NULL */
    const struct options *options;
    const char *token_file;             /* or NULL */
    char config_mark[DAEMON_MARK_ROOM]; /* of the configuration file at the start */
};

/* A program that started this one waits for the line. */
static void print_ready(void *user, const char *where) {
    struct serving *serving = user;
    int failed = daemon_tell(&serving->daemon, where);
    if (failed < 0) {
        output_note("commands are not told that this serves at %s: %s", where, strerror(-failed));
    }
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_printf(&line, "listening on %s\n", where);
    failed = line.failed ? -ENOMEM : output_write(STDOUT_FILENO, line.data, line.length);
    if (failed < 0) {
        output_note("cannot write to standard output: %s", strerror(-failed));
    }
}

static void print_note(void *user, const char *line) {
    (void)user;
    output_note("%s", line);
}

/* A reload changes nothing of what the configuration says, and who sent it may expect that. */
static void tell_changed_config(void *user) {
    const struct serving *serving = user;
    CLEANUP(freep) char *path = daemon_differing_config(serving->options, serving->config_mark);
    if (path != NULL) {
        output_note("%s has changed since this server started, and SIGHUP does not read it again; "
                    "restart the server",
                    path);
    }
}

/* Of the environment, as images of containers are told. Empty is a mistake: who has set it wants
 * the server to have a token, and would get one that is open to whoever reaches it. */
static int read_token_file(struct cli *cli, const char **ret) {
    *ret = getenv("TOOLRACK_TOKEN_FILE");
    return *ret != NULL && *ret[0] == '\0'
                   ? cli_error(
                             cli, TOOLRACK_E_INVALID,
                             "TOOLRACK_TOKEN_FILE is empty; set it to the absolute path of a file "
                             "with the token of an administrator, or unset it")
                   : 0;
}

#define SOCKET_LENGTH_MAX (sizeof((struct sockaddr_un *)NULL)->sun_path - 1)

/* How long the commands that run may take when the server ends. */
#define COMMANDS_END_MS 10000u

/* Without them the server serves all the same. */
static void take_commands(struct cli *cli, struct serving *serving) {
    struct daemon *daemon = &serving->daemon;
    struct toolrack_error err;
    if (commands_start(cli->host, daemon->commands, &serving->commands, &err) < 0) {
        output_note("%s; commands work without this daemon", err.message);
        return;
    }
    int failed = daemon_tell_commands(daemon);
    if (failed < 0) {
        output_note("commands are not told of this daemon: %s", strerror(-failed));
    }
}

/* Before clients are served, so that they find the tools of others that answer at once. */
static int join(struct cli *cli) {
    const struct options *options = &cli->options;
    struct toolrack_join_options join = TOOLRACK_JOIN_OPTIONS_INIT;
    join.url = options->nats;
    join.group = options->group;
    join.name = options->name;
    bool joins = options->nats != NULL || toolrack_joins(cli->host);
    return joins ? toolrack_join(cli->host, &join, cli->err) : 0;
}

static int serve(struct cli *cli, struct serving *serving, const sigset_t *signals) {
    const struct options *options = &cli->options;
    const struct serve_http http = {.listen = options->listen.items,
                                    .listen_count = options->listen.count,
                                    .sockets = options->sockets.items,
                                    .socket_count = options->sockets.count,
                                    .local = serving->daemon.socket,
                                    .profile = options->profile,
                                    .token_file = serving->token_file,
                                    .manager = &serving->manager,
                                    .ready = print_ready,
                                    .note = print_note,
                                    .reloaded = tell_changed_config,
                                    .user = serving};
    int code = cli_open(cli, cli_ignore_event);
    if (code == 0) {
        bool listens_elsewhere = options->listen.count > 0 || options->sockets.count > 0;
        uint32_t parts = TOOLRACK_SERVING_FILES | (listens_elsewhere ? 0 : TOOLRACK_SERVING_SOCKET);
        code = toolrack_serving_check(cli->host, parts, cli->err);
    }
    if (code == 0 && http.token_file != NULL) {
        code = toolrack_token_file(cli->host, http.token_file, cli->err);
    }
    code = code < 0 ? code : join(cli);
    if (code == 0 && serving->daemon.commands != NULL) {
        take_commands(cli, serving);
    }
    return code < 0 ? code : serve_http_run(cli->host, &http, signals, cli->own);
}

/* Of the command line; what the configuration says was checked where it was read. */
static int check_places(struct cli *cli) {
    const struct texts *listen = &cli->options.listen;
    const struct texts *sockets = &cli->options.sockets;
    struct authority authority;
    struct listen_problem problem;
    for (size_t i = 0; i < listen->count; i++) {
        if (!listen_read(listen->items[i], &authority, &problem) ||
            !listen_fits(listen->items, i, &problem)) {
            return cli_error(cli, TOOLRACK_E_INVALID, "--listen: '%s' %s; %s", listen->items[i],
                             problem.what, problem.fix);
        }
    }
    for (size_t i = 0; i < sockets->count; i++) {
        size_t length = strlen(sockets->items[i]);
        if (length == 0 || length > SOCKET_LENGTH_MAX) {
            return cli_error(cli, TOOLRACK_E_INVALID,
                             "--socket: '%s' is no path for a socket; it has 1 to %zu bytes",
                             sockets->items[i], SOCKET_LENGTH_MAX);
        }
    }
    return listen->count + sockets->count <= LISTEN_MAX
                   ? 0
                   : cli_error(cli, TOOLRACK_E_INVALID, "%s", LISTEN_TOO_MANY);
}

int verb_serve(struct cli *cli) {
    if (check_places(cli) < 0) {
        return cli_fail_usage(cli);
    }
    struct serving serving = {.daemon = DAEMON_INIT, .options = &cli->options};
    int code = read_token_file(cli, &serving.token_file);
    if (code < 0) {
        return cli_fail(cli);
    }
    sigset_t signals;
    sigset_t before;
    cli_block_signals(&signals, &before);
    daemon_mark_config(&cli->options, serving.config_mark);
    code = manager_take(&serving.manager, cli->own);
    if (code == 0 && !cli->options.no_daemon) {
        code = daemon_take(&cli->options, &serving.daemon, cli->own);
    }
    code = code < 0 ? code : serve(cli, &serving, &signals);
    (void)sigdelset(&signals, SIGHUP); /* from now on */
    commands_stop(serving.commands, COMMANDS_END_MS, &signals);
    cli_close(cli);
    daemon_finish(&serving.daemon);
    manager_finish(&serving.manager);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? cli_fail(cli) : CLI_OK;
}
