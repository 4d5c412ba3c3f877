/* own-folder.h - the folders, and files in them, that a host makes for what it keeps.
 *
 * Who else may write to such a folder or file, or has put a link in its place, would read what is
 * written there, or exchange it. What is above it may be a link: people move a whole state folder.
 */
#pragma once

#include <stdbool.h>

/** Open a folder that belongs to this user or root, is no symbolic link, and that no other may
 * write to.
 * @param makes  make it if it is missing, with its parents, for the user only (0700)
 * @return a descriptor, close-on-exec; or a negative errno: -ELOOP for a link and for what is no
 *         folder, -EPERM for one of others. [any-thread] */
int own_folder_open(const char *path, bool makes);

/** The same, without a descriptor. @return 0; a negative errno. [any-thread] */
int own_folder_check(const char *path, bool makes);

/** What a negative errno of these means, and what to do. */
const char *own_folder_words(int failed);

/** Open or, with O_CREAT, make a regular file in a folder (0600) that is the user's or root's, and
 * that no other may write to. No link is followed, and nothing is waited for. `flags` as for
 * open(), with the way of access.
 * @return a descriptor, close-on-exec; or a negative errno: -EPERM for what is none such.
 *         [any-thread] */
int own_file_open(const char *folder, const char *name, int flags);

/** What a negative errno of that means, and what to do. */
const char *own_file_words(int failed);
