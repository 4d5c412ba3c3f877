/* mcp: serve one client of the Model Context Protocol on standard input and output. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/peer.h"
#include "cli/verb-mcp-client.h"
#include "serve/serve.h"
#include "toolrack/serving.h"

static int serve(struct cli *cli, const struct serve_stdio *stdio, const sigset_t *signals) {
    int code = cli_open(cli, cli_ignore_event);
    if (code == 0) {
        code = toolrack_serving_check(cli->host, 0, cli->err);
    }
    if (code == 0) {
        code = serve_stdio_run(cli->host, cli->options.profile, stdio, signals, cli->own);
    }
    cli_close(cli);
    return code;
}

/* In the daemon, for a command that has handed its standard input and output over. What it says,
 * and its end, is that serving ends. */
static int serve_peer(struct cli *cli) {
    int descriptors[MESSAGE_DESCRIPTORS];
    int failed = message_receive_descriptors(cli->peer->fd, descriptors);
    if (failed < 0) {
        (void)cli_error(cli, TOOLRACK_E_IO, "standard input and output did not come: %s",
                        strerror(-failed));
        return cli_fail(cli);
    }
    struct serve_stdio stdio = {.in = descriptors[0],
                                .out = descriptors[1],
                                .stop = cli->peer->fd,
                                .drain = cli->peer->drain,
                                .cut = cli->peer->cut};
    cli_check_profile(cli);
    int code = toolrack_serving_check(cli->host, 0, cli->err);
    if (code == 0) {
        code = serve_stdio_run(cli->host, cli->options.profile, &stdio, NULL, cli->own);
    }
    serve_stdio_release(&stdio);
    if (code > 0) {
        code = cli_error(cli, TOOLRACK_E_IO,
                         "the daemon, process %d, is ending, so it serves this pipe no longer; "
                         "start the command again",
                         (int)getpid());
    }
    return code < 0 ? cli_fail(cli) : CLI_OK;
}

int verb_mcp(struct cli *cli) {
    if (cli->peer != NULL) {
        return serve_peer(cli);
    }
    if (cli->options.install != NULL || cli->options.print_config != NULL) {
        return mcp_tell_client(cli);
    }
    sigset_t signals;
    sigset_t before;
    cli_block_signals(&signals, &before);
    /* Before the host is opened, so that nothing that it loads writes among the messages. */
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
