/* opening.h - the log lines of opening a host.
 *
 * A refused definition or tool is a line of the log whenever a host is opened, so with each
 * command; so is a tool that has changed since it was approved, and a grant of the configuration
 * without effect. Most commands print one line about all of them; `list --all` and `grants` have a
 * row for each, and a command that names the tool prints what is about it. */
#pragma once

#include <stddef.h>

#include "toolrack/toolrack.h"

/** Keep the warnings and errors from now on. */
void opening_begin(void);

/** Whether a line was kept: false when none are, or out of memory. [any-thread] */
bool opening_keep(enum toolrack_log_level level, const char *source, const char *line);

/* What the command shows itself. */
struct opening_view {
    bool shows_refused; /* tools that are refused or changed */
    bool lists_some;    /* it is `list --all` for some of them */
    bool shows_grants;
    const char *const *words; /* its arguments: names of tools, ids, files */
    size_t word_count;
};

/** The host is open, or NULL if it could not be opened: print the other lines, and how many such
 * ones there are, unless the command shows them. The same lines are not printed again until
 * opening_release(). */
void opening_end(struct toolrack *host, const struct opening_view *view);

/** The same for a command that the daemon runs, whose host is open: print how many there are now.
 * [any-thread] */
void opening_tell(struct toolrack *host, const struct opening_view *view);

/** Print a line of the log. [any-thread] */
void opening_print(enum toolrack_log_level level, const char *source, const char *line);

/** Keep warnings and errors from now on too, until opening_release(): the command's own error may
 * say the same. Lines are kept on any thread. */
void opening_hold(void);

/** Drop the kept lines that say what `said` says: one contains the other, of 32 bytes or more. */
void opening_drop(const char *said);

/** Print the kept lines, and keep no more. */
void opening_release(void);
