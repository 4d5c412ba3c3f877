/* interrupt.h - Ctrl-C while a verb waits for what runs on another thread.
 *
 * The first Ctrl-C wakes who waits, who then cancels; the next one has its usual effect. Where the
 * signal is ignored, as in the background of a script, it stays so. One wait at a time. */
#pragma once

#include "cli/cli.h"

/** Begin to listen. @return 0; TOOLRACK_E_IO: then there is nothing to end. */
int interrupt_begin(struct cli *cli);

/** Listen no more. Where the work ended with `code` Cancelled because of a Ctrl-C, the command ends
 * of that signal. */
void interrupt_end(struct cli *cli, int code);

/** Whether there was one. */
bool interrupt_came(void);

/** Wake who waits: what it waits for has ended. [any-thread] */
void interrupt_wake(void);

/** Wait for a wake-up or Ctrl-C, at most `ms_max` milliseconds; 0 is for as long as it takes. It
 * may return early: look at what was waited for. */
void interrupt_wait(uint32_t ms_max);
