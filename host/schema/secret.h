/* secret.h - values that a schema says are for nobody's eyes.
 *
 * A schema marks them `"writeOnly": true` or `"format": "password"`. Whatever part of a schema
 * could say something of a value counts, whether or not the value fits it: to hide too much is no
 * harm. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

/* What stands in place of a secret. */
#define SECRET_MASK "***"

/** Whether a schema may mark anything so. [any-thread] */
bool schema_has_secrets(yyjson_val *schema);

/** Put SECRET_MASK in place of each secret of `value`, which may be one as a whole; `doc` is its
 * document. The document's root is not set.
 * @return the value to use; what cannot be told apart, as there is too much of it, is masked as a
 *         whole. NULL: out of memory. [any-thread] */
yyjson_mut_val *schema_mask(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *value);
