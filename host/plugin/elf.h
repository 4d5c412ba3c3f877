/* elf.h - the data of a shared object as the loader would see it, read without the loader.
 *
 * A small file is read whole, a large file in the pieces that are needed; a file is never mapped,
 * so shortening it meanwhile does no harm. Addresses are those of the file (load base 0). Every
 * number from the file is checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/finding.h"

/* Files up to this size, like most plugins, are read without allocation. */
#define ELF_SMALL_MAX  (16u * 1024u)
/* Files up to this size are read whole. */
#define ELF_WHOLE_MAX  (64u * 1024u)
/* Larger files are read in chunks of this size. */
#define ELF_CHUNK_SIZE (64u * 1024u)

#define ELF_HEADERS_MAX     64u                 /* program headers */
#define ELF_DYNAMIC_MAX     1024u               /* entries of the dynamic section */
#define ELF_RELOCATIONS_MAX 4194304u            /* entries of either relocation table */
#define ELF_EXTENT_MAX      (UINT64_C(1) << 40) /* all addresses of a file are below this */

/* Up to this number, relocations are sorted without allocation. */
#define ELF_ORDER_SMALL 256u

/* One PT_LOAD: `file_size` bytes at `offset` become `memory_size` at `address`. */
struct elf_segment {
    uint64_t address;
    uint64_t memory_size;
    uint64_t file_size;
    uint64_t offset;
    bool executable;
};

/* A run of packed relative relocations: the first word, then bitmaps of the words after it. */
struct elf_packed {
    uint64_t address; /* of the first word, which is relocated */
    uint64_t end;     /* first address after the words of the bitmaps */
    uint64_t bitmaps; /* address of the first bitmap in the table */
};

/* The dynamic section, after elf_read_dynamic(); addresses and sizes in bytes. */
struct elf_dynamic {
    uint64_t address;
    uint64_t count; /* entries before DT_NULL */
    uint64_t strings, strings_size;
    uint64_t symbols;
    uint64_t gnu_hash, hash;
    uint64_t rela, rela_size;
    uint64_t relr, relr_size;
    uint64_t flags, flags_1;
    uint32_t needed_count;
};

struct elf {
    struct findings *findings; /* borrowed: errors are added to it */
    int fd;                    /* borrowed */
    uint64_t size;
    unsigned char *bytes; /* `size` bytes; only the chunks in `loaded` were read */
    uint64_t *loaded;     /* a bit for each chunk; NULL: all were read */
    int failure;          /* of reading: 0, TOOLRACK_E_IO or TOOLRACK_E_NO_MEMORY */
    int error_number;     /* errno of TOOLRACK_E_IO */
    bool shortened;       /* the file was shortened while it was read */
    uint64_t steps;       /* symbols looked at by searches so far */
    uint16_t machine;
    bool takes_foreign; /* a file for another machine is not refused for that */
    bool thread_locals; /* it has a segment of thread-local data */
    char unique_name[FINDING_SHOWN_MAX +
                     1]; /* first GNU_UNIQUE symbol, after elf_remark_exports() */
    struct elf_dynamic dynamic;
    uint32_t segment_count;
    uint32_t *order; /* indexes of the table at `rela`, by offset; NULL: not made yet */
    uint32_t order_count;
    uint32_t packed_count;
    struct elf_packed *packed; /* ascending, not overlapping */

    /* Not cleared: only the items that the counts above include were written. */
    struct elf_segment segments[ELF_HEADERS_MAX]; /* ascending, not overlapping */
    uint32_t order_small[ELF_ORDER_SMALL];
    struct elf_packed packed_small[4];
    unsigned char bytes_small[ELF_SMALL_MAX];
};

enum elf_status {
    ELF_OK,
    ELF_OUTSIDE,    /* not entirely in the data of the file */
    ELF_RELOCATION, /* the loader would write a value there that is no pointer */
    ELF_NO_END,     /* a string longer than allowed, or not terminated */
    ELF_FAILED      /* see `failure` and `shortened` */
};

/** Read and check the headers and the segments. A broken rule is added as a finding, with
 * TOOLRACK_E_REFUSED. elf_finish() must be called in any case.
 * @param fd  open for reading; borrowed until elf_finish(); its position is not used
 * @return 0, TOOLRACK_E_REFUSED, TOOLRACK_E_IO (see error_number), TOOLRACK_E_NO_MEMORY. */
int elf_init(struct elf *elf, int fd, struct findings *findings);
/** The same, but a file for the other machine that can be read here (x86-64, AArch64) is read like
 * one for this machine: for `check`, which loads nothing. */
int elf_init_any(struct elf *elf, int fd, struct findings *findings);
void elf_finish(struct elf *elf);

/** The machine that the file is for, such as "AArch64"; NULL: one without a name here. Static. */
const char *elf_machine_name(const struct elf *elf);
/** Whether that is another machine than this one. */
bool elf_is_foreign(const struct elf *elf);

/** `length` bytes of the file; NULL when some are outside the file or could not be read. Valid
 * until elf_finish(); not aligned. */
const void *elf_bytes(struct elf *elf, uint64_t offset, uint64_t length);

/** Whether these bytes are in the data of one segment; reads nothing. */
bool elf_inside(const struct elf *elf, uint64_t address, uint64_t length);
/** Whether a function can begin at an address. */
bool elf_executable(const struct elf *elf, uint64_t address);
/** The bytes at an address, without relocations; NULL as above. */
const void *elf_at(struct elf *elf, uint64_t address, uint64_t length);

/** A zero-terminated string of at most `length_max` bytes, not copied. */
enum elf_status elf_text(struct elf *elf, uint64_t address, size_t length_max, const char **ret,
                         size_t *ret_length);
