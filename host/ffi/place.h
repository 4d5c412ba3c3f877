/* place.h - where inside a value we are, for error messages.
 *
 * A chain of locals on the C stack, so that it costs nothing until something is wrong. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/** One step from the root. The first step of an argument is its parameter's name. */
struct place {
    const struct place *up; /**< borrowed; NULL at the root */
    const char *key;        /**< borrowed: a member's name, or NULL for an item */
    size_t index;           /**< of the item */
};

/** Append the JSON Pointer (RFC 6901) of a place: "/points/3/x"; of NULL, "". */
void place_add_pointer(const struct place *place, struct buf *buf);
