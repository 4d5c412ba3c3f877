/* own-secrets.h - secrets of this process itself, such as the key of a provider: they are masked in
 * the log of calls, whatever a tool is given or returns.
 *
 * They are known until the process ends: a line of the log is written after its call. */
#pragma once

#include <stdbool.h>

/** Add a text of at least SECRET_LENGTH_MIN bytes; another time is harmless. Beyond
 * SECRETS_SIZE_MAX bytes the oldest are forgotten.
 * @return false: no memory, or the text is longer than that. [any-thread] */
bool own_secrets_add(const char *text);

/** Whether there are any. [any-thread] */
bool own_secrets_are_known(void);

/** Mask them in a text, as secrets_mask(). [any-thread] */
void own_secrets_mask(char *text);
