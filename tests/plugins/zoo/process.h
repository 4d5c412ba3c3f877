/* process.h - what the tests of the zoo ask about processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Entries of a folder, the two dots among them; 0 when it cannot be read. */
size_t process_count_entries(const char *folder);

/** Call `each` with id and name of every child of this process that is alive or not waited for.
 * Returns how many there are. `each` may be NULL. */
size_t process_children(void (*each)(void *user, pid_t pid, const char *name), void *user);

/** A TCP socket that listens on the loopback address; its accept() does not block. -1: errno says
 * why. */
int process_listen(uint16_t *ret_port);
