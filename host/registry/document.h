/* document.h - JSON that the embedding API returns as text. */
#pragma once

#include <yyjson.h>

#include "toolrack/toolrack.h"

/** A document whose root is an empty object, or array. Callers need not check what they add: when
 * memory runs out, document_end() reports it. */
yyjson_mut_doc *document_begin(yyjson_mut_val **ret_root);
yyjson_mut_doc *document_begin_list(yyjson_mut_val **ret_root);

/** Add a copy of a string, or null for NULL. */
void document_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                       const char *text);

/** Add the two parts of an identity (plugin/origin.h) as `plugin` and `origin`; null for a part
 * that it has not. */
void document_add_identity(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *identity);

/** Write the document, which is released in any case. Texts in it need not be UTF-8 (json-write.h).
 * @return 0 with a reference; TOOLRACK_E_NO_MEMORY. */
int document_end(yyjson_mut_doc *doc, struct toolrack_text **ret, struct toolrack_error *err);
