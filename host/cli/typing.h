/* typing.h - the terminal does not show what is typed while something is drawn on it.
 *
 * An Enter that is shown moves the cursor, and what is drawn is erased from where the cursor is. A
 * signal that ends the process gives the terminal back first. */
#pragma once

/** Hide what is typed at standard input, if that is a terminal and this process in its foreground.
 * Another time is ignored. */
void typing_hide(void);

/** Show it again. [any-thread]; also from a handler of a signal */
void typing_show(void);
