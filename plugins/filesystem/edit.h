/* edit.h - replacing parts of a text, as the MCP reference server does it. */
#pragma once

#include "text.h"

/** Replace the first place where `old_text` is by `new_text`, or else the first lines that are
 * equal to its lines but for white space around them; those keep the indentation of the file. All
 * three are valid UTF-8. `old_text` and `new_text` have LF as the ends of lines; `text` may have CR
 * LF. Its lines keep their ends, and new ones get that of its first line. False: there is no such
 * place, or `text->failed`. */
bool edit_apply(struct text *text, const struct text *old_text, const struct text *new_text);
