/* output.h - write to standard output and standard error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/style.h"

/** Write `length` bytes to a file descriptor. On a terminal, control characters are escaped.
 * @return 0, or a negative errno. */
int output_write(int fd, const char *text, size_t length);

/** Write one line of valid text without control characters, and its end. On a terminal it is
 * broken, with an indent behind: what a terminal makes of a long line could look like a line of its
 * own.
 * @return 0; a negative errno. [any-thread] */
int output_line(int fd, const char *line, size_t length);

/* Most bytes of lines that are held back; later ones are counted. */
#define OUTPUT_HELD_MAX (1024u * 1024)

/** Hold back what output_note() writes until output_release_notes(), which writes it: a question
 * stands on the terminal, or a prompt, and no line is written into it. Once at a time.
 * @param came  called on any thread when a line was held back, for who can make room for it; it
 *              writes none itself; NULL: nobody can. [any-thread] */
void output_hold_notes(void (*came)(void));
void output_release_notes(void);

/** Write one line to standard error, prefixed with "toolrack: " and escaped. A failure to
 * write it is not reported. [any-thread] */
void output_note(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/** The same of a path or a command, behind what it is, which is left to the terminal to break: so
 * it can be copied. It is the host's own or the person's: nobody else could make a line of it that
 * looks like one of the host's. */
void output_note_whole(const char *what, const char *text);

/** Let the notes of this thread go to a function instead, unescaped: of a verb that the daemon runs
 * for a command. NULL: to standard error again. */
void output_take_notes(void (*take)(void *user, const char *text, size_t length), void *user);

/** Call functions around the notes of all threads that are written to standard error: of who draws
 * there. The first may take a lock that the second releases. NULL: none. After it returns, those
 * before are not called any more. [any-thread] */
void output_guard_notes(void (*begin)(void *user), void (*end)(void *user), void *user);

/** Columns a line of standard output may have; 0 when it is no terminal: any number. */
size_t output_width(void);

/** Lines that fit on the terminal at standard output. */
size_t output_height(void);

/** Whether standard output is a terminal that can move its cursor. */
bool output_has_cursor(void);

/** Whether the terminal is known to break lines anew when it becomes narrower, by what terminals
 * say of themselves in the environment; many that do not say it do so too. */
bool output_reflows(void);

/** Whether a terminal at standard output wants colour: neither NO_COLOR nor a TERM without any
 * says otherwise. */
bool output_wants_color(void);

/** Whether standard output gets colour by --color: "always", "never", or "auto" and NULL for what a
 * terminal there wants. */
bool output_has_color(const char *option);

/** Append text as a terminal gets it: escaped, with its styles when it has colour, and with lines
 * of at most `width` columns; 0: any. A line that is broken goes on under its text: behind its
 * label, or behind the spaces it begins with. A failure marks `out` failed. */
void output_render(const struct buf *text, const struct styles *styles, bool color, size_t width,
                   struct buf *out);
