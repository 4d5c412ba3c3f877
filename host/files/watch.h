/* watch.h - which plugin files of some folders have changed and settled.
 *
 * Folders are watched, not files: each replacement of a file is a new inode. The watch only reports
 * where to look again; its user reads the file. A change is reported when nothing more has happened
 * to the file for a short time, so that one build or copy is one change; a file that is being
 * written is reported after it is closed.
 *
 * A watch has no thread and no clock of its own: its owner polls watch_fd() with a timeout until
 * watch_next_ns(), and then calls watch_read().
 *
 * A folder may be missing, or be reached by links: every name on the way to it is watched for being
 * made, removed and exchanged. The same is done for files that are symbolic links: a release is
 * often switched by exchanging a link, `current`, that lies on the way to them. Not seen: writing
 * to a file under another name (a hard link), writing through a mapping after the file was closed,
 * and what another machine does on a network file system. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct watch;

/* How long a file must be unchanged before it is reported. */
#define WATCH_DEBOUNCE_MS 100u

/* A file with continuous events is reported this long after the first event. */
#define WATCH_STARVE_MS_MAX 500u

/* How long after its last change a file that is not closed is waited for. */
#define WATCH_SETTLE_MS_MAX 5000u

#define WATCH_FOLDERS_MAX 256u

/* Most files that change at the same time. With more, their folders are scanned instead. */
#define WATCH_PENDING_MAX 4096u

/** watch_next_ns(): not waiting. */
#define WATCH_NEVER UINT64_MAX

enum watch_kind {
    WATCH_CHANGED, /* the file is new, or may have changed */
    WATCH_GONE,    /* there is no file of this name any more */
    WATCH_RESCAN   /* anything in the folder may have changed, and the folder may be new or gone */
};

struct watch_change {
    enum watch_kind kind;
    uint32_t folder;     /* the number that watch_add() returned */
    const char *path;    /* as in a scan of the folder; RESCAN: the folder. Valid until the next
                            watch_read() */
    const char *trouble; /* RESCAN: why an existing folder cannot be watched, and the fix; else
                            NULL. Static string */
};

/** Make a watch without folders.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED when the user has too many watches, TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. */
int watch_create(struct watch **ret, struct toolrack_error *err);
void watch_destroy(struct watch *watch); /* NULL is ignored */

/** Use `debounce_ms` instead of WATCH_DEBOUNCE_MS, and scale WATCH_STARVE_MS_MAX in proportion.
 * Call it before the first watch_add(). */
void watch_set_debounce(struct watch *watch, uint32_t debounce_ms);

/** Watch one more folder, which need not exist. Changes from now on are reported: so add a folder
 * before you scan it.
 *
 * @param ret_folder  its number, counted from 0; may be NULL
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED when there are too many folders or watches; TOOLRACK_E_IO
 *         when it exists but cannot be watched; TOOLRACK_E_NO_MEMORY. [writer] */
int watch_add(struct watch *watch, const char *folder, uint32_t *ret_folder,
              struct toolrack_error *err);

/** A descriptor that is readable when something has happened. Valid as long as the watch. */
int watch_fd(const struct watch *watch);

/** The time when watch_read() has a change to report even without new events, by the clock of its
 * `now_ns`; or WATCH_NEVER. [writer] */
uint64_t watch_next_ns(const struct watch *watch);

/** Read the new events and return the changes that have settled. Changes beyond `room` are returned
 * next time.
 * @return the number of changes. [writer] */
size_t watch_read(struct watch *watch, uint64_t now_ns, struct watch_change *changes, size_t room);
