/* whole.h - read a file that the configuration names: a certificate, a key, a set of keys. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/** Append all that a regular file holds, and a zero behind it. What is none, such as a FIFO, is
 * refused at once: the thread that asks must not wait for its writer.
 *
 * @param member  of the configuration that names the file, for the error
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_INVALID: it is longer than `max` bytes;
 *         TOOLRACK_E_NO_MEMORY */
int whole_read(const char *member, const char *path, size_t max, struct buf *ret,
               struct toolrack_error *err);
