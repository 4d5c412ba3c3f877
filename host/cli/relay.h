/* relay.h - a command that the daemon runs. */
#pragma once

#include "cli/cli.h"

/** Let the daemon of the state folder run the command line, if there is one and it helps.
 *
 * @return true: it has; output, signal and `ret_code` (the exit code) are there. False: the command
 *         works by itself. */
bool relay_run(struct cli *cli, int argc, char **argv, int *ret_code);

/** Whether a command line is one that a daemon runs: the verb is, and no option is about the host
 * itself. */
bool relay_fits(const struct options *options);
