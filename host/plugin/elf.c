/* The bytes of the file and its segments.
 *
 *  (1) bytes[a..b) may be used only after elf_bytes() has returned it: in a large file the rest was
 *      never read.
 *  (2) Every segment is within the file; the segments are ascending and do not overlap; all ends
 *      are below ELF_EXTENT_MAX, so sums of two such numbers are safe.
 *  (3) Bytes that elf_bytes() has returned do not change, whatever happens to the file: a check
 *      stays valid for later use. */
#include "plugin/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "plugin/descriptor-data.h"

#if defined(__x86_64__)
#define MACHINE_HERE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_HERE EM_AARCH64
#else
#error "plugins of this machine cannot be read: say here and in elf-reloc.c how"
#endif

/* The loader requires segments aligned to pages at least; the smallest page size: */
#define PAGE_SIZE_MIN 4096u

/* ------------------------------------------------------------- the bytes */

static int fail(struct elf *elf, int code) {
    if (elf->failure == 0) {
        elf->failure = code;
        elf->error_number = errno;
    }
    return code;
}

static int truncated(struct elf *elf, const char *what, uint64_t end) {
    findings_add(elf->findings, FINDING_ELF_TRUNCATED, NULL,
                 "the file is cut off: it has %llu bytes, %s ends at byte %llu",
                 (unsigned long long)elf->size, what, (unsigned long long)end);
    return TOOLRACK_E_REFUSED;
}

static bool read_range(struct elf *elf, uint64_t offset, uint64_t length) {
    while (length > 0) {
        ssize_t got = pread(elf->fd, elf->bytes + offset, length, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            (void)fail(elf, TOOLRACK_E_IO);
            return false;
        }
        if (got == 0) {
            if (!elf->shortened) {
                elf->shortened = true;
                findings_add(elf->findings, FINDING_ELF_TRUNCATED, NULL,
                             "the file was cut off at byte %llu while it was read",
                             (unsigned long long)offset);
            }
            return false;
        }
        offset += (uint64_t)got;
        length -= (uint64_t)got;
    }
    return true;
}

const void *elf_bytes(struct elf *elf, uint64_t offset, uint64_t length) {
    if (offset > elf->size || length > elf->size - offset) {
        return NULL;
    }
    if (elf->loaded == NULL || length == 0) {
        return elf->bytes + offset;
    }
    uint64_t last = (offset + length - 1) / ELF_CHUNK_SIZE;
    for (uint64_t chunk = offset / ELF_CHUNK_SIZE; chunk <= last; chunk++) {
        uint64_t bit = UINT64_C(1) << (chunk % 64);
        if ((elf->loaded[chunk / 64] & bit) == 0) {
            uint64_t start = chunk * ELF_CHUNK_SIZE;
            uint64_t left = elf->size - start;
            if (!read_range(elf, start, left < ELF_CHUNK_SIZE ? left : ELF_CHUNK_SIZE)) {
                return NULL;
            }
            elf->loaded[chunk / 64] |= bit;
        }
    }
    return elf->bytes + offset;
}

