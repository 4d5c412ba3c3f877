/* interrupt.h - Ctrl-C while a verb waits for work on another thread.
 *
 * The first Ctrl-C wakes the waiting verb, which then cancels the work; the next Ctrl-C has its
 * usual effect. If the signal is ignored, as in the background of a script, it stays ignored. One
 * wait at a time; in the daemon, where the command that it runs for is told of Ctrl-C, or is gone,
 * one for each. */
#pragma once

#include "cli/cli.h"

/** Begin to listen for Ctrl-C. @return 0; TOOLRACK_E_IO: interrupt_end() is not to be called. */
int interrupt_begin(struct cli *cli);

/** Stop listening. If the work ended with the code Cancelled because of Ctrl-C, that signal ends
 * the command. */
void interrupt_end(struct cli *cli, int code);

/** Whether Ctrl-C was pressed. */
bool interrupt_came(const struct cli *cli);

/** Wake the waiting verb: its work has ended. [any-thread] */
void interrupt_wake(const struct cli *cli);

/** Wait for a wake-up or Ctrl-C, at most `ms_max` milliseconds; 0: without limit. It may
 * return early: check whether the work has ended. */
void interrupt_wait(const struct cli *cli, uint32_t ms_max);
