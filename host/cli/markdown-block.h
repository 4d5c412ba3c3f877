/* markdown-block.h - one block of Markdown as lines of a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** Append the lines of a block, of at most so many columns. What cannot be parsed is shown as it is
 * written. */
void markdown_block(const char *text, size_t length, bool color, size_t columns, struct buf *out);

/** Append a line of code. */
void markdown_code(const char *text, size_t length, bool color, size_t columns, struct buf *out);
