/* json-exact.h - whole numbers that are written as reals and have more digits than a double. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** A whole number up to here, which has 15 digits, is never rounded. */
#define JSON_EXACT_MAX 1e15

/** Append JSON text in which whole numbers such as 9007199254740993.0 and 9.007199254740993e15 are
 * written as integers, where a double would round them: a reader keeps all digits of integers.
 * Values stay the same, and everything else is unchanged. Takes next to nothing for text without
 * 16 digits in a row.
 * @return whether there was one; else nothing was appended. [any-thread] */
bool json_add_exact(struct buf *out, const char *text, size_t length);
