/* json-write.h - a JSON document as text.
 *
 * Documents hold text from outside: file names, messages that quote them, arguments of commands. It
 * is written by this function and not by the library's own, which refuses what is not UTF-8: here
 * each such byte becomes U+FFFD. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"

/** A document without a root, which knows whether all that was added to it is there: so callers
 * need not check what they add. To be released by yyjson_mut_doc_free(); NULL: no memory.
 * [any-thread] */
yyjson_mut_doc *json_doc_create(void);

/** Whether no memory was missing since json_doc_create(), on this thread, which is that of the
 * document. @param doc  NULL: false. [any-thread] */
bool json_doc_is_whole(const yyjson_mut_doc *doc);

/** Write a document, with its final zero, allocated with `alc` (NULL: the heap); a number that JSON
 * does not have becomes null. `ret_length` may be NULL.
 * @return NULL for no document, one without a root, or no memory. [any-thread] */
char *json_write(const yyjson_mut_doc *doc, yyjson_write_flag flags, const yyjson_alc *alc,
                 size_t *ret_length);

/** Append a value that was read, without white space. */
void json_add_value(struct buf *out, yyjson_val *value);

/** Append a JSON text, with the members of each object by their keys and numbers as they are: two
 * texts that say the same in another order are written alike. A text that is no JSON, or is nested
 * deeper than JSON_DEEPER_MAX, is appended as it is. [any-thread] */
void json_add_sorted(struct buf *out, const char *text, size_t length);
