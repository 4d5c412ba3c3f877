/* visible.h - JSON whose strings are for a model: hidden characters (base/hidden.h) become text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** What visible_json() found. */
struct visible {
    bool found;       /* at least one hidden character */
    bool is_required; /* in a name, or in a value that a caller must write exactly as it is */
    uint32_t point;   /* the first, or the first that is required */
};

/** Find the hidden characters in the strings of a valid JSON text, written as they are or as
 * escapes, and append the text with each as the six characters \u200b (in JSON: "\\u200b"). Nothing
 * is appended if there are none. Names of members and values of `enum` and `const` are required.
 * @return false: no memory. [any-thread] */
bool visible_json(const char *json, size_t length, struct buf *out, struct visible *ret);
