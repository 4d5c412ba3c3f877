/* build_id.h - which build of the host is running, and which one a file is. */
#pragma once

#include <stddef.h>

/** Longest build id kept; the linkers make 8 to 20 bytes. */
#define BUILD_ID_MAX 32

/** The GNU build id of the program or library that this code is part of: it changes whenever the
 * code does. Fills up with zeros.
 * @return its length; 0 when it was linked without --build-id. [any-thread] */
size_t build_id_get(unsigned char ret[BUILD_ID_MAX]);

/** The GNU build id of a shared object, `fd` being open for reading: borrowed. Fills up with zeros.
 * @return its length; 0 when it has none or cannot be read. [any-thread] */
size_t build_id_read(int fd, unsigned char ret[BUILD_ID_MAX]);
