/* watch.h - which plugin files of some folders have changed, once they have settled.
 *
 * Folders are watched, not files: a file that is replaced is another one each time. What is told
 * is only where to look again; what a file is now, its reader finds out. A change is told when
 * nothing more has happened to the file for a moment, so that one build or copy is one change, and
 * a file that somebody is writing is left alone until it is closed.
 *
 * A watch has no thread and no clock of its own: its owner polls watch_fd() with a timeout until
 * watch_next_ns(), and then calls watch_read().
 *
 * A folder may be missing, or be reached by links: whatever lies on the way to it is watched for
 * being made, removed and exchanged. The same is done for files that are symbolic links: a release
 * is often switched by exchanging a link, `current`, that lies on the way to them.
 * What is not seen: writing to a file under another name of it (a hard link), writing through a
 * mapping after the file was closed, and what another machine does on a network file system. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct watch;

/* How long nothing must have happened to a file before it is told. */
#define WATCH_DEBOUNCE_MS 100u

/* A file to which something happens all the time is told this long after the first of it. */
#define WATCH_STARVE_MS_MAX 500u

/* How long after its last change a file is waited for that nobody has closed. */
#define WATCH_SETTLE_MS_MAX 5000u

#define WATCH_FOLDERS_MAX 256u

/* Files that are changing at one time. With more, their folders are scanned instead. */
#define WATCH_PENDING_MAX 4096u

/** watch_next_ns(): nothing is waited for. */
#define WATCH_NEVER UINT64_MAX

enum watch_kind {
    WATCH_CHANGED, /* the file is new, or may be another than before */
    WATCH_GONE,    /* there is no file of this name any more */
    WATCH_RESCAN   /* anything in the folder may have changed, its being there included */
};

struct watch_change {
    enum watch_kind kind;
    uint32_t folder;     /* which one: the number that watch_add() gave */
    const char *path;    /* as a scan of the folder gives it; RESCAN: the folder. Lives until the
                          * next watch_read() */
    const char *trouble; /* RESCAN: why the folder is there and yet cannot be watched, and what to
                          * do; else NULL. Static text */
};

/** Make a watch of no folder.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED when the user has too many, TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. */
int watch_create(struct watch **ret, struct toolrack_error *err);
void watch_destroy(struct watch *watch); /* NULL is ignored */

/** Wait for `debounce_ms` instead of WATCH_DEBOUNCE_MS, and for the maximum in proportion. Before
 * anything is watched. */
void watch_set_debounce(struct watch *watch, uint32_t debounce_ms);

/** Watch one folder more, which need not exist. What happens from now on is told: so add it first
 * and scan it then.
 *
 * @param ret_folder  its number, counted from 0; may be NULL
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED when there are too many folders or watches; TOOLRACK_E_IO
 *         when it is there and cannot be watched; TOOLRACK_E_NO_MEMORY. [writer] */
int watch_add(struct watch *watch, const char *folder, uint32_t *ret_folder,
              struct toolrack_error *err);

/** A descriptor that is readable when something has happened. Lives as long as the watch. */
int watch_fd(const struct watch *watch);

/** When watch_read() has something to tell though nothing happens until then: a moment of the
 * clock it is given, or WATCH_NEVER. [writer] */
uint64_t watch_next_ns(const struct watch *watch);

/** Take in what has happened and tell what has settled. What there is no room for is told next
 * time.
 * @return how many changes. [writer] */
size_t watch_read(struct watch *watch, uint64_t now_ns, struct watch_change *changes, size_t room);
