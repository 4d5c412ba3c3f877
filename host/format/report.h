/* report.h - what was changed in a definition, and why. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

#define PLACE_SAME SIZE_MAX

/* Where in a schema something stands. Each place lives on the stack of who went there. */
struct place {
    const struct place *up; /* NULL: the root */
    const char *key;        /* NULL: an item of a list ... */
    size_t index;           /* ... this one; PLACE_SAME: what is above stands here itself */
    unsigned depth;
    const yyjson_mut_val *target; /* of the reference that stood here; NULL: none */
};

/* Notes about one tool. */
struct report {
    struct buf *out; /* members of a JSON array; NULL: nobody wants to know */
    const char *tool;
};

/** Note something. `kind` is one of those of toolrack_export(); `place` NULL: the whole tool. */
void format_report_add(const struct report *report, const char *kind, const struct place *place,
                       const char *format, ...) TOOLRACK_PRINTF(4, 5);

/** Append the JSON Pointer of a place. */
void format_report_place(struct buf *out, const struct place *place);

/** Append a JSON string of any bytes: what is no UTF-8 becomes U+FFFD. */
void format_report_text(struct buf *out, const char *text, size_t length);
