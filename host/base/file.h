/* file.h - loops that system calls on files require. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/** Write all bytes, with as many calls as needed. 0 or a negative errno value. */
int write_all(int fd, const void *bytes, size_t size);

/** Bytes of a regular file that were never written, so that the disk does not store them; 0 where
 * the file system does not say. Does not read the file. [any-thread] */
uint64_t file_holes(int fd, const struct stat *status);

/** Create a folder and its missing parents, for the user only (0700). `path` is changed during the
 * call. 0, also if the folder exists, or a negative errno value. */
int make_folders(char *path);
