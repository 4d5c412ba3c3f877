/* schema-type.h - names of types. */
#pragma once

#include "format/schema-edit.h"

/** Replace the `type` of a schema by a type of JSON Schema. @return whether the keyword stays. */
bool rewrite_type(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *type);

/** Replace a list of types by an anyOf. */
void rewrite_split_types(struct rewrite *rewrite, const struct place *place,
                         yyjson_mut_val *schema);
