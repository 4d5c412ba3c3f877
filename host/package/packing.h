/* packing.h - make a package from a folder.
 *
 * The plugin's files are, of these, the first that are there:
 *
 *     DIR/ARCH-LIBC/NAME.so     one in each such folder, such as x86_64-gnu
 *     DIR/NAME.so               the only one
 *     DIR/build/NAME.so         the only one
 *     DIR/target/release/NAME.so  the only one, of cargo
 *
 * But in the first case the platform is read from the file. README.md and LICENSE, and
 * NOTICE and CHANGELOG.md where they are there, are those of DIR; where the file is directly in DIR
 * and DIR has none of them, as the folder of a build, those of the folder above. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "package/manifest.h"

/* A file that is packed. */
struct packing_file {
    char path[MANIFEST_PATH_MAX + 1]; /* in the package */
    char from[PATH_MAX];              /* on the disk */
    int fd;
    bool is_plugin;
    bool is_unread; /* a plugin for a processor whose descriptors cannot be read here */
};

struct packing {
    struct packing_file *files; /* owned */
    size_t count;
    struct manifest manifest;
};

/** Find and open the files of a package.
 * @param ret  initialized here; to be released by packing_finish() in any case
 * @return 0; TOOLRACK_E_NOT_FOUND: something is missing, the message says what was looked for;
 *         TOOLRACK_E_INVALID; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int packing_collect(const char *folder, struct packing *ret, struct toolrack_error *err);
void packing_finish(struct packing *pack);

/** Make the manifest from them.
 * @return 0; TOOLRACK_E_REFUSED: a plugin cannot be used, or the plugins differ; TOOLRACK_E_IO;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int packing_describe(struct packing *pack, struct toolrack_error *err);

/** Write the package, after packing_describe(), and read it again as who installs it would.
 * @param path  of the file, which is replaced
 * @return 0; see archive_write(). */
int packing_write(const struct packing *pack, const char *path, struct toolrack_error *err);
