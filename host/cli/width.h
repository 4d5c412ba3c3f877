/* width.h - how many columns of a terminal text takes, and where it is broken.
 *
 * A wide character, as in Chinese, takes two columns, a combining character none. The C library's
 * table of its UTF-8 locale says which is which, whatever the locale of the process is. All texts
 * are well-formed UTF-8 without control characters. [any-thread] */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** Columns of a text. */
size_t width_of(const char *text, size_t length);

/** Columns of the longest word. */
size_t width_of_word(const char *text, size_t length);

/** Bytes of the first piece of a text that fits into so many columns: up to the last space that
 * leaves it short enough or, in a word that is longer, up to a character. It has at least one
 * character.
 * @param ret_next  where the next piece begins, behind the spaces at the break */
size_t width_fit(const char *text, size_t length, size_t columns, size_t *ret_next);

/** Bytes of the characters that fit into so many columns; of at least one. */
size_t width_cut(const char *text, size_t length, size_t columns);

/** Append one line in pieces that fit into so many columns (0: it stays whole), each with a prefix,
 * the first with `first`, and its own end of line: a line that is left to the terminal to break
 * could go on like a line of the host's. `exact`: no space is left out at a break. */
void width_wrap(struct buf *out, const char *first, const char *prefix, const char *line,
                size_t length, size_t columns, bool exact);
