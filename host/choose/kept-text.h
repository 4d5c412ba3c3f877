/* kept-text.h - the text of a choice as it may be kept: secrets are masked before anything is
 * written to the disk. */
#pragma once

#include "choose/selecting.h"

/** The text. If the schema of the tool marks anything as secret (schema/secret.h), what became an
 * argument is SECRET_MASK, and so are its words elsewhere. NULL: the text must not be kept, since
 * it may say a secret in a place that is not known, or memory ran out. To be freed. [any-thread] */
char *kept_text(const struct selecting *selecting);
