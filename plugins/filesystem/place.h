/* place.h - what a path of the caller leads to, within the granted folders.
 *
 * Each granted folder is held open. A file is opened from there, by the kernel's own promise that
 * the way does not leave the folder (openat2() with RESOLVE_BENEATH) and has no symbolic links: a
 * link is read here and followed only where its target is in a granted folder again. So another
 * process that exchanges a folder for a link in between makes an open fail, and never lead out. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <toolrack/plugin.h>

/* Most granted folders, and most links on one way. */
#define PLACE_ROOTS_MAX 64u
#define PLACE_LINKS_MAX 40u

struct root {
    int fd; /* O_PATH */
    bool writes;
    size_t length;
    char path[PATH_MAX]; /* absolute, without links and a slash at its end */
};

/** Open what the host has granted. A failure is told to the host. [plugin] */
tr_status place_open_roots(struct tr_host *host);
void place_close_roots(void);
/** The granted folders, those to write first. */
size_t place_root_count(void);
const struct root *place_root(size_t index);

/** Why a path cannot be used. */
struct place_fault {
    tr_status code;
    char message[900];
};

struct place {
    const struct root *root;
    bool exists;
    char path[PATH_MAX]; /* absolute, without links, "." and ".." */
};

/** Find what a path means: absolute, or relative to a granted folder. Nothing may be there: then
 * `exists` is false. False, with the reason, if it is outside or cannot be followed. */
bool place_find(const char *given, struct place *ret, struct place_fault *fault);

/** The path below its root: "" for the root itself. */
const char *place_below(const struct place *place);
/** The last part of the path; "" for a root. */
const char *place_name(const struct place *place);

/** Open it. @return a descriptor, or -1 with errno: ELOOP if a link is on the way now. */
int place_open(const struct place *place, int flags);
/** Open the folder that it is in, O_PATH; -1 with errno, EBUSY for a root. */
int place_open_parent(const struct place *place);
/** Open the name in a folder that was opened, never a link. -1 with errno. */
int place_open_in(int folder, const char *name, int flags);
/** Open a regular file to read; what is none is EINVAL, and is not opened for more than a look. */
int place_open_file(const struct place *place);

/** A text for an errno of these, for the caller. */
void place_say(struct place_fault *fault, const char *what, const char *path, int number);
