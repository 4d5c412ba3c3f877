#include "cli/password.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/ask.h"
#include "cli/output.h"
#include "cli/typing.h"

void password_finish(struct buf *password) {
    if (password->data != NULL) {
        explicit_bzero(password->data, password->room);
    }
    buf_finish(password);
}

/* The first line of a file, without its end. */
static int read_file(struct cli *cli, const char *path, struct buf *ret) {
    int code = cli_read_file(cli, path, PASSWORD_LENGTH_MAX + 1, ret);
    if (code < 0) {
        return code;
    }
    buf_truncate(ret, strcspn(ret->data, "\r\n"));
    if (ret->length == 0 || ret->length > PASSWORD_LENGTH_MAX) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "%s has no password of 1 to %u bytes in its first line", path,
                         PASSWORD_LENGTH_MAX);
    }
    return 0;
}

/* A line as it was typed, with all its spaces. The room is there from the start: growing would
 * leave parts of it in memory that is free. */
static int type_line(struct cli *cli, const char *prompt, struct buf *ret) {
    char c = '\0';
    ssize_t length = 0;
    buf_clear(ret);
    if (!buf_reserve(ret, PASSWORD_LENGTH_MAX + 1)) {
        return cli_oom(cli);
    }
    (void)output_write(STDERR_FILENO, prompt, strlen(prompt));
    (void)output_write(STDERR_FILENO, ": ", 2);
    while ((length = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n' &&
           ret->length <= PASSWORD_LENGTH_MAX) {
        buf_add_char(ret, c);
    }
    (void)output_write(STDERR_FILENO, "\n", 1);
    if (length <= 0 && ret->length == 0) {
        return cli_error(cli, TOOLRACK_E_CANCELLED, "no password was typed");
    }
    return ret->length > 0 && ret->length <= PASSWORD_LENGTH_MAX
                   ? 0
                   : cli_error(cli, TOOLRACK_E_INVALID, "a password has 1 to %u bytes",
                               PASSWORD_LENGTH_MAX);
}

static int type_twice(struct cli *cli, const char *prompt, struct buf *ret) {
    CLEANUP(password_finish) struct buf again = BUF_INIT;
    int code = type_line(cli, prompt, ret);
    code = code == 0 ? type_line(cli, "The same again", &again) : code;
    return code < 0 || strcmp(ret->data, again.data) == 0
                   ? code
                   : cli_error(cli, TOOLRACK_E_INVALID, "the two passwords differ");
}

int password_read(struct cli *cli, const char *prompt, bool twice, struct buf *ret) {
    if (cli->options.password_file != NULL) {
        return read_file(cli, cli->options.password_file, ret);
    }
    if (!ask_possible()) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "a password is needed, and there is no terminal to type it at; give "
                         "--password-file FILE%s",
                         twice ? ", or --no-password for a key without one" : "");
    }
    typing_hide();
    int code = twice ? type_twice(cli, prompt, ret) : type_line(cli, prompt, ret);
    typing_show();
    return code;
}
