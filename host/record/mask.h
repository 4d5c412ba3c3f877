/* mask.h - secrets are masked before anything is written to the disk: a value that a schema marks
 * with `"writeOnly": true` or `"format": "password"` is replaced by SECRET_MASK. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"

/** A copy of arguments, or of a result, with secrets masked, in the arena. JSON that cannot be
 * parsed is replaced by SECRET_MASK as a whole; so is everything when out of memory.
 * [any-thread] */
const char *mask_arguments(yyjson_doc *schema, const char *arguments, struct arena *arena);
const char *mask_result(yyjson_doc *schema, const char *result, struct arena *arena);

/** The secrets among arguments, as of schema_collect_arguments(); of what cannot be parsed,
 * anything may be one. [any-thread] */
void mask_collect(yyjson_doc *schema, const char *arguments, struct buf *ret);

/** Whether a place (a JSON Pointer) in masked arguments was a secret, or a part of one; true also
 * when that cannot be determined. [any-thread] */
bool mask_hides(const char *masked_arguments, const char *place);
