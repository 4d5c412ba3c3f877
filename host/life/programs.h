/* programs.h - which files a worker must be able to execute to run a program. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "life/guard-way.h"

/* The program itself, and what the kernel starts in its place or beside it: the interpreters of a
 * script, of which the kernel follows so many, and the loader. */
#define PROGRAM_FILES_MAX 7u

struct program {
    struct guard_way files[PROGRAM_FILES_MAX]; /* how each is found; the program first */
    size_t count;
};

/** Find a program, by its absolute path or its name in the usual folders, and those files: each a
 * regular file that this user may execute and read, the last one or two of ELF. Strings are in the
 * arena. `ret_refusal`: why that is not so; NULL: it is.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int program_find(struct arena *arena, const char *program, struct program *ret,
                 const char **ret_refusal, struct toolrack_error *err);

/** Where programs are found by name, and all may be executed with a grant of "*".
 * NULL-terminated, static. [any-thread] */
const char *const *program_folders(void);
