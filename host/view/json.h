/* json.h - JSON documents that are made for clients, and JSON from the host. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/** A new document. Adding to it need not be checked: `incomplete` is set when memory runs out, and
 * must live as long as the document. */
yyjson_mut_doc *json_new(bool *incomplete);

/** Add a string, copied, or null for NULL. Bytes that are not UTF-8, as in a file name, are
 * replaced. */
void json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text);

/** Add the value of a text of JSON, of `length` bytes; null for NULL and what is no JSON. */
void json_add_json(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *json,
                   size_t length);

/** Add the members of an object, as a text of ours; NULL: there was no memory for it. */
void json_add_members(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *json, size_t length);

/** Parse JSON from the host.
 * @return to be released by yyjson_doc_free(); NULL when out of memory. */
yyjson_doc *json_read(const struct toolrack_text *text);
/** The same with all numbers as they are written, of yyjson's type raw: 1e3 stays 1e3. */
yyjson_doc *json_read_exact(const struct toolrack_text *text);
