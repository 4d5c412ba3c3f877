/* schema-strict.h - OpenAI's strict mode. */
#pragma once

#include "format/schema-edit.h"

/** Close all objects of a schema that otherwise meets strict mode; if it does not, report why.
 * @return whether it does. */
bool rewrite_close_strict(struct rewrite *rewrite, yyjson_mut_val *schema);
