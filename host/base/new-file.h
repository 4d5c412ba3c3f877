/* new-file.h - a file that is there whole or not at all.
 *
 * It is written under another name beside its own, and then renamed. One that must not be there
 * already, such as a secret key, is on the disk then; what is replaced can be made again. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct new_file {
    int fd; /* -1: none is open */
    char path[PATH_MAX];
    char temporary[PATH_MAX];
};
#define NEW_FILE_INIT \
    { .fd = -1 }

/** Begin to write the file of a path.
 * @return 0; TOOLRACK_E_REFUSED: what is there is no regular file, such as a device or a symbolic
 *         link; TOOLRACK_E_IO. */
int new_file_begin(struct new_file *file, const char *path, struct toolrack_error *err);
/** Put it in its place.
 * @param mode      of the file
 * @param replaces  false: a file that is there already stays
 * @return 0; TOOLRACK_E_EXISTS; TOOLRACK_E_IO. */
int new_file_end(struct new_file *file, unsigned mode, bool replaces, struct toolrack_error *err);
/** Remove what was begun; nothing after new_file_end() has succeeded. */
void new_file_finish(struct new_file *file);

/** The whole of that for a text. */
int new_file_write(const char *path, const char *text, size_t length, unsigned mode, bool replaces,
                   struct toolrack_error *err);
