#include <string.h>
#include <unistd.h>

#include "cli/calling.h"
#include "cli/debug.h"
#include "cli/json.h"
#include "cli/peer.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* --------------------------------------------------------------- arguments */

/* What standard input has, or had: it may have been read for the daemon. */
static int read_input(struct cli *cli, struct buf *text) {
    if (cli->peer == NULL && !cli->has_input) {
        return cli_read(cli, STDIN_FILENO, "the arguments from standard input",
                        TOOLRACK_ARGUMENTS_MAX + 1, text);
    }
    buf_add(text, cli->peer != NULL ? cli->peer->input : cli->input.data,
            cli->peer != NULL ? cli->peer->input_length : cli->input.length);
    return text->failed ? cli_oom(cli) : 0;
}

/* The JSON arguments: from the command line or from standard input; empty with --arg only. */
static int given_json(struct cli *cli, struct buf *text) {
    const struct texts *words = &cli->options.words;
    if (words->count < 2) {
        return 0;
    }
    if (strcmp(words->items[1], "-") != 0) {
        buf_add_text(text, words->items[1]);
        return text->failed ? cli_oom(cli) : 0;
    }
    int code = read_input(cli, text);
    if (code < 0) {
        return code;
    }
    if (text->length > TOOLRACK_ARGUMENTS_MAX) {
        return cli_error(cli, TOOLRACK_E_INVALID_ARGUMENTS,
                         "standard input has more than %u bytes, the most that arguments may have",
                         TOOLRACK_ARGUMENTS_MAX);
    }
    if (memchr(text->data, '\0', text->length) != NULL) {
        return cli_error(cli, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments are not JSON: standard input contains a zero byte");
    }
    return 0;
}

static int make_arguments(struct cli *cli, const struct toolrack_tool *tool, char **ret) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const struct texts *args = &cli->options.args;
    int code = given_json(cli, &text);
    for (size_t i = 0; code == 0 && i < args->count; i++) {
        const char *equals = strchr(args->items[i], '=');
        if (equals == NULL || equals == args->items[i]) {
            code = cli_error(cli, TOOLRACK_E_INVALID, "--arg takes name=value, not \"%s\"",
                             args->items[i]);
        }
    }
    if (code == 0 && args->count > 0) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *built = NULL;
        code = toolrack_arguments(tool, text.data, args->items, args->count, &built, cli->err);
        buf_clear(&text);
        buf_add_text(&text, code == 0 ? toolrack_text_data(built, NULL) : "");
    }
    if (code == 0) {
        /* Without --arg the JSON goes to the host as it was given; the host checks it. */
        *ret = buf_steal(&text);
        code = *ret != NULL ? 0 : cli_oom(cli);
    }
    if (code < 0 && code != TOOLRACK_E_INVALID) {
        cli_error_set_tool(cli, toolrack_tool_name(tool));
    }
    return code;
}

int verb_call(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = cli_find_called(cli, name);
    if (tool == NULL) {
        return cli_fail(cli);
    }
    if (cli->options.debug && !cli_is_debugged(cli)) {
        (void)debug_begin(cli, tool);
        return cli_fail(cli);
    }
    CLEANUP(freep) char *arguments = NULL;
    if (make_arguments(cli, tool, &arguments) < 0) {
        return cli_fail_usage(cli);
    }
    int code;
    return calling_run(cli, tool, name, arguments, &code);
}
