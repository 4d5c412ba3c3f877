/* way.h - what lies on the way to folders and to the targets of links, watched for changes.
 *
 * A way is walked name by name from the root, through symbolic links, and each folder on it is
 * watched for what may happen to the next name. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/stat.h>

/* What exchanges one thing for another under the same name. */
#define WAY_EXCHANGE_EVENTS   (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
/* IN_IGNORED and IN_UNMOUNT come unasked. */
#define WAY_TAKEN_AWAY_EVENTS (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)

#define WAY_NO_WATCH (-1)

/* Steps to the targets of links; links that would need more are not followed. */
#define WAY_FILE_STEPS_MAX 32768u

/* What is at the end of a way: a plugin folder, or the target of a file in it that is a link. */
struct way_owner {
    uint32_t folder;  /* a number of the caller's */
    const char *file; /* NULL: the folder */
};

/* One name on a way, or the folder at its end. */
struct step {
    int watch;      /* of inotify, on the folder; WAY_NO_WATCH: the kernel took it away */
    uint32_t round; /* of looking for the way */
    struct way_owner owner;
    char *file; /* the owner's, copied */
    char *name; /* NULL: the folder at the end, itself */
};

/* Invariants:
 *
 *  (1) The inotify watch of a step was there before its name was looked at.
 *  (2) An inotify watch exists while a step has it, and no longer. The kernel gives the same one
 *      for the same inode and never uses a number twice. */
struct ways {
    int fd; /* of inotify; the caller's */
    uint32_t round;
    struct step *steps;
    size_t step_count;
    size_t step_room;
};

/* A path on the way to its end. */
struct way {
    char at[PATH_MAX];   /* how far it leads, without links; "" is the root */
    char rest[PATH_MAX]; /* what is to be walked from there */
    unsigned links;
    struct stat st; /* of `at`, once there is a name in it */
    int watch;      /* on the folder at the end */
};

/** Find the way of `owner` from `at`, a path without links, along `rest`, watching each step, and
 * forget its steps of before. A folder at the end is watched for what happens to its files.
 * @return 0, or an errno value: `ret` then says how far it leads. [writer] */
int ways_find(struct ways *ways, struct way_owner owner, const char *at, const char *rest,
              struct way *ret);

/** Forget all steps of an owner. [writer] */
void ways_forget(struct ways *ways, struct way_owner owner);

/** Forget the steps to the targets of a folder's files that were not looked for since `round`.
 * [writer] */
void ways_forget_files(struct ways *ways, uint32_t folder, uint32_t round);

/** The kernel took a watch away, with what it was on. [writer] */
void ways_forget_watch(struct ways *ways, int watch);

/** Free the steps; the watches go with the caller's descriptor. */
void ways_finish(struct ways *ways);
