/* json-lenient.h - JSON text of others with half a surrogate pair in it, or a mark of byte order
 * before it. */
#pragma once

#include <yyjson.h>

#include "base/buf.h"

/** Append JSON text without escapes of half a surrogate pair ("\\ud83d" without its other half), of
 * which no character comes: each becomes "\\ufffd" or, with `keep`, the three bytes that it would
 * be in UTF-8, see utf8_join_halves(). Everything else is unchanged.
 * @return whether there was one; else nothing was appended. [any-thread] */
bool json_add_without_halves(struct buf *out, const char *text, size_t length, bool keep);

/** Read JSON text that others wrote, as yyjson_read_opts() does; but half a surrogate pair becomes
 * U+FFFD instead of making all of the text unreadable, and a mark of byte order (U+FEFF) before it
 * is skipped, as RFC 8259 allows. [any-thread] */
yyjson_doc *json_read_lenient(const char *text, size_t length, yyjson_read_flag flags,
                              const yyjson_alc *alc, yyjson_read_err *ret_why);
