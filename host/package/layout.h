/* layout.h - where packages are installed, and the one step that installs, exchanges or removes
 * one.
 *
 *     packages/                          in the state folder; for its user only (0700)
 *         lock                           held by the one process that makes a change, not while it
 *                                        downloads or a person is asked
 *         official/ID.so                 a symbolic link to the plugin file of what is installed:
 *         community/ID.so                the plugin folders of the two trusts
 *         content/ID/VERSION.xxxxxx/     what one package file had, and
 *             installed.json             who installed it when, by which key
 *         left/ID                        the versions that a person went back from
 *         indexes/                       what was seen of indexes (seen.h)
 *         incoming/                      what is being made, in a folder that its maker has locked;
 *                                        without such a lock removed by the next who holds the lock
 *
 * What is installed is what the links lead to, and nothing else says it. A folder below content/ is
 * whole and on the disk before a link leads to it, and is never changed; a link is exchanged by
 * rename(). So whoever is killed at any time leaves what was installed before or what is installed
 * now, and there is nothing to recover: what no link leads to, and is not kept for a rollback, is
 * removed by the next who holds the lock.
 *
 * For the host a link in a plugin folder is a plugin file, and to exchange it is an update in place
 * (host/README.md, "Which file it is"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/semver.h"
#include "plugin/trust.h"

/* Longest id of a plugin that can be the name of a file here; of a path below packages/. */
#define LAYOUT_ID_MAX   128u
#define LAYOUT_PATH_MAX 512u

/* Earlier versions that are kept for a rollback. */
#define LAYOUT_KEEP_MAX 4u

#define LAYOUT_KEY_ROOM   17u /* 16 hexadecimal digits of a key's id */
#define LAYOUT_WHO_ROOM   128u
#define LAYOUT_HASH_ROOM  65u
#define LAYOUT_WHERE_ROOM 512u

/** One installed version. A plain value. */
struct installed {
    char id[LAYOUT_ID_MAX + 1];
    char version[SEMVER_LENGTH_MAX + 1];
    enum trust trust;
    char key[LAYOUT_KEY_ROOM];      /**< of who signed it; "": it is unsigned */
    char sha256[LAYOUT_HASH_ROOM];  /**< of the package file, in hexadecimal digits */
    char plugin[LAYOUT_PATH_MAX];   /**< the plugin file, in the version's folder */
    char folder[LAYOUT_PATH_MAX];   /**< of the version, below packages/ */
    char previous[LAYOUT_PATH_MAX]; /**< the folder of the version before it; "": none */
    char source[LAYOUT_WHERE_ROOM]; /**< the file or URL that it came from */
    char who[LAYOUT_WHO_ROOM];
    int64_t since_s;
};

struct layout {
    char *path; /* packages/, on the heap */
    int root;   /* the folder; -1: there is none */
    int lock;   /* -1: it may only be read */
};
#define LAYOUT_INIT ((struct layout){.root = -1, .lock = -1})

/** Open packages/ for reading. That it does not exist is no failure: then nothing is installed.
 * @return 0; TOOLRACK_E_REFUSED: others may write to it; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int layout_open(const char *path, struct layout *ret, struct toolrack_error *err);

/** Open it to change it: make it, hold the lock, and remove what others have left.
 * @return as above; TOOLRACK_E_EXISTS when another process holds the lock. [any-thread] */
int layout_open_to_change(const char *path, struct layout *ret, struct toolrack_error *err);

void layout_finish(struct layout *layout);

/** Let others change it; what layout_begin() has made stays. */
void layout_unlock(struct layout *layout);

/** Whether an id can be the name of a file here. [any-thread] */
bool layout_is_id(const char *id);

/** What is installed under an id.
 * @return 0; TOOLRACK_E_NOT_FOUND, without a command in the message; TOOLRACK_E_IO when what it has
 *         there is damaged: if that is its record only, `ret` has the id, trust, version and folder
 *         that the link says, which is enough for layout_remove(), and else an empty folder;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int layout_find(const struct layout *layout, const char *id, struct installed *ret,
                struct toolrack_error *err);

/** The version before one, which is kept.
 * @return as layout_find() */
int layout_find_previous(const struct layout *layout, const struct installed *of,
                         struct installed *ret, struct toolrack_error *err);

/** Visit all that is installed, by id; what is damaged is left out, and `damaged` is called with
 * the reason. A visitor returns a negative code to end with it.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY; the visitor's code. [any-thread] */
int layout_visit(const struct layout *layout,
                 int (*visit)(void *user, const struct installed *one, struct toolrack_error *err),
                 void (*damaged)(void *user, const char *id, const char *reason), void *user,
                 struct toolrack_error *err);

/** Make a folder below incoming/. Holds the lock; the folder stays without it, too, until its
 * descriptor is closed.
 * @param ret_name    its path below packages/
 * @param ret_folder  it is open and locked; the caller closes it
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY */
int layout_begin(const struct layout *layout, char ret_name[LAYOUT_PATH_MAX], int *ret_folder,
                 struct toolrack_error *err);

/** Install what is in a folder below incoming/: `new` has all members but `folder` and `previous`,
 * which are set. The link is exchanged last. Holds the lock.
 * @return 0: it is installed, and on the disk; TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY: what was
 *         installed still is. */
int layout_install(const struct layout *layout, const char *incoming, struct installed *new,
                   struct toolrack_error *err);

/** Let the link lead to the version before; the present one is noted in left/. Holds the lock.
 * @return 0; TOOLRACK_E_NOT_FOUND when no version before it is kept; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY */
int layout_go_back(const struct layout *layout, const struct installed *now, struct installed *ret,
                   struct toolrack_error *err);

/** Remove the link, then what it led to. Holds the lock.
 * @return 0; TOOLRACK_E_IO */
int layout_remove(const struct layout *layout, const struct installed *one,
                  struct toolrack_error *err);

/** Whether a person went back from a version. [any-thread] */
bool layout_was_left(const struct layout *layout, const char *id, const char *version);

/** Remove what no link leads to and no rollback needs. Holds the lock. */
void layout_collect(const struct layout *layout);

/** Write a file of packages/ in one piece: under another name, synced and renamed. Holds the lock.
 * @param name  its path below packages/
 * @return 0; TOOLRACK_E_IO */
int layout_write(const struct layout *layout, const char *name, const struct buf *text,
                 struct toolrack_error *err);

/** Append what a file of packages/ has, `max` bytes at most.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int layout_read(const struct layout *layout, const char *name, size_t max, struct buf *text,
                struct toolrack_error *err);
