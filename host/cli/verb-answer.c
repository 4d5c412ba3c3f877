/* answer: a model's turn, from a file or a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/json.h"
#include "toolrack/format.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define READ_ROOM   65536u
/* One byte more than toolrack_answer() takes, which then says so. */
#define MESSAGE_MAX (64u * 1024 * 1024 + 1)

static int read_all(int fd, const char *name, struct buf *text, struct toolrack_error *err) {
    while (text->length < MESSAGE_MAX) {
        if (!buf_reserve(text, READ_ROOM)) {
            return error_oom(err);
        }
        ssize_t n = read(fd, text->data + text->length, READ_ROOM);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", name, strerror(errno));
        }
        if (n == 0) {
            break;
        }
        text->length += (size_t)n;
    }
    return 0;
}

static int read_message(const struct texts *words, struct buf *text, struct toolrack_error *err) {
    const char *name = words->count > 0 ? words->items[0] : "-";
    if (strcmp(name, "-") == 0) {
        return read_all(STDIN_FILENO, "standard input", text, err);
    }
    CLEANUP(closep) int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot open %s: %s", name, strerror(errno));
    }
    return read_all(fd, name, text, err);
}

/* The format that --format names. */
static int find_format(const char *name, enum toolrack_format *ret, struct toolrack_error *err) {
    struct toolrack_error why;
    if (name == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "answer needs --format F; 'toolrack help answer' lists the formats");
    }
    return toolrack_format_find(name, ret, &why) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID, "%s", why.message);
}

int verb_answer(struct cli *cli) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    enum toolrack_format format = TOOLRACK_FORMAT_OPENAI;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char who[CLI_WHO_ROOM];
    if (find_format(cli->options.format, &format, &err) < 0) {
        return cli_fail_usage(cli, &err);
    }
    if (read_message(&cli->options.words, &message, &err) < 0) {
        return cli_fail(cli, &err);
    }
    cli_who(who, sizeof who);
    options.deadline_ms = cli->options.timeout_ms;
    options.confirmed = cli->options.yes;
    options.caller = cli->options.caller != NULL ? cli->options.caller : who;
    options.conversation = cli->options.conversation;
    options.channel = "cli";
    if (toolrack_answer(cli->host, format, message.data != NULL ? message.data : "", message.length,
                        &options, &text, &err) < 0) {
        return cli_fail(cli, &err);
    }
    return json_print_text(cli, text);
}
