/* build_id.h - the build id of the running host, and of a file. */
#pragma once

#include <stddef.h>

/** Longest build id kept; the linkers make 8 to 20 bytes. */
#define BUILD_ID_MAX 32

/** The GNU build id of the program or library that this code is part of: it changes whenever the
 * code changes. The rest of `ret` is filled with zeros.
 * @return its length; 0 when it was linked without --build-id. [any-thread] */
size_t build_id_get(unsigned char ret[BUILD_ID_MAX]);

/** The GNU build id of a shared object. `fd` is open for reading, and borrowed. The rest of `ret`
 * is filled with zeros.
 * @return its length; 0 when it has none or cannot be read. [any-thread] */
size_t build_id_read(int fd, unsigned char ret[BUILD_ID_MAX]);
