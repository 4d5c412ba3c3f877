/* elf-dynamic.h - the dynamic section of a shared object: where its tables are, and its symbols.
 *
 * Only what the loader itself uses is looked at, so a file without section headers reads like any
 * other. */
#pragma once

#include "plugin/elf.h"

#define ELF_NEEDED_MAX  256u  /* libraries listed */
#define ELF_NAME_MAX    4096u /* longest library name */
#define ELF_EXPORTS_MAX 1024u /* symbols looked at for the remarks on them */

/** A symbol that this file defines. */
struct elf_symbol {
    uint64_t address;
    uint64_t size; /* 0: not stated */
};

/** Read the dynamic section, after elf_init(). What breaks a rule is found.
 * @return 0, TOOLRACK_E_REFUSED, TOOLRACK_E_IO (see error_number), TOOLRACK_E_NO_MEMORY. */
int elf_read_dynamic(struct elf *elf);

/** Find a symbol that the file exports, by its hash table, as the loader does. Findings and codes
 * as above when there is none or it cannot be data. */
int elf_find_symbol(struct elf *elf, const char *name, struct elf_symbol *ret);

/** How many symbols the loader's table has, as far as its hash table tells; 0 when there is none,
 * it cannot be read, or there are more than `count_max`. */
uint32_t elf_count_symbols(struct elf *elf, uint32_t count_max);

/** Remark on what else the file exports. */
void elf_remark_exports(struct elf *elf, const char *expected);

/** Name of a library that the file needs, `index` below dynamic.needed_count; NULL when its string
 * is nowhere. Lives until elf_finish(). */
const char *elf_needed(struct elf *elf, uint32_t index);
