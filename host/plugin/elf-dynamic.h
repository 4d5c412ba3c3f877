/* elf-dynamic.h - the dynamic section of a shared object: where its tables are, and its symbols.
 *
 * Only data that the loader uses is read, so a file without section headers is read like any other.
 */
#pragma once

#include "plugin/elf.h"

#define ELF_NEEDED_MAX  256u  /* libraries listed */
#define ELF_NAME_MAX    4096u /* longest library name */
#define ELF_EXPORTS_MAX 1024u /* most symbols examined for remarks */

/** A symbol that this file defines. */
struct elf_symbol {
    uint64_t address;
    uint64_t size; /* 0: not stated */
};

/** Read the dynamic section, after elf_init(). Adds findings for broken rules.
 * @return 0, TOOLRACK_E_REFUSED, TOOLRACK_E_IO (see error_number), TOOLRACK_E_NO_MEMORY. */
int elf_read_dynamic(struct elf *elf);

/** Find a symbol that the file exports, by its hash table, as the loader does. Findings and codes
 * as above when there is none or it cannot be data. */
int elf_find_symbol(struct elf *elf, const char *name, struct elf_symbol *ret);

/** The number of symbols of the loader's table, from its hash table; 0 when there is no hash table,
 * it cannot be read, or there are more than `count_max` symbols. */
uint32_t elf_count_symbols(struct elf *elf, uint32_t count_max);

/** Add remarks about other exported symbols. */
void elf_remark_exports(struct elf *elf, const char *expected);

/** Whether the file defines a symbol for others: found by its hash table, as by the loader. */
bool elf_defines(struct elf *elf, const char *name);
/** The name of a symbol of the loader's table, `index` below elf_count_symbols(), if the file uses
 * it without defining it, and cannot do without (it is not weak); else NULL. Valid until
 * elf_finish(). */
const char *elf_undefined(struct elf *elf, uint32_t index);

/** The string of an entry of the dynamic section: of those with this tag, the one with that index.
 * NULL when there is none or it cannot be read. Valid until elf_finish(). */
const char *elf_entry(struct elf *elf, int64_t tag, uint32_t index);
/** The number in the first entry with a tag; 0: there is none. */
uint64_t elf_number(struct elf *elf, int64_t tag);
/** How many entries with a tag the dynamic section has. */
uint32_t elf_count_entries(struct elf *elf, int64_t tag);
/** Name of a library that the file needs, `index` below dynamic.needed_count; NULL when its string
 * cannot be read. Valid until elf_finish(). */
const char *elf_needed(struct elf *elf, uint32_t index);
/** Where the loader is to search for them first: folders with colons between them; NULL: nowhere.
 * Valid until elf_finish(). */
const char *elf_run_path(struct elf *elf);
