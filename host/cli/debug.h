/* debug.h - a call under the debugger.
 *
 * `toolrack call --debug` becomes gdb, which runs the same command again. There the environment
 * variable TOOLRACK_UNDER_DEBUGGER says that the debugger is there already: the plugin is loaded
 * into the process of the command, and the call has no deadline. */
#pragma once

#include "cli/cli.h"

/** Become the debugger, which stops where the tool's function begins. Returns only on failure, with
 * the code of it. */
int debug_begin(struct cli *cli, const struct toolrack_tool *tool);