/* Check that it is a regular file and not too large; allocate its bytes, and read a small file. */
static int open_file(struct elf *elf) {
    struct stat status;
    if (fstat(elf->fd, &status) < 0) {
        return fail(elf, TOOLRACK_E_IO);
    }
    if (!S_ISREG(status.st_mode)) {
        findings_add(elf->findings, FINDING_FILE_NOT_REGULAR, NULL, "it is %s, not a file",
                     S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
        return TOOLRACK_E_REFUSED;
    }
    if (status.st_size == 0) {
        findings_add(elf->findings, FINDING_FILE_EMPTY, NULL, "the file is empty");
        return TOOLRACK_E_REFUSED;
    }
    elf->size = (uint64_t)status.st_size;
    if (elf->size > DESCRIPTOR_FILE_SIZE_MAX) {
        findings_add(elf->findings, FINDING_FILE_TOO_LARGE, NULL,
                     "the file has %llu bytes, the limit is %u", (unsigned long long)elf->size,
                     DESCRIPTOR_FILE_SIZE_MAX);
        return TOOLRACK_E_REFUSED;
    }
    uint64_t holes = file_holes(elf->fd, &status);
    if (holes > DESCRIPTOR_HOLES_MAX) {
        findings_add(elf->findings, FINDING_FILE_SPARSE, NULL,
                     "%llu of the file's %llu bytes are holes, which nobody wrote; the limit is %u",
                     (unsigned long long)holes, (unsigned long long)elf->size,
                     DESCRIPTOR_HOLES_MAX);
        return TOOLRACK_E_REFUSED;
    }
    elf->bytes = elf->size <= ELF_SMALL_MAX ? elf->bytes_small : malloc(elf->size);
    if (elf->bytes == NULL) {
        return fail(elf, TOOLRACK_E_NO_MEMORY);
    }
    if (elf->size <= ELF_WHOLE_MAX) {
        return read_range(elf, 0, elf->size) ? 0 : TOOLRACK_E_REFUSED;
    }
    /* The system provides memory of this size page by page, when chunks are read into it. */
    uint64_t chunks = (elf->size + ELF_CHUNK_SIZE - 1) / ELF_CHUNK_SIZE;
    elf->loaded = calloc((chunks + 63) / 64, sizeof *elf->loaded);
    return elf->loaded == NULL ? fail(elf, TOOLRACK_E_NO_MEMORY) : 0;
}

/* ----------------------------------------------------------- the headers */

static int bad_header(struct elf *elf, const char *what, uint64_t value) {
    findings_add(elf->findings, FINDING_ELF_HEADER, NULL, "the ELF header is wrong: %s is %llu",
                 what, (unsigned long long)value);
    return TOOLRACK_E_REFUSED;
}

/* NULL for other machines. */
static const char *machine_name(uint16_t machine) {
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "AArch64";
    case EM_386: return "x86";
    case EM_ARM: return "ARM";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "POWER";
    case EM_S390: return "S/390";
    default: return NULL;
    }
}

const char *elf_machine_name(const struct elf *elf) {
    return machine_name(elf->machine);
}

bool elf_is_foreign(const struct elf *elf) {
    return elf->machine != MACHINE_HERE;
}

/* Check the kind of file by its first sixteen bytes. */
static int check_ident(struct elf *elf) {
    size_t length = elf->size < EI_NIDENT ? (size_t)elf->size : EI_NIDENT;
    const unsigned char *ident = elf_bytes(elf, 0, length);
    if (ident == NULL) {
        return TOOLRACK_E_REFUSED;
    }
    if (memcmp(ident, ELFMAG, length < SELFMAG ? length : SELFMAG) != 0) {
        /* Its bytes are not shown: the name may be a link to a file with secrets. */
        bool text = true;
        for (size_t i = 0; i < length; i++) {
            text = text && (ident[i] >= 0x20 || (ident[i] >= '\t' && ident[i] <= '\r'));
        }
        findings_add(elf->findings, FINDING_ELF_NOT_ELF, NULL, "%s",
                     text ? "it is a text file, not a shared object"
                          : "it is not a shared object: the ELF magic number at its start is "
                            "missing");
        return TOOLRACK_E_REFUSED;
    }
    if (elf->size < sizeof(Elf64_Ehdr)) {
        return truncated(elf, "the ELF header", sizeof(Elf64_Ehdr));
    }
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) {
        findings_add(elf->findings, FINDING_ELF_CLASS, NULL,
                     "the file is for a %s %s-endian machine, not a 64-bit little-endian one",
                     ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "64-bit",
                     ident[EI_DATA] == ELFDATA2MSB ? "big" : "little");
        return TOOLRACK_E_REFUSED;
    }
    return ident[EI_VERSION] == EV_CURRENT ? 0 : bad_header(elf, "its version", ident[EI_VERSION]);
}

/* --------------------------------------------------------- the segments */

static int bad_segment(struct elf *elf, uint32_t index, const char *what) {
    findings_add(elf->findings, FINDING_ELF_SEGMENT, NULL, "segment %u of the file %s", index,
                 what);
    return TOOLRACK_E_REFUSED;
}

static int add_segment(struct elf *elf, const Elf64_Phdr *header) {
    uint32_t index = elf->segment_count;
    if (header->p_filesz > header->p_memsz) {
        return bad_segment(elf, index, "has more bytes than memory");
    }
    if (header->p_vaddr > ELF_EXTENT_MAX || header->p_memsz > ELF_EXTENT_MAX - header->p_vaddr) {
        return bad_segment(elf, index, "reaches beyond any sensible address");
    }
    if (header->p_offset > elf->size || header->p_filesz > elf->size - header->p_offset) {
        return truncated(elf, "a segment of it", header->p_offset + header->p_filesz);
    }
    uint64_t align = header->p_align;
    if (align < PAGE_SIZE_MIN || (align & (align - 1)) != 0 ||
        ((header->p_vaddr - header->p_offset) & (align - 1)) != 0) {
        return bad_segment(elf, index, "is not aligned as the loader demands");
    }
    if (index > 0) {
        const struct elf_segment *before = &elf->segments[index - 1];
        if (header->p_vaddr < before->address + before->memory_size) {
            return bad_segment(elf, index, "begins before the end of the one before it");
        }
    }
    elf->segments[elf->segment_count++] =
            (struct elf_segment){.address = header->p_vaddr,
                                 .memory_size = header->p_memsz,
                                 .file_size = header->p_filesz,
                                 .offset = header->p_offset,
                                 .executable = (header->p_flags & PF_X) != 0};
    return 0;
}

