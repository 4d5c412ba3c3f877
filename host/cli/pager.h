/* pager.h - show long output in the person's pager. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** The command of the pager: that of TOOLRACK_PAGER, of PAGER, or less. NULL: none is wanted, since
 * the variable is empty or says cat, or the terminal can do little (TERM is dumb). */
const char *pager_command(void);

/** Show text in the pager and wait for its end. less, whatever starts it, gets the options FRX by
 * LESS unless that is set. Ctrl-C belongs to the pager; SIGTERM and SIGHUP end it too.
 *
 * @param ret_signal  such a signal, which is to end this process now; or 0
 * @return whether it was shown; false: the pager could not be started */
bool pager_show(const char *command, const char *text, size_t length, int *ret_signal);
