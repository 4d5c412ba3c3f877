/* folder.h - the plugin files of one folder, by name. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Most files listed of one folder: the first ones by name. */
#define FOLDER_FILES_MAX 65536u

struct folder {
    DIR *dir;
    uint64_t device;
    uint64_t inode;
    const char **names; /* in byte order; each is the end of the path that folder_path() returns */
    size_t count;
    size_t room;
    size_t prefix_length; /* of folder and slash in a path */
    bool cut;             /* there are more than count_max; the last ones are not listed */
};

/** Open a folder. folder_finish() must be called in every case.
 * @return 0 or an errno value. */
int folder_init(struct folder *folder, const char *path);

/** Whether a file of this name is listed: it ends in ".so" and does not begin with a dot. */
bool folder_takes_name(const char *name, size_t length);

/** List the files that folder_takes_name() accepts. Their paths are in the arena.
 * @return 0 or an errno value, such as ENOMEM; the names read before stay listed. */
int folder_list(struct folder *folder, const char *path, size_t count_max, struct arena *arena);

/** Folder, slash and name of names[i]. */
const char *folder_path(const struct folder *folder, size_t i);

void folder_finish(struct folder *folder);
