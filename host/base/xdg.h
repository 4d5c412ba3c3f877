/* xdg.h - the folders of a user, as the XDG Base Directory specification says. */
#pragma once

/** A path below one of these folders: `tail` in the folder that `variable` names, or in
 * `below_home` of HOME. The specification requires that relative values are ignored.
 *
 * @return the path, to be freed; NULL when the environment has neither, and out of memory.
 *         [any-thread] */
char *xdg_path(const char *variable, const char *below_home, const char *tail);
