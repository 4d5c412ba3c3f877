/* password.h - the password of a secret key. */
#pragma once

#include "cli/cli.h"

/* Longest password, in bytes. */
#define PASSWORD_LENGTH_MAX 1024u

/** Read a password: of the file of --password-file, its first line, or typed at the terminal, which
 * does not show it.
 * @param prompt  such as "Password of my.key"
 * @param twice   it is typed a second time
 * @param ret     to be released with password_finish() in any case
 * @return 0; or the code of the failure, which the command's own error describes. */
int password_read(struct cli *cli, const char *prompt, bool twice, struct buf *ret);

/** Forget a password. */
void password_finish(struct buf *password);
