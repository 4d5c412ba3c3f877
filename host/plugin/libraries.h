/* libraries.h - whether the loader will find a library that a plugin needs. */
#pragma once

#include <stdbool.h>

/** Whether a library is in one of the system's folders, in the loader's cache, or in a folder of
 * `run_path`: a list with colons, or NULL. Entries relative to the plugin ($ORIGIN) do not count:
 * the host loads a copy that is elsewhere. A name with a slash is a path. [any-thread] */
bool library_is_found(const char *name, const char *run_path);
