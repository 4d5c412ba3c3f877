/* daemon-reach.h - a connection to where the daemon takes commands, and whether the daemon answers.
 *
 * A daemon that runs acknowledges each command at once, before it runs it. So silence is limited:
 * one that is stopped, or that the machine does not let run, holds no command. How long the command
 * itself takes is not limited. */
#pragma once

#include <stdbool.h>

#include "cli/daemon-find.h"
#include "toolrack/toolrack.h"

/* How long the daemon may be silent when it is to give a sign of life. */
#define DAEMON_PATIENCE_MS 5000u

/** Connect to the daemon, and to nobody who stands in its place: a command may hold secrets. What
 * is sent to it and read of it within a message fails (EAGAIN) after DAEMON_PATIENCE_MS without
 * progress.
 * @param patience_ms  for the connection, and for what is sent
 * @param why          receives the reason not to use what is there; else its code is 0
 * @return a descriptor; -ETIMEDOUT: the daemon does not answer; another negative errno: there is
 *         none, or none that is to be used */
int daemon_reach(const struct daemon_found *found, unsigned patience_ms,
                 struct toolrack_error *why);

/** Whether a daemon that takes commands answers, or it takes none.
 * Waits for DAEMON_PATIENCE_MS at most, twice. */
bool daemon_answers(const struct daemon_found *found);
