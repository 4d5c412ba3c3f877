/* place.h - the folders that the plugin was granted, and paths below them.
 *
 * Each folder is opened once. A path is walked from there one name at a time, and no symbolic link
 * on the way is followed, so neither a link nor an exchange of a folder for a link while it is
 * walked leads out of it. (openat2() with RESOLVE_BENEATH would follow links that stay inside, and
 * is not to be had in every sandbox and kernel.) */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <toolrack/plugin.h>

#define PLACE_MESSAGE_SIZE 512

/** Open the folders that the host has granted, for open(). One that cannot be opened is left out,
 * with a line in the log. False, and the host is told: there is no memory. */
bool place_open(struct tr_host *host);

/** Close all folders. */
void place_close(void);

/** Whether a text argument has no U+0000, so that it is not taken for what is before that; one that
 * is not given has none. If not, the call has failed. */
bool place_is_whole(struct tr_call *call, const char *name);

/** Whether there is a folder; if not, the call has failed with what to do about it. */
bool place_is_granted(struct tr_call *call);

/** Open the file or folder of a path, which is absolute and in one of the folders, or relative
 * to the first one; "" and "." are the folder itself. `flags` and `mode` are those of open(); with
 * O_CREAT the folders above are made too, and with O_CREAT | O_DIRECTORY the last one. -1 with a
 * message for who gave the path. The descriptor is the caller's. */
int place_at(const char *path, int flags, mode_t mode, char message[PLACE_MESSAGE_SIZE]);

/** The same below a folder that is open, by a path that is relative. */
int place_below(int folder, const char *path, int flags, mode_t mode,
                char message[PLACE_MESSAGE_SIZE]);

/** Remove the file of a path below a folder, if it is there; for what a failed call has begun. */
void place_remove(int folder, const char *path);

/** The granted folder that a path is in, and the rest of the path, which is borrowed from it; -1:
 * it is in none. */
int place_find(const char *path, const char **ret_rest);
