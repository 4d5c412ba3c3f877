/* kept-text.h - the text of a choice as it may be kept: secrets are masked before anything is
 * written to the disk. */
#pragma once

#include "choose/selecting.h"

/** The text, with SECRET_MASK for what looks like a secret (secret-form.h), for what a candidate
 * would get as an argument that its schema marks as secret (schema/secret.h), and, if the best one
 * has such arguments, for all that became one; and for the same words elsewhere. NULL: the text
 * must not be kept, since it may say a secret in a place that is not known, or memory ran out. To
 * be freed. [any-thread] */
char *kept_text(const struct selecting *selecting);

/** Mask in an explanation what looks like a secret, and what the best candidate gets as one. A
 * short one, which stands anywhere by chance, is masked where it is a value or a word in quotation
 * marks: masked anywhere, it would be told by what else is missing. */
void kept_text_mask(const struct selecting *selecting, struct buf *explanation);
