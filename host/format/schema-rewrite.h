/* schema-rewrite.h - rewrite a tool's schema so that a provider accepts it.
 *
 * What a provider does not know is removed or expressed otherwise, and each such change is
 * reported. The host checks arguments with the tool's own schema, which is never rewritten, and
 * refuses what the provider's schema wrongly allows. So a rewrite may drop a constraint, but it
 * must not drop or rename a property. */
#pragma once

#include "format/schema-edit.h"

/** Rewrite a schema and append its text.
 * @param text    NULL: the tool has no schema
 * @param strict  NULL, or receives whether the new schema meets strict mode
 * @return 0; TOOLRACK_E_INVALID: the tool cannot be described, `rewrite->refusal` says why;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int rewrite_text(struct rewrite *rewrite, const char *text, struct buf *out, bool *strict);
