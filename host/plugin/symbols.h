/* symbols.h - find the function at an offset of an ELF file.
 *
 * For backtraces of a process that has ended. Neither the file nor its path is trusted: only a
 * regular file is opened, only the needed pieces are read, and every number in it is checked. Names
 * are from .symtab if the file has one, which includes static functions, else from the symbols that
 * the loader uses. C++ names are not demangled. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct symbols;

/* Most symbols, and section headers, of one file. A file with more is treated like one without. */
#define SYMBOLS_MAX          1048576u
#define SYMBOLS_SECTIONS_MAX 65536u
/* Longest name; a longer one is ignored. */
#define SYMBOLS_NAME_MAX     4096u
/* A function without a size, such as one written in assembly, has at most this size. */
#define SYMBOLS_UNSIZED_MAX  4096u

/** Open the file of a shared object or position-independent program.
 * @return 0 with the symbols, to be released by symbols_close(); TOOLRACK_E_IO; TOOLRACK_E_REFUSED:
 *         it is no such file, or is damaged; TOOLRACK_E_NO_MEMORY. [any-thread] */
int symbols_open(const char *path, struct symbols **ret, struct toolrack_error *err);
/** NULL is ignored. [any-thread] */
void symbols_close(struct symbols *symbols);
CLEANUP_DEFINE(struct symbols, symbols_close)

/** Name of the function that contains the byte at `offset` from the load address; NULL when none is
 * known. The name may contain any bytes except zero; it is valid as long as `symbols`. Reads more
 * pieces of the file as needed. [one thread at a time] */
const char *symbols_find(struct symbols *symbols, uint64_t offset,
                         uint64_t *ret_offset_in_function);
