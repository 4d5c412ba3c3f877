/* opening.h - the log lines of opening a host.
 *
 * A refused definition or tool is a line of the log whenever a host is opened, so with each
 * command. Most commands print one line about all of them; `list --all` has a row for each. */
#pragma once

#include "toolrack/toolrack.h"

/** Keep the warnings and errors from now on. */
void opening_begin(void);

/** Whether a line was kept: false when none are, or out of memory. [any-thread] */
bool opening_keep(enum toolrack_log_level level, const char *source, const char *line);

/** The host is open, or NULL if it could not be opened: print the lines that are not about what
 * toolrack_refused() lists, and how many are, unless the command shows what is refused. */
void opening_end(struct toolrack *host, bool shows_refused);

/** Print a line of the log. [any-thread] */
void opening_print(enum toolrack_log_level level, const char *source, const char *line);

/** Keep warnings and errors from now on too, until opening_release(): the command's own error may
 * say the same. Lines are kept on any thread. */
void opening_hold(void);

/** Drop the kept lines that say what `said` says: one contains the other, of 32 bytes or more. */
void opening_drop(const char *said);

/** Print the kept lines, and keep no more. */
void opening_release(void);
