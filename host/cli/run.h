/* run.h - a command line from its words to its exit code. */
#pragma once

#include "cli/cli.h"

/** Run the verb of a command line for a process that asked for it. `cli` has its host, its peer,
 * its errors, and what is known of standard output; release it with cli_finish().
 * @return the exit code; -1: this is no command line that the daemon runs */
int cli_run_for_peer(struct cli *cli, int argc, char **argv);
/** Release what a command has, but not its host. */
void cli_finish(struct cli *cli);

/** Run a command line and give the exit code of the process. Standard input, output and error are
 * open then, perhaps to /dev/null. `ret_signal` is the signal that is to end the process, or 0. */
int cli_main(int argc, char **argv, int *ret_signal);
