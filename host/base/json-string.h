/* json-string.h - texts as JSON strings, each byte looked at once: what needs an escape and whether
 * it is UTF-8 is found by the same comparison, and while copying. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** Room for a text without escapes as a JSON string, beside its length: then it is written without
 * growing the buffer. */
#define JSON_TEXT_EXTRA 16u

/** Append any text as a JSON string, with quotes and escapes. False: the text is not UTF-8, and the
 * buffer is as it was. [any-thread] */
bool buf_add_json_text(struct buf *out, const char *text, size_t length);

/** Longest text for json_copy_short(). */
#define JSON_SHORT_MAX 15u

/** Copy a short text of ASCII that needs no escape, as most names are, without quotes and without a
 * zero behind it. False: it is longer, or something else; then some of it may have been copied.
 * @param to  room for `length` bytes. [any-thread] */
bool json_copy_short(char *to, const char *from, size_t length);

/** Whether bytes are one JSON string with its quotes, without white space around it, as every
 * parser takes it: UTF-8, on one line, with valid escapes and whole surrogate pairs. [any-thread]
 */
bool json_is_string(const char *json, size_t length);
