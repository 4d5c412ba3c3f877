/* schema-resource.h - references to the name of a schema, written as pointers from the root. */
#pragma once

#include "format/schema-edit.h"

/** Write each reference to an `$id` or an anchor of the schema, and each pointer from an `$id`, as
 * a pointer from the root, and leave these names out: providers follow pointers alone. A reference
 * that finds nothing stays.
 * @param is_draft_7  `$id` beside `$ref` is no name, and one that is a fragment is an anchor */
void rewrite_resources(struct rewrite *rewrite, bool is_draft_7);
