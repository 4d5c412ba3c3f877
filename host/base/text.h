/* text.h - texts of others on their way to a terminal.
 *
 * A plugin's description, a file name or a result may hold anything, escape
 * sequences too. What a terminal would obey is shown as \u001b instead: that
 * form stands for the same character inside a JSON string, so one function does
 * for text and for JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** Append text with control characters (C0 but for newline and tab, DEL, C1) and overrides of the
 * direction of writing escaped; bytes that are no UTF-8 become U+FFFD. */
void text_add_escaped(struct buf *buf, const char *text, size_t length);

/** The same for one line: a run of white space, newlines too, becomes one space; none is left at
 * the ends. */
void text_add_line(struct buf *buf, const char *text, size_t length);

/** Append well-formed UTF-8, cut to `width` characters; a cut is shown as "…" in the last one. */
void text_add_cut(struct buf *buf, const char *text, size_t length, size_t width);

/** Append a duration as people read it: "950 ns", "12.3 us", "4.5 ms", "1.2 s". */
void text_add_duration(struct buf *buf, uint64_t ns);

/** Append text with each byte that is no UTF-8 replaced by U+FFFD, all else as it is. */
void text_add_valid(struct buf *buf, const char *text, size_t length);
