/* secret.h - values that a schema marks as secret, masked.
 *
 * A schema marks them `"writeOnly": true` or `"format": "password"`. Each part of a schema that can
 * apply to a value counts, whether or not the value fits it: hiding too much does no harm. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

/* The text in place of a secret. */
#define SECRET_MASK "***"

/** Whether a schema may mark any value as secret. [any-thread] */
bool schema_has_secrets(yyjson_val *schema);

/** Put SECRET_MASK in place of each secret of `value`, which may be one as a whole; `doc` is its
 * document. The document's root is not set.
 * @return the value to use; a value too large or a schema too deep to follow is masked as a whole.
 *         NULL: out of memory. [any-thread] */
yyjson_mut_val *schema_mask(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *value);
