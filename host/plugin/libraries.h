/* libraries.h - the libraries that a plugin needs, found as the loader finds them. */
#pragma once

/** Open the library that the loader would take: from a folder of `run_path`, the system's folders
 * or the loader's cache. A name with a slash is a path.
 *
 * @param run_path  a list with colons, or NULL
 * @param origin    the folder that "$ORIGIN" stands for; NULL: such entries do not count, as for a
 *                  plugin, of which the host loads a copy that is elsewhere
 * @param ret_path  PATH_MAX bytes, for its path
 * @return a descriptor that is close-on-exec; -1: there is no such library for this machine.
 * [any-thread] */
int library_open(const char *name, const char *run_path, const char *origin, char *ret_path);
