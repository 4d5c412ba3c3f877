/* lines.h - the lines of minisign's texts: comments and base64. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define LINES_UNTRUSTED "untrusted comment: "
#define LINES_TRUSTED   "trusted comment: "

/* A line without its end; `text` is NULL when there is no more. */
struct line {
    const char *text;
    size_t length;
};

/* What is still to be read. */
struct lines {
    const char *at;
    const char *end;
};

/** The lines of a text, which is borrowed. Lines end with LF or CRLF; empty ones at the end are no
 * lines. */
struct lines lines_of(const char *text, size_t length);
struct line lines_next(struct lines *lines);

bool line_begins(struct line line, const char *with);
/** Read base64 of exactly `size` bytes. */
bool line_decode(struct line line, void *ret, size_t size);
/** Append bytes as base64, and the end of the line. */
void line_encode(const void *bytes, size_t size, struct buf *out);
