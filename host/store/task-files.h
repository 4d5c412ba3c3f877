/* task-files.h - the files of large results of tasks.
 *
 * Included inside host/store/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Size of an id, hexadecimal digits with a final zero. */
#define TASK_FILES_ID_SIZE 33u

/** Write the outcome of a task to its file; durable on return.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int task_file_write(const char *state_dir, const char *id, const char *text, size_t size,
                    struct toolrack_error *err);

/** Read it.
 * @param ret  receives a text of that size and a zero, to be freed
 * @return 0; TOOLRACK_E_IO, also for a file of another size; TOOLRACK_E_NO_MEMORY. [any-thread] */
int task_file_read(const char *state_dir, const char *id, size_t size, char **ret,
                   struct toolrack_error *err);

/** Remove it, if there is one. [any-thread] */
void task_file_remove(const char *state_dir, const char *id);

/** Remove the files of tasks that are not stored (any more). A task is stored before its file is
 * made, so the names are read before `exists` is asked. [any-thread] */
void task_files_sweep(const char *state_dir, bool (*exists)(void *user, const char *id),
                      void *user);
