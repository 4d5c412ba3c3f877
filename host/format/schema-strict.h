/* schema-strict.h - OpenAI's strict mode. */
#pragma once

#include "format/schema-edit.h"

/** Close all objects of a schema that is otherwise fit for strict mode. Says in the report why one
 * is not. @return whether it is. */
bool rewrite_close_strict(struct rewrite *rewrite, yyjson_mut_val *schema);
