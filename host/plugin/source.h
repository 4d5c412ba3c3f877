/* source.h - where a descriptor is read from: the file of a plugin, or this process's memory. */
#pragma once

#include "plugin/elf-reloc.h"

struct source_ops {
    /* A copy of `size` bytes, a multiple of 8 up to ELF_RECORD_MAX, pointers being addresses for
     * the functions below. `ret` says which words are such. */
    enum elf_status (*record)(void *self, uint64_t address, void *to, size_t size,
                              struct elf_marks *ret);
    /* A text where it lies, valid as long as the source. */
    enum elf_status (*text)(void *self, uint64_t address, size_t length_max, const char **ret,
                            size_t *ret_length);
    /* Whether a function can be there. */
    bool (*executable)(void *self, uint64_t address);
    /* Addresses are pointers of this process: functions can be kept. */
    bool live;
};

struct source {
    const struct source_ops *ops;
    void *self; /* borrowed */
};

struct source source_elf(struct elf *elf);
struct source source_memory(void);
