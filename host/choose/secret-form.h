/* secret-form.h - secrets in a text, by their form alone: keys of well-known services by how they
 * begin, what stands behind "Bearer" and in the address of a server, private keys, and what the
 * text calls a password, in English and Chinese. Too much is found rather than too little. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** Mark the bytes of secrets.
 * @param text    any bytes
 * @param hidden  by byte; set for those of a secret, else unchanged
 * @return whether there is any. A pure function. */
bool secret_form_find(const char *text, size_t length, bool *hidden);

/** Append the secrets of a text, with a zero behind each, as secrets_mask() takes them; short ones,
 * which would stand anywhere by chance, are left out. */
void secret_form_collect(const char *text, size_t length, struct buf *ret);

/** A copy of a text with each secret as SECRET_MASK.
 * @param ret_length  of the copy
 * @return to be freed; NULL: out of memory. A pure function. */
char *secret_form_mask(const char *text, size_t length, size_t *ret_length);

/** The same of what is marked. */
char *secret_form_write(const char *text, size_t length, const bool *hidden, size_t *ret_length);
