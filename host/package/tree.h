/* tree.h - folders with all that is in them. No symbolic link is followed. */
#pragma once

/* Deepest folders; what is deeper is left, and reported. */
#define TREE_DEPTH_MAX 16u

/** Remove a file or folder of an open folder, with all that is in it. 0, also when there is none;
 * or a negative errno. [any-thread] */
int tree_remove(int folder, const char *name);

/** Put all that is in a folder on the disk, and its own entries. 0 or a negative errno.
 * [any-thread] */
int tree_sync(int folder, const char *name);

/** The same of the entries of one open folder. 0 or a negative errno. [any-thread] */
int folder_sync(int folder);
