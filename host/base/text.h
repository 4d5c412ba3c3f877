/* text.h - untrusted text, made safe for a terminal.
 *
 * A plugin's description, a file name or a result may contain anything, including escape sequences.
 * Control characters are shown in the form \u001b: inside a JSON string this form means the same
 * character, so one function serves text and JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** The ending of a noun after a count: "" for one, else "s". Static text. */
static inline const char *text_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/** Append text with control characters (C0 except newline and tab, DEL, C1) and hidden characters
 * (hidden.h) escaped; bytes that are not UTF-8 become U+FFFD. */
void text_add_escaped(struct buf *buf, const char *text, size_t length);

/** The same for one line: a run of white space, including newlines, becomes one space; white space
 * at the ends is removed. */
void text_add_line(struct buf *buf, const char *text, size_t length);

/** Append well-formed UTF-8, cut to `width` characters; if cut, the last character is "…". */
void text_add_cut(struct buf *buf, const char *text, size_t length, size_t width);

/** The same in quotes, escaped as in JSON and on one line: what anybody has named cannot be read as
 * a part of the words around it. */
void text_add_in_quotes(struct buf *buf, const char *text, size_t width);

/** Append a duration as people read it: "950 ns", "12.3 us", "4.5 ms", "1.2 s". */
void text_add_duration(struct buf *buf, uint64_t ns);

/** Append how long somebody waits: "300 ms", "1.5 s", "2 min 5 s", "3 h 20 min", without what is 0.
 */
void text_add_wait(struct buf *buf, uint32_t ms);

/** Append text with each byte that is not UTF-8 replaced by U+FFFD, the rest unchanged. */
void text_add_valid(struct buf *buf, const char *text, size_t length);
