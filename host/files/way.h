/* way.h - watches on the names on the way to folders and to the targets of links.
 *
 * A way is walked name by name from the root, through symbolic links, and each folder on it is
 * watched for events at the next name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/link.h"

/* Events that exchange a file or folder for another with the same name. */
#define WAY_EXCHANGE_EVENTS   (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
/* IN_IGNORED and IN_UNMOUNT are always sent. */
#define WAY_TAKEN_AWAY_EVENTS (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)

#define WAY_NO_WATCH (-1)

/* Most steps to the targets of links; links that need more are not followed. */
#define WAY_FILE_STEPS_MAX 32768u

/* The end of a way: a plugin folder, or the target of a link in it. */
struct way_owner {
    uint32_t folder;  /* a number of the caller */
    const char *file; /* NULL: the folder */
};

/* One name on a way, or the folder at its end. */
struct step {
    int watch;      /* of inotify, on the folder; WAY_NO_WATCH: the kernel removed it */
    uint32_t round; /* number of the ways_find() that added this step */
    struct way_owner owner;
    char *file; /* copy of owner.file */
    char *name; /* NULL: the folder at the end */
};

/* Invariants:
 *
 *  (1) The inotify watch of a step was added before its name was looked at.
 *  (2) An inotify watch exists only while a step has it. The kernel returns the same watch for the
 *      same inode and never uses a number twice. */
struct ways {
    int fd; /* of inotify; owned by the caller */
    uint32_t round;
    struct step *steps;
    size_t step_count;
    size_t step_room;
};

/* The state of one walk. */
struct way {
    struct link_walk walk;
    struct stat st; /* of `walk.at`, unless that is "" */
    int watch;      /* on the folder at the end */
};

/** Walk the way of `owner` from `at`, a path without links, along `rest`; watch each step and
 * forget its earlier steps. A folder at the end is watched for events at its files.
 * @return 0, or an errno value: `ret` then has the path so far. [writer] */
int ways_find(struct ways *ways, struct way_owner owner, const char *at, const char *rest,
              struct way *ret);

/** Forget all steps of an owner. [writer] */
void ways_forget(struct ways *ways, struct way_owner owner);

/** Forget the steps to the targets of a folder's files that were added in `round` or before.
 * [writer] */
void ways_forget_files(struct ways *ways, uint32_t folder, uint32_t round);

/** Called when the kernel has removed a watch, with the watched folder. [writer] */
void ways_forget_watch(struct ways *ways, int watch);

/** Free the steps; the watches end with the caller's descriptor. */
void ways_finish(struct ways *ways);
