/* guard-way.h - how a path is found, and where else its end can be seen. */
#pragma once

#include <limits.h>

#include "base/arena.h"

/* One name on the way to a path, with the real path of the folder that has it. */
struct way_step {
    const char *path;
    bool is_link;
};

/* Strings are in the arena. */
struct guard_way {
    struct way_step *steps; /* those that exist */
    size_t step_count;
    const char *end; /* without links; what does not exist is taken as written */
    bool exists;
    const char *missing; /* the first name that does not exist, or is a file where a folder must be;
                          * NULL: all do */
    bool is_open;        /* a ".." follows what is missing: nobody knows where the path will lead */
};

/** Walk an absolute path name by name. False: no memory, or the path is too long. [any-thread] */
bool guard_walk(struct arena *arena, const char *path, struct guard_way *ret);

/* What is mounted where, at one moment. */
struct guard_mounts;

/** Read what is mounted, in the arena; NULL: no memory. Where the kernel does not tell, it is
 * nothing. The check of a grant asks about a dozen places: to read and take apart the list for each
 * was 1.7 of the 17 million instructions of `toolrack call` with 20 mounts, and a server may have
 * hundreds. [any-thread] */
const struct guard_mounts *guard_mounts_read(struct arena *arena);

/** Other paths at which the same file or folder, or a part of the folder, can be seen, because
 * something is mounted twice. NULL-terminated, in the arena; NULL: no memory. [any-thread] */
const char *const *guard_aliases(struct arena *arena, const struct guard_mounts *mounts,
                                 const char *path);

/** The part of `path` after `folder/`; "" if both are the same; NULL: it is not in it. */
const char *guard_below(const char *path, const char *folder);

/** Where the kernel shows what are no files (/proc, /sys, /dev), none of them below another.
 * NULL-terminated, in the arena; NULL: no memory. [any-thread] */
const char *const *guard_kernel_mounts(struct arena *arena, const struct guard_mounts *mounts);
