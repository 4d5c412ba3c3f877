/* mask.h - secrets are hidden before anything reaches the disk: what a schema marks
 * `"writeOnly": true` or `"format": "password"` becomes SECRET_MASK. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/arena.h"

/** Read a schema of a tool, where it has secrets.
 * @param text  NULL is no schema
 * @param ret   to be freed by yyjson_doc_free(); NULL: the schema has no secrets
 * @return false when out of memory. [any-thread] */
bool mask_read_schema(const char *text, yyjson_doc **ret);

/** Arguments, or a result, without their secrets, in the arena. JSON that cannot be read is
 * SECRET_MASK as a whole, and so is all when there is no memory. [any-thread] */
const char *mask_arguments(yyjson_doc *schema, const char *arguments, struct arena *arena);
const char *mask_result(yyjson_doc *schema, const char *result, struct arena *arena);

/** Whether a place (a JSON pointer) of masked arguments was a secret, or a part of one; where that
 * cannot be known, it was. [any-thread] */
bool mask_hides(const char *masked_arguments, const char *place);
