/* text.h - a line of text in a buffer of fixed size.
 *
 * A text that does not fit is cut at the end of a character; a final zero is always written. Used
 * for reasons and JSON Pointers, which must not allocate. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

struct text {
    char *data; /**< borrowed */
    size_t room;
    size_t length;
};

/** Bytes of a quoted string or number shown in a message; the rest becomes "...". */
#define TEXT_VALUE_MAX 80

struct text text_in(char *data, size_t room);
void text_add(struct text *text, const char *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) TOOLRACK_PRINTF(2, 3);
void text_vprintf(struct text *text, const char *format, va_list args) TOOLRACK_PRINTF(2, 0);

/** A string in quotes, with control characters escaped. */
void text_add_quoted(struct text *text, const char *bytes, size_t length);

/** A JSON value as a person would write it: scalars in full, containers by type and size. */
void text_add_value(struct text *text, yyjson_val *value);

/** "/" and one reference token of a JSON Pointer. */
void text_add_key(struct text *text, const char *key, size_t length);
void text_add_index(struct text *text, size_t index);
