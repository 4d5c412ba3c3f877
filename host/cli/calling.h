/* calling.h - a call of a tool at the command line: its questions, Ctrl-C, and its result. */
#pragma once

#include "cli/cli.h"

/** Call a tool with the options of the command line, and print what it gives.
 * @param name       that of the call, with a version or without
 * @param arguments  JSON, as it was given; NULL: none
 * @param ret_code   receives 0, or the code of the failure, which is reported
 * @return an exit code. */
int calling_run(struct cli *cli, const struct toolrack_tool *tool, const char *name,
                const char *arguments, int *ret_code);
