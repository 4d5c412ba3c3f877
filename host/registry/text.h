/* text.h - an immutable text, reference-counted. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "base/buf.h"
#include "toolrack/toolrack.h"

struct toolrack_text {
    atomic_uint refs;
    size_t length;
    char data[]; /* zero-terminated */
};

/** A copy of the content of `buf`, with one reference; NULL when out of memory or `buf` has failed.
 */
struct toolrack_text *text_create(const struct buf *buf);
struct toolrack_text *text_ref(struct toolrack_text *text);
