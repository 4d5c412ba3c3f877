/* run-path.h - where the loader searches for the libraries of a file, besides the system's folders.
 */
#pragma once

#include <stdbool.h>

/** What was found. Paths are absolute, and not resolved.
 * @return false to end the search. */
typedef bool run_path_take(void *user, bool is_folder, const char *path);

/** Tell of each folder of the run paths of a file and of the libraries that are found there, and of
 * each library that is found there or that a file names by its path. A file that is no shared
 * object has none; what cannot be read is left out.
 *
 * @param is_loaded  the file itself is loaded, so that "$ORIGIN" is its folder; of a plugin, the
 *                   host loads a copy that is elsewhere, so that such entries do not count
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int run_path_list(const char *file, bool is_loaded, run_path_take *take, void *user);
