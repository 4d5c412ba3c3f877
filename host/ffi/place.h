/* place.h - the current place inside a value, for error messages.
 *
 * A chain of local variables on the C stack, so that it costs nothing without an error. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/** One step from the root. The first step of an argument is its parameter's name. */
struct place {
    const struct place *up; /**< borrowed; NULL at the root */
    const char *key;        /**< borrowed: a member's name, or NULL for an item */
    size_t index;           /**< of the item */
};

/** Append the JSON Pointer (RFC 6901) of a place, such as "/points/3/x"; for NULL, "". */
void place_add_pointer(const struct place *place, struct buf *buf);
