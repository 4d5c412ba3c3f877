/* source.h - where a descriptor is read from: the file of a plugin, or this process's memory. */
#pragma once

#include "plugin/elf-reloc.h"

struct source_ops {
    /* Copy `size` bytes, a multiple of 8 up to ELF_RECORD_MAX. Pointers in it are addresses for the
     * functions below; `ret` marks these words. */
    enum elf_status (*record)(void *self, uint64_t address, void *to, size_t size,
                              struct elf_marks *ret);
    /* A string in place, valid as long as the source. */
    enum elf_status (*text)(void *self, uint64_t address, size_t length_max, const char **ret,
                            size_t *ret_length);
    /* Whether a function can be at an address. */
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
