#include "cli/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/json.h"
#include "cli/opening.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/peer.h"
#include "cli/relay.h"

static int run(struct cli *cli, int argc, char **argv) {
    if (options_parse(cli_verbs, argc, argv, &cli->options, cli->own) < 0) {
        return cli_fail_usage(cli);
    }
    /* The library has commands of its own: this program may be linked with it in either way. */
    command_places_add(&cli->stated, cli->options.config_file, cli->options.state_dir,
                       cli->options.plugin_dirs.count > 0 ? cli->options.plugin_dirs.items : NULL);
    const struct verb *verb = cli->options.verb;
    if (cli->options.help) {
        return help_print(cli, verb);
    }
    if (cli->options.version) {
        return verb_version(cli);
    }
    int code = CLI_OK;
    if (relay_run(cli, argc, argv, &code)) {
        return code;
    }
    if (verb != NULL) {
        if (verb->host && cli_open(cli, NULL) < 0) {
            return cli_fail(cli);
        }
        if (!cli->options.verbose && (verb->run == verb_call || verb->run == verb_reload)) {
            opening_hold();
        }
        return verb->run(cli);
    }
    if (cli->options.json) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "a verb is missing; 'toolrack help' lists the verbs");
        return cli_fail_usage(cli);
    }
    /* The overview was not asked for, so it is not the result. */
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    help_overview(&text, NULL);
    (void)output_write(STDERR_FILENO, text.data, text.length);
    return CLI_USAGE;
}

/* ------------------------------------------------------------------ output */

void cli_style(struct cli *cli, enum style style) {
    style_begin(&cli->styles, cli->out.length, style);
}

static bool is_longer_than(const struct buf *text, size_t lines) {
    size_t count = 0;
    for (size_t i = 0; i < text->length; i++) {
        count += text->data[i] == '\n';
    }
    return count >= lines;
}

/* Show text on the terminal, in the pager if it is longer than the screen. The host is closed
 * before a person begins to read. @return 0, or a negative errno. */
static int show(struct cli *cli, const struct buf *text, int *ret_signal) {
    const char *pager = cli->options.no_pager ? NULL : pager_command();
    if (pager != NULL && is_longer_than(text, output_height())) {
        toolrack_close(cli->host);
        cli->host = NULL;
        if (pager_show(pager, text->data, text->length, ret_signal)) {
            return 0;
        }
        output_note("cannot run the pager \"%s\"; TOOLRACK_PAGER names another, --no-pager is none",
                    pager);
    }
    return write_all(STDOUT_FILENO, text->data, text->length);
}

/* Write what the verb has printed. A program that reads it gets it as it is.
 * @return 0, or a negative errno. */
static int write_output(struct cli *cli) {
    const struct verb *verb = cli->options.verb;
    bool raw = cli->options.json || (verb != NULL && verb->raw && !cli->options.help);
    bool color = output_has_color(cli->options.color);
    if (cli->out.failed) {
        return -ENOMEM;
    }
    if (raw || (!cli->terminal && !color)) {
        return output_write(STDOUT_FILENO, cli->out.data, cli->out.length);
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    output_render(&cli->out, &cli->styles, color, cli->width, &text);
    if (text.failed) {
        return -ENOMEM;
    }
    return cli->terminal ? show(cli, &text, &cli->signal)
                         : write_all(STDOUT_FILENO, text.data, text.length);
}

int cli_main(int argc, char **argv, int *ret_signal) {
    struct toolrack_error own = {.code = 0};
    struct cli cli = {.terminal = isatty(STDOUT_FILENO) == 1,
                      .width = output_width(),
                      .err = toolrack_error_create(),
                      .own = &own};
    int code = run(&cli, argc, argv);
    opening_release();
    int written = write_output(&cli);
    if (written < 0) {
        output_note("cannot write to standard output: %s", strerror(-written));
        code = code == CLI_OK ? CLI_FAILED : code;
    }
    *ret_signal = cli.signal;
    toolrack_close_at_exit(cli.host);
    cli_finish(&cli);
    return code;
}

void cli_finish(struct cli *cli) {
    toolrack_error_free(cli->err);
    command_places_remove(&cli->stated);
    buf_finish(&cli->out);
    buf_finish(&cli->input);
    style_clear(&cli->styles);
    options_finish(&cli->options);
}

/* For output_take_notes(). */
static void send_note(void *user, const char *text, size_t length) {
    peer_note(user, text, length);
}

int cli_run_for_peer(struct cli *cli, int argc, char **argv) {
    if (options_parse(cli_verbs, argc, argv, &cli->options, cli->own) < 0 ||
        !relay_fits(&cli->options) || cli->err == NULL) {
        return -1;
    }
    json_reset();
    output_take_notes(send_note, cli->peer);
    if (cli->options.verb->host) {
        cli_tell_problems(cli);
    }
    int code = cli->options.verb->run(cli);
    output_take_notes(NULL, NULL);
    return code;
}
