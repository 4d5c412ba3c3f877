/* output.h - write to standard output and standard error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** Write `length` bytes to a file descriptor. On a terminal, control characters are escaped.
 * @return 0, or a negative errno. */
int output_write(int fd, const char *text, size_t length);

/** Write one line to standard error, prefixed with "toolrack: " and escaped. A failure to
 * write it is not reported. [any-thread] */
void output_note(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/** Characters a line of standard output may have; 0 when it is no terminal. */
size_t output_width(void);
