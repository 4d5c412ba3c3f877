/* schema-rewrite.h - a tool's schema as a provider takes it.
 *
 * What a provider does not know is taken out or said otherwise, and each such change is noted. What
 * the provider's schema then lets through wrongly, the host refuses: it checks arguments with the
 * tool's own schema, which no rewrite touches. So a rewrite may forget a constraint, but not a
 * property, nor give one another name. */
#pragma once

#include "format/schema-edit.h"

/** Rewrite a schema and append its text.
 * @param text    NULL: the tool says nothing of its arguments
 * @param strict  NULL, or receives whether the result is fit for strict mode
 * @return 0; TOOLRACK_E_INVALID: the tool cannot be described, `rewrite->refusal` says why;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int rewrite_text(struct rewrite *rewrite, const char *text, struct buf *out, bool *strict);
