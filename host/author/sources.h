/* sources.h - a folder of sources: when it changes, and which plugin was built in it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Look at all source files below a folder: not those of build folders, hidden ones, and what
 * compilers write. With a descriptor of inotify, its folders are watched from now on.
 * @return a number that is another one when a file was changed, added or removed. */
uint64_t sources_look(const char *folder, int watch);

/** The newest plugin file below a folder, build folders included; to be freed. NULL: there is none.
 */
char *sources_plugin(const char *folder);
