/* report.h - the report of what was changed in a definition, and why. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

#define PLACE_SAME SIZE_MAX

/* A place in a schema, on the stack of the function that visits it. */
struct place {
    const struct place *up; /* NULL: the root */
    const char *key;        /* NULL: an item of a list ... */
    size_t index;           /* ... this one; PLACE_SAME: the same place as `up` */
    unsigned depth;
    const yyjson_mut_val *target; /* of the reference that was replaced here, or NULL */
};

/* Notes about one tool. */
struct report {
    struct buf *out; /* members of a JSON array; NULL: no report is wanted */
    const char *tool;
};

/** Add a note. `kind` is one of those of toolrack_export(); `place` NULL: the whole tool. */
void format_report_add(const struct report *report, const char *kind, const struct place *place,
                       const char *format, ...) TOOLRACK_PRINTF(4, 5);

/** Append the JSON Pointer of a place. */
void format_report_place(struct buf *out, const struct place *place);

/** Append a JSON string of any bytes: invalid UTF-8 becomes U+FFFD. */
void format_report_text(struct buf *out, const char *text, size_t length);
