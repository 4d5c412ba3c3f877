/* markdown.h - a model's text, which is Markdown, as a terminal shows it.
 *
 * The text comes in pieces. A block is shown when it is complete: a paragraph, a heading, an item
 * of a list, a table, a line of a fenced block of code. The parser is libmd4c, loaded when the
 * first block is shown; without it the text is shown as it is written. Control characters and
 * hidden characters of the text are escaped: the only escape sequences are those of the styles. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Most bytes of a block that are kept until it is complete. */
#define MARKDOWN_BLOCK_MAX 65536u

struct markdown;

/** Begin a text. @param color  whether it has styles; if not, emphasis and code keep their marks
 * @return NULL: no memory; release with markdown_destroy() */
struct markdown *markdown_create(bool color);
void markdown_destroy(struct markdown *markdown);

/** Take a piece, and append to `out` the lines of what is complete.
 * @param columns  of the terminal; not 0 */
void markdown_feed(struct markdown *markdown, const char *text, size_t length, size_t columns,
                   struct buf *out);

/** The text has ended: append the rest. The next piece begins another text. */
void markdown_end(struct markdown *markdown, size_t columns, struct buf *out);

/** What came and is not shown yet, as it was written; NULL: nothing. Borrowed until the next
 * piece. */
const struct buf *markdown_pending(const struct markdown *markdown);
