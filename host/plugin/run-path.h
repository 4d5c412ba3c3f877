/* run-path.h - where the loader searches for the libraries of a file, besides the system's folders.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct elf;
struct findings;

/** One entry of a list of folders, or the name of a library, as an absolute path that is not
 * resolved. Of an entry with another variable than "$ORIGIN" at its beginning the folder before
 * that, or the root if it could lead anywhere.
 *
 * @param origin  the folder that "$ORIGIN" stands for; NULL: such entries do not count
 * @return false: it does not count. [any-thread] */
bool run_path_expand(const char *entry, size_t length, const char *origin, char ret[PATH_MAX]);

/** Whether what leads the loader to the libraries of a plugin file can be known from the file: each
 * text can be read, and no variable is used to leave the folder that it stands for. The host loads
 * a copy of a plugin from a folder of its own, so that "$ORIGIN/.." is a folder that belongs to
 * neither the plugin nor the host. Adds a finding if not.
 * @return false also when the file cannot be read (elf->failure). [any-thread] */
bool run_path_check(struct elf *elf, struct findings *findings);

/** What was found. Paths are absolute, and not resolved.
 * @return false to end the search. */
typedef bool run_path_take(void *user, bool is_folder, const char *path);

/** Tell of each folder of the run paths of a file and of the libraries that are found there, and of
 * each library that is found there or that a file names by its path. A file that is no shared
 * object has none; what cannot be read is left out.
 *
 * @param is_loaded  the file itself is loaded, so that "$ORIGIN" is its folder; of a plugin, the
 *                   host loads a copy that is elsewhere, so that such entries do not count: they
 *                   are of the host's own folder (run_path_check())
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int run_path_list(const char *file, bool is_loaded, run_path_take *take, void *user);
