/* commands.h - the daemon runs the verbs of commands.
 *
 * A command that finds the daemon sends its command line (message.h); the daemon runs the verb on
 * a thread of its own, with its living host, and sends back what is to be printed. The command
 * prints it: nothing of the daemon touches the terminal or the files of the command. */
#pragma once

#include <signal.h>

#include "toolrack/toolrack.h"

struct commands;

/* Commands that are run at once. One more works by itself. */
#define COMMANDS_MAX 256

/** Begin to listen at a path for the commands of this user.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int commands_start(struct toolrack *host, const char *path, struct commands **ret,
                   struct toolrack_error *err);

/** Take no more of them, let `mcp` read no more, and let all end, for this many
 * milliseconds, or until one of these signals, which are blocked; then they are cancelled. NULL is
 * ignored. */
void commands_stop(struct commands *commands, unsigned patience_ms, const sigset_t *hurry);
