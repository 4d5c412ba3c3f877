/* elf-writer.h - writes a descriptor as a small shared object, without compiler or linker.
 *
 * Gives the tests files of any machine and with any fault: a descriptor is
 * written as it stands, right or wrong, and its place in the bytes is known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/plugin.h"

#define ELF_WRITER_SIZE_MAX (512u * 1024u)
#define ELF_WRITER_MANY     8192u

struct elf_writer {
    /* To be chosen before. */
    uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
    bool sysv_hash;   /* DT_HASH instead of DT_GNU_HASH */
    bool packed;      /* DT_RELR instead of DT_RELA */
    const char *libc; /* version of a symbol of libc that it needs, such as "GLIBC_2.38"; or NULL */

    /* The file, and where in it things are (addresses are offsets). */
    unsigned char *bytes;
    size_t length;
    uint64_t plugin, symbols, hash, strings, strings_size, versions, relocations, dynamic;
    size_t relocation_count, dynamic_count;

    /* What was written already, and which words are pointers. */
    const void *seen[ELF_WRITER_MANY];
    uint64_t seen_at[ELF_WRITER_MANY];
    size_t seen_count;
    uint64_t pointers[ELF_WRITER_MANY];
    size_t pointer_count;
};

/** Write; the caller frees `bytes`. */
void elf_writer_run(struct elf_writer *writer, const struct tr_plugin *plugin);

/** A memfd with these bytes. */
int elf_writer_fd(const void *bytes, size_t length);
