/* answer: execute the calls of a model's message from a file or a pipe. */
#include "cli/json.h"
#include "cli/offer.h"
#include "toolrack/format.h"

/* One byte more than toolrack_answer() accepts, so that it reports a message that is too long. */
#define MESSAGE_MAX (64u * 1024 * 1024 + 1)

static int read_message(struct cli *cli, struct buf *text) {
    const struct texts *words = &cli->options.words;
    return cli_read_file(cli, words->count > 0 ? words->items[0] : "-", MESSAGE_MAX, text);
}

/* Without these options a call of any tool is executed. */
static bool selects(const struct options *options) {
    return options->allow.count > 0 || options->limit != 0 || options->budget != 0 ||
           options->profile != NULL;
}

int verb_answer(struct cli *cli) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    enum toolrack_format format = TOOLRACK_FORMAT_OPENAI;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    CLEANUP(offer_finish) struct offer offer = {0};
    char who[CLI_WHO_ROOM];
    if (cli_format(cli, NULL, &format) < 0) {
        return cli_fail_usage(cli);
    }
    if (offer_read(cli, &offer) < 0) {
        return cli_fail(cli);
    }
    if (read_message(cli, &message) < 0) {
        return cli_fail(cli);
    }
    cli_who(who, sizeof who);
    options.deadline_ms = cli->options.timeout_ms;
    options.confirmed = cli->options.yes;
    options.caller = cli->options.caller != NULL ? cli->options.caller : who;
    options.conversation = cli->options.conversation;
    options.channel = "cli";
    options.model = cli->options.model;
    options.offered = selects(&cli->options) ? &offer.options : NULL;
    if (toolrack_answer(cli->host, format, message.data != NULL ? message.data : "", message.length,
                        &options, &text, cli->err) < 0) {
        int failed = cli_fail(cli);
        return cli->err->code == TOOLRACK_E_REFUSED ? CLI_REFUSED : failed;
    }
    return json_print_text(cli, text);
}
