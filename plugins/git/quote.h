/* quote.h - texts as git and Python write them. */
#pragma once

#include "../shared/text.h"

/** A path as git's messages have it: in double quotes, with codes, if it has other characters than
 * printable ones of ASCII. */
void quote_path(struct text *ret, const char *path);

/** A string as Python's repr() has it, which is what the reference server shows of messages. */
void quote_python(struct text *ret, const char *string);
