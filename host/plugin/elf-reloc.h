/* elf-reloc.h - records of a shared object as they are after the loader has relocated them. */
#pragma once

#include "plugin/elf.h"

/* Which words of a record the loader sets: bit n is the word at offset 8 n. */
struct elf_marks {
    uint64_t pointers;  /* set to an address of this file */
    uint64_t elsewhere; /* set to an address of another file, or to one known only at run time */
};
#define ELF_RECORD_MAX 512u

/** Sort the relocations, after elf_read_dynamic() and before the first elf_record().
 * @return 0, TOOLRACK_E_REFUSED with findings, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. */
int elf_order_relocations(struct elf *elf);

/** Copy `size` bytes, relocated as by the loader. `size` is a multiple of 8 and at most
 * ELF_RECORD_MAX. */
enum elf_status elf_record(struct elf *elf, uint64_t address, void *to, size_t size,
                           struct elf_marks *ret);
