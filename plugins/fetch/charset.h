/* charset.h - the text of a page as UTF-8, whatever it is in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CHARSET_NAME_SIZE 64

/** Find the encoding as browsers do: by a byte order mark, else by the header Content-Type (may be
 * NULL), else by a <meta> in the first 1,024 bytes if it is HTML, else UTF-8 if it is valid UTF-8,
 * else windows-1252. `ret` becomes a name that charset_decode() takes. */
void charset_find(const char *bytes, size_t length, const char *content_type, bool is_html,
                  char ret[CHARSET_NAME_SIZE]);

/** Convert to UTF-8 without a byte order mark; what is wrong becomes U+FFFD, and a zero byte too.
 * The text ends with a zero; it is the caller's, to be freed. NULL: the encoding is not known, or
 * there is no memory. */
char *charset_decode(const char *bytes, size_t length, const char *charset, size_t *ret_length);
