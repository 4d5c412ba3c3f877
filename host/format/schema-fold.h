/* schema-fold.h - one schema of several. */
#pragma once

#include "format/schema-edit.h"

/** Merge what `$ref` and `allOf` say into the schema itself, and with `choices` also the
 * alternatives of `anyOf` and `oneOf`. */
void rewrite_fold(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                  bool choices);
