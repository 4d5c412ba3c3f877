/* schema-fold.h - merge several schemas into one. */
#pragma once

#include "format/schema-edit.h"

/** Merge the targets of `$ref` and the parts of `allOf` into the schema, and with `choices` also
 * the alternatives of `anyOf` and `oneOf`. */
void rewrite_fold(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                  bool choices);
