/* arguments.h - what a call, or the calls of a plan, are given, as lines for the person who decides
 * whether they may run. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/** Append the arguments of an approval request: of a call "NAME: VALUE" in lines, of a plan a line
 * for each call and its arguments, indented, below it. Strings are in quotes and numbers as they
 * were written, so that no value can be taken for another line. What is neither an object nor a
 * list of calls is appended as it is. It may have hidden characters, as text_add_escaped() shows.
 * @param value_max  bytes of a value that are shown; of a longer one the beginning and how many it
 *                   has
 * @return whether each value is there as a whole; a failed buffer has none. */
bool view_add_arguments(struct buf *out, const char *arguments, size_t value_max);
