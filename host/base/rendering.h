/* rendering.h - an error as text and as JSON, in the same form everywhere. */
#pragma once

#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

/** Append "InvalidArguments: /a: must be a number", without a line end. [any-thread] */
void error_add_text(struct buf *out, const struct toolrack_error *err);

/** A new object: type, message, is_recoverable, and if known field, mistakes
 * (if there are several: an array of objects of field and message, the first among them),
 * tool_name, signal and trace (an array of lines); `"from": "tool"` if the tool failed the call
 * itself, with tool_code if it gave a code that only the host may give.
 * @param type  used instead of the code's name; NULL: the code's name
 * @return NULL if `doc` is out of memory. [any-thread] */
yyjson_mut_val *error_object(yyjson_mut_doc *doc, const struct toolrack_error *err,
                             const char *type);
