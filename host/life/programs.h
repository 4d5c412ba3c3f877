/* programs.h - which files a worker must be able to execute to run a program. */
#pragma once

#include <stddef.h>

#include "base/arena.h"

/* The program itself, and what the kernel starts in its place or beside it: the interpreters of a
 * script, and the loader. */
#define PROGRAM_FILES_MAX 6u

/** Find a program, by its absolute path or its name in the usual folders, and those files: real
 * paths, in the arena. @return how many; 0: there is no such program, or no memory. [any-thread] */
size_t program_files(struct arena *arena, const char *program, const char *ret[PROGRAM_FILES_MAX]);
