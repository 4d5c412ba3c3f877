/* text.h - an immutable text, reference-counted. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "base/buf.h"
#include "toolrack/format.h"
#include "toolrack/toolrack.h"

struct toolrack_text {
    atomic_uint refs;
    enum toolrack_format format; /* with names: of the definitions */
    struct toolrack_text *names; /* of definitions: how they call tools and their properties, a
                                  * reference; else NULL */
    size_t length;
    char data[]; /* zero-terminated */
};

/** A copy of the content of `buf`, with one reference; NULL when out of memory or `buf` has failed.
 */
struct toolrack_text *text_create(const struct buf *buf);

/** The same of definitions in a format. `names` is theirs, a reference is taken; NULL: there was no
 * memory for them. */
struct toolrack_text *text_create_definitions(const struct buf *buf, enum toolrack_format format,
                                              struct toolrack_text *names);
struct toolrack_text *text_ref(struct toolrack_text *text);
