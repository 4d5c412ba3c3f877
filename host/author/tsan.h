/* tsan.h - a plugin that was built with ThreadSanitizer.
 *
 * Its code calls the sanitizer's runtime at each access to memory. The runtime has to be in the
 * process from its start, so the command becomes itself again with the runtime loaded before
 * anything else (LD_PRELOAD). There the host's code is not instrumented: the runtime sees what the
 * plugin does, and of the host its locks, threads and allocations. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/** Whether the runtime is in this process. */
bool tsan_is_here(void);

/** Whether a file was built with it; false also for one that cannot be read. */
bool tsan_is_wanted(const char *file);

/** Become this command again with the runtime. Returns only on failure: TOOLRACK_E_IO where it is
 * not on this machine; TOOLRACK_E_INVALID for a file with a runtime that no program can have loaded
 * before it; TOOLRACK_E_NO_MEMORY. */
int tsan_become(const char *file, struct toolrack_error *err);

/** Write reports of races into a file from now on, whose name is `path` and the number of the
 * process. */
void tsan_begin_reports(const char *path);

/** Take the next report out of what was read of that file: its summary, and on further lines the
 * report. Reports about no code of the plugin are left out.
 *
 * @param plugin  name of the plugin's file, as its stacks have it
 * @param at      where to look on; moved behind the report
 * @return false: there is no more */
bool tsan_next_report(const char **at, const char *plugin, struct buf *out);
