/* author.h - what the author of a tool wrote, in a text of ours.
 *
 * Descriptions, names of parameters and choices go into questions, reasons and explanations that a
 * person or a model reads. They say what an author wants them to say, such as a command to copy. So
 * they stand in quotes that they cannot end, on one line, with no character that a terminal or a
 * reader takes for something else, and not too long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Most characters of a text, and of a name or a choice, that are shown. */
#define AUTHOR_TEXT_MAX 160u
#define AUTHOR_NAME_MAX 64u

/** Append a text without quotes around it, to stand between quotes of the caller: its own double
 * quotes become single ones.
 * @param width  most characters. [any-thread] */
void author_add(struct buf *out, const char *text, size_t length, size_t width);

/** Append a text in quotes; nothing if nothing is left of it.
 * @param chinese  whether the quotes are those of Chinese. [any-thread] */
void author_quote(struct buf *out, const char *text, size_t length, size_t width, bool chinese);

/** Append a name or a choice: one word of ASCII letters, digits, '_', '-', '.' and '/' as it
 * stands, since it is no sentence, anything else in quotes. [any-thread] */
void author_add_name(struct buf *out, const char *name, size_t length, bool chinese);
