#include "plugin/source.h"

#include <string.h>

static enum elf_status record_from_elf(void *self, uint64_t address, void *to, size_t size,
                                       struct elf_marks *ret) {
    return elf_record(self, address, to, size, ret);
}

static enum elf_status text_from_elf(void *self, uint64_t address, size_t length_max,
                                     const char **ret, size_t *ret_length) {
    return elf_text(self, address, length_max, ret, ret_length);
}

static bool executable_in_elf(void *self, uint64_t address) {
    return elf_executable(self, address);
}

static const struct source_ops elf_ops = {
        .record = record_from_elf, .text = text_from_elf, .executable = executable_in_elf};

struct source source_elf(struct elf *elf) {
    return (struct source){.ops = &elf_ops, .self = elf};
}

/* In memory any word may be a pointer; the caller knows which words are. */
static enum elf_status record_from_memory(void *self, uint64_t address, void *to, size_t size,
                                          struct elf_marks *ret) {
    (void)self;
    memcpy(to, (const void *)(uintptr_t)address, size);
    *ret = (struct elf_marks){.pointers = UINT64_MAX};
    return ELF_OK;
}

static enum elf_status text_from_memory(void *self, uint64_t address, size_t length_max,
                                        const char **ret, size_t *ret_length) {
    (void)self;
    const char *text = (const char *)(uintptr_t)address;
    size_t length = strnlen(text, length_max + 1);
    if (length > length_max) {
        return ELF_NO_END;
    }
    *ret = text;
    *ret_length = length;
    return ELF_OK;
}

static bool executable_in_memory(void *self, uint64_t address) {
    (void)self;
    (void)address;
    return true;
}

static const struct source_ops memory_ops = {.record = record_from_memory,
                                             .text = text_from_memory,
                                             .executable = executable_in_memory,
                                             .live = true};

struct source source_memory(void) {
    return (struct source){.ops = &memory_ops};
}
