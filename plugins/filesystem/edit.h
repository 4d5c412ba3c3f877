/* edit.h - replacing parts of a text, as the MCP reference server does it. */
#pragma once

#include "text.h"

/** Replace the first place where `old_text` is by `new_text`, or else the first lines that are
 * equal to its lines but for white space around them; those keep the indentation of the file. All
 * three with LF as the ends of lines, valid UTF-8. False: there is no such place, or
 * `text->failed`. */
bool edit_apply(struct text *text, const struct text *old_text, const struct text *new_text);
