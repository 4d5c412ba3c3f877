/* unit.h - values in one unit as numbers of another, where the rule is exact. */
#pragma once

#include "choose/values-parts.h"

/** Whether a value is in another unit than `unit`, of sorts that are known: miles, hours for
 * kilometers. */
bool unit_is_other(const struct value *value, const struct lexeme *unit);

/** The number of a value in another unit, to six decimals.
 * @return false: the units are the same, of two sorts, or without an exact rule. */
bool unit_convert(const struct value *value, const struct lexeme *unit, double *ret);
