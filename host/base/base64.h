/* base64.h - bytes as text and text as bytes: RFC 4648 section 4, with padding. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/** Number of characters that encode `size` bytes, without a final zero. `size` is at most SIZE_MAX
 * / 2. */
static inline size_t base64_encoded_size(size_t size) {
    return (size / 3 + (size % 3 != 0)) * 4;
}

/** Most bytes that `length` characters can encode. */
static inline size_t base64_decoded_size_max(size_t length) {
    return length / 4 * 3;
}

/** Append `size` bytes as text. [any-thread] */
void base64_encode(struct buf *buf, const void *data, size_t size);

/** Decode text.
 *
 * Strict, so that one value has one text: whole groups of four, padding at the end only, no spaces,
 * no bits left over.
 *
 * @param ret_data  room for base64_decoded_size_max() bytes; undefined on failure
 * @return NULL, or the error in the text: a static string that continues "not base64: ".
 * [any-thread] */
const char *base64_decode(const char *text, size_t length, void *ret_data, size_t *ret_size);
