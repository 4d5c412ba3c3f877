/* symbols.h - which function is at an offset of an ELF file.
 *
 * For backtraces of a process that is no more. The file is foreign bytes, and its
 * path may be as well: only a regular file is ever opened, of it only the pieces
 * that are needed are read, and no number in it is trusted. Names come from .symtab
 * where the file has one, so that static functions have theirs, else from the
 * symbols that the loader uses. C++ names stay as they are in the file. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct symbols;

/* Most symbols, and section headers, of one file. With more it counts as one without. */
#define SYMBOLS_MAX          1048576u
#define SYMBOLS_SECTIONS_MAX 65536u
/* Longest name; a longer one is none. */
#define SYMBOLS_NAME_MAX     4096u
/* A function that does not state its size, as one written in assembly, ends here at the latest. */
#define SYMBOLS_UNSIZED_MAX  4096u

/** Open the file of a shared object or position-independent program.
 * @return 0 with one to be closed; TOOLRACK_E_IO; TOOLRACK_E_REFUSED: it is no such file, or is
 *         damaged; TOOLRACK_E_NO_MEMORY. [any-thread] */
int symbols_open(const char *path, struct symbols **ret, struct toolrack_error *err);
/** NULL is ignored. [any-thread] */
void symbols_close(struct symbols *symbols);
CLEANUP_DEFINE(struct symbols, symbols_close)

/** Name of the function that has the byte at `offset` from the load address; NULL when none is
 * known to. Any bytes but zero; lives as long as `symbols`. Reads further pieces of the file as
 * needed. [one thread at a time] */
const char *symbols_find(struct symbols *symbols, uint64_t offset,
                         uint64_t *ret_offset_in_function);