static int read_segments(struct elf *elf, const Elf64_Ehdr *header) {
    if (header->e_phentsize != sizeof(Elf64_Phdr)) {
        return bad_header(elf, "the size of a program header", header->e_phentsize);
    }
    if (header->e_phnum == 0 || header->e_phnum > ELF_HEADERS_MAX) {
        return bad_header(elf, "the number of program headers", header->e_phnum);
    }
    uint64_t size = header->e_phnum * sizeof(Elf64_Phdr);
    if (header->e_phoff > elf->size || size > elf->size - header->e_phoff) {
        return truncated(elf, "its table of program headers", header->e_phoff + size);
    }
    const unsigned char *table = elf_bytes(elf, header->e_phoff, size);
    if (table == NULL) {
        return TOOLRACK_E_REFUSED;
    }
    bool stack = false;
    bool stack_executable = false;
    Elf64_Phdr dynamic = {0};
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        int code = 0;
        switch (one.p_type) {
        case PT_LOAD: code = add_segment(elf, &one); break;
        case PT_GNU_STACK:
            stack = true;
            stack_executable = stack_executable || (one.p_flags & PF_X) != 0;
            break;
        case PT_TLS: elf->thread_locals = true; break;
        case PT_DYNAMIC: dynamic = one; break;
        default: break;
        }
        if (code < 0) {
            return code;
        }
    }
    if (elf->segment_count == 0) {
        findings_add(elf->findings, FINDING_ELF_HEADER, NULL, "the file has nothing to load");
        return TOOLRACK_E_REFUSED;
    }
    if (stack_executable) {
        findings_add(elf->findings, FINDING_ELF_EXEC_STACK, NULL,
                     "the file demands an executable stack");
    } else if (!stack) {
        findings_add(elf->findings, FINDING_ELF_STACK_UNSAID, NULL,
                     "the file does not say that its stack need not be executable");
    }
    if (dynamic.p_type != PT_DYNAMIC) {
        findings_add(elf->findings, FINDING_ELF_DYNAMIC, NULL, "the file has no dynamic section");
        return TOOLRACK_E_REFUSED;
    }
    uint64_t count = dynamic.p_filesz / sizeof(Elf64_Dyn);
    if (count == 0 || count > ELF_DYNAMIC_MAX ||
        !elf_inside(elf, dynamic.p_vaddr, count * sizeof(Elf64_Dyn))) {
        findings_add(elf->findings, FINDING_ELF_DYNAMIC, NULL,
                     "the dynamic section is not within the file's data, or does not have 1 to %u "
                     "entries",
                     ELF_DYNAMIC_MAX);
        return TOOLRACK_E_REFUSED;
    }
    elf->dynamic.address = dynamic.p_vaddr;
    elf->dynamic.count = count;
    return 0;
}

/* False: for another machine than the two that can be read. For those reading goes on, to report
 * all errors at once. */
static bool check_machine(struct elf *elf) {
    bool is_readable = elf->machine == EM_X86_64 || elf->machine == EM_AARCH64;
    if (elf_is_foreign(elf) && !(is_readable && elf->takes_foreign)) {
        const char *name = machine_name(elf->machine);
        findings_add(elf->findings, FINDING_ELF_MACHINE, NULL,
                     "the plugin is built for %s (ELF machine %u), this host runs on %s",
                     name != NULL ? name : "another machine", elf->machine,
                     machine_name(MACHINE_HERE));
    }
    return is_readable;
}

