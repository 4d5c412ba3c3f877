/* imports.h - what a plugin file uses of other libraries, and what that says about it: sockets
 * without a declared capability, functions that end the process, a C library that is too new.
 *
 * For `check` only. The names of functions are all that is known: whether they are called, and
 * with what, is not; so most of it is a note. What is left to libraries (libcurl connects itself)
 * is not seen. */
#pragma once

#include "plugin/descriptor.h"

struct elf;

/** Add findings about a file, foreign bytes, which may be for another machine. What cannot be read
 * has none.
 * @param desc  what the plugin states about itself; its `plugin` is not NULL
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int imports_check(int fd, const struct descriptor *desc, struct findings *findings);

/** The highest version of glibc that a file whose dynamic section was read needs, such as 2 and
 * 34. False: none. */
bool imports_glibc(struct elf *elf, unsigned *ret_major, unsigned *ret_minor);
