/* schema-type.h - names of types. */
#pragma once

#include "format/schema-edit.h"

/** Make the `type` of a schema one of JSON Schema's. @return whether it stays. */
bool rewrite_type(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *type);

/** Say a list of types as an anyOf. */
void rewrite_split_types(struct rewrite *rewrite, const struct place *place,
                         yyjson_mut_val *schema);
