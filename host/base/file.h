/* file.h - what the system calls on files leave to their callers. */
#pragma once

#include <stddef.h>

/** Write all bytes, as many calls as that takes. 0 or a negative errno value. */
int write_all(int fd, const void *bytes, size_t size);

/** Make a folder and those above it that are missing, for the user alone (0700). `path` is changed
 * while this runs. 0, also when it exists, or a negative errno value. */
int make_folders(char *path);
