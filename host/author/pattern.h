/* pattern.h - strings that fit a regular expression, as patterns of schemas are: literals, classes,
 * groups, alternatives and repetitions. What it does not know (look-around, back references) gives
 * strings that do not fit: the caller checks them. */
#pragma once

#include <stdbool.h>

#include "author/random.h"
#include "base/buf.h"

/** Append a string. `is_long`: of all repetitions the most, up to a limit; otherwise a few. */
void pattern_write(const char *pattern, struct random *random, bool is_long, struct buf *out);
