/* mcp: serve one client of the Model Context Protocol on standard input and output. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/verb-mcp-client.h"
#include "serve/serve.h"

/* The host watches its folders; the log says what happens. */
static void ignore_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)event;
}

static int serve(struct cli *cli, const struct serve_stdio *stdio, const sigset_t *signals) {
    int code = cli_open(cli, ignore_event);
    if (code == 0) {
        code = serve_stdio_run(cli->host, cli->options.profile, stdio, signals, cli->own);
    }
    toolrack_close(cli->host);
    cli->host = NULL;
    return code;
}

int verb_mcp(struct cli *cli) {
    if (cli->options.install != NULL || cli->options.print_config != NULL) {
        return mcp_tell_client(cli);
    }
    sigset_t signals;
    sigset_t before;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    /* Before other threads exist, so that no signal is lost; and before the host is opened, so that
     * nothing that it loads writes among the messages. */
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
    struct serve_stdio stdio;
    int failure = serve_stdio_take(&stdio);
    if (failure < 0) {
        (void)cli_error(cli, TOOLRACK_E_IO, "cannot take standard input and output: %s",
                        strerror(-failure));
        return cli_fail(cli);
    }
    int code = serve(cli, &stdio, &signals);
    serve_stdio_release(&stdio);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? cli_fail(cli) : CLI_OK;
}