static int read_headers(struct elf *elf) {
    int code = check_ident(elf);
    const void *start = code < 0 ? NULL : elf_bytes(elf, 0, sizeof(Elf64_Ehdr));
    if (start == NULL) {
        return TOOLRACK_E_REFUSED;
    }
    Elf64_Ehdr header;
    memcpy(&header, start, sizeof header);
    elf->machine = header.e_machine;
    if (!check_machine(elf)) {
        return TOOLRACK_E_REFUSED;
    }
    if (header.e_type != ET_DYN) {
        findings_add(elf->findings, FINDING_ELF_TYPE, NULL, "the file is %s, not a shared object",
                     header.e_type == ET_REL    ? "an object file that was not linked"
                     : header.e_type == ET_EXEC ? "a program"
                     : header.e_type == ET_CORE ? "a core dump"
                                                : "an ELF file of unknown type");
        return TOOLRACK_E_REFUSED;
    }
    if (header.e_version != EV_CURRENT) {
        return bad_header(elf, "its version", header.e_version);
    }
    code = read_segments(elf, &header);
    if (code < 0) {
        return code;
    }
    /* The section headers are not used, but are at the end of most files and so show whether a copy
     * is complete. Files without section headers state that. */
    uint64_t size = (uint64_t)header.e_shnum * header.e_shentsize;
    if (header.e_shoff != 0 && size != 0 &&
        (header.e_shoff > elf->size || size > elf->size - header.e_shoff)) {
        return truncated(elf, "its table of sections", header.e_shoff + size);
    }
    return 0;
}

static int init(struct elf *elf, int fd, bool takes_foreign, struct findings *findings) {
    memset(elf, 0, offsetof(struct elf, segments));
    elf->fd = fd;
    elf->findings = findings;
    elf->takes_foreign = takes_foreign;
    int code = open_file(elf);
    if (code == 0) {
        code = read_headers(elf);
    }
    return elf->failure != 0 ? elf->failure : code;
}

int elf_init(struct elf *elf, int fd, struct findings *findings) {
    return init(elf, fd, false, findings);
}

int elf_init_any(struct elf *elf, int fd, struct findings *findings) {
    return init(elf, fd, true, findings);
}

void elf_finish(struct elf *elf) {
    free(elf->loaded);
    if (elf->order != elf->order_small) {
        free(elf->order);
    }
    if (elf->packed != elf->packed_small) {
        free(elf->packed);
    }
    if (elf->bytes != elf->bytes_small) {
        free(elf->bytes);
    }
    elf->loaded = NULL;
    elf->order = NULL;
    elf->packed = NULL;
    elf->bytes = NULL;
}

/* -------------------------------------------------------- by address */

static const struct elf_segment *segment_of(const struct elf *elf, uint64_t address) {
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];
        if (address >= segment->address && address - segment->address < segment->memory_size) {
            return segment;
        }
    }
    return NULL;
}

/* How many bytes of the file begin at an address in its segment; the first is at ret_offset. */
static uint64_t span_at(const struct elf *elf, uint64_t address, uint64_t *ret_offset) {
    const struct elf_segment *segment = segment_of(elf, address);
    if (segment == NULL || address - segment->address >= segment->file_size) {
        return 0;
    }
    *ret_offset = segment->offset + (address - segment->address);
    return segment->file_size - (address - segment->address);
}

bool elf_inside(const struct elf *elf, uint64_t address, uint64_t length) {
    uint64_t offset;
    return length <= span_at(elf, address, &offset);
}

bool elf_executable(const struct elf *elf, uint64_t address) {
    const struct elf_segment *segment = segment_of(elf, address);
    return segment != NULL && segment->executable;
}

const void *elf_at(struct elf *elf, uint64_t address, uint64_t length) {
    uint64_t offset = 0;
    return span_at(elf, address, &offset) < length ? NULL : elf_bytes(elf, offset, length);
}

enum elf_status elf_text(struct elf *elf, uint64_t address, size_t length_max, const char **ret,
                         size_t *ret_length) {
    uint64_t offset;
    uint64_t span = span_at(elf, address, &offset);
    if (span == 0) {
        return ELF_OUTSIDE;
    }
    uint64_t room = span <= length_max ? span : (uint64_t)length_max + 1;
    /* Piece by piece: a short string of a large file should read only one chunk. */
    for (uint64_t done = 0; done < room;) {
        uint64_t piece = ELF_CHUNK_SIZE - (offset + done) % ELF_CHUNK_SIZE;
        piece = piece < room - done ? piece : room - done;
        const char *start = elf_bytes(elf, offset + done, piece);
        if (start == NULL) {
            return ELF_FAILED;
        }
        const char *end = memchr(start, '\0', piece);
        if (end != NULL) {
            *ret = start - done;
            *ret_length = (size_t)(done + (uint64_t)(end - start));
            return ELF_OK;
        }
        done += piece;
    }
    return ELF_NO_END;
}
