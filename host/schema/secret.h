/* secret.h - values that a schema marks as secret, masked.
 *
 * A schema marks them with `"writeOnly": true` or `"format": "password"`. Each part of a schema
 * that can apply to a value counts, whether or not the value matches it: masking too much does no
 * harm. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

/* The string that replaces a secret. */
#define SECRET_MASK "***"

/** Whether a schema may mark any value as secret. [any-thread] */
bool schema_has_secrets(yyjson_val *schema);

/** Replace each secret in `value`, or `value` itself if it is a secret, by SECRET_MASK; `doc` is
 * its document. The document's root is not set.
 * @return the value to use; if the value is too large or the schema too deep, the whole value is
 *         masked. NULL: out of memory. [any-thread] */
yyjson_mut_val *schema_mask(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *value);
