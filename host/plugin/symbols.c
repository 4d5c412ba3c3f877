#include "plugin/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "plugin/elf-dynamic.h"

/* A table of symbols, and the table of their names. */
struct table {
    const unsigned char *symbols; /* `count` of Elf64_Sym, not aligned; NULL: none */
    uint64_t count;
    uint64_t names; /* an offset in the file, or an address */
    uint64_t names_size;
    bool by_address;
};

struct symbols {
    int fd;
    struct arena arena;
    struct findings findings;
    struct table table;
    struct elf elf;
};

/* -------------------------------------------------------------- the tables */

static bool read_section(struct elf *elf, const Elf64_Ehdr *header, uint64_t index,
                         Elf64_Shdr *ret) {
    const void *section = elf_bytes(elf, header->e_shoff + index * sizeof *ret, sizeof *ret);
    if (section != NULL) {
        memcpy(ret, section, sizeof *ret);
    }
    return section != NULL;
}

static bool find_symtab(struct elf *elf, struct table *ret) {
    Elf64_Ehdr header;
    memcpy(&header, elf_bytes(elf, 0, sizeof header), sizeof header); /* elf_init() has read it */
    if (header.e_shoff == 0 || header.e_shoff > elf->size ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
        return false;
    }
    /* A section count that is too large for the ELF header is in the first section header. */
    Elf64_Shdr symbols;
    uint64_t section_count = header.e_shnum;
    if (section_count == 0 && read_section(elf, &header, 0, &symbols)) {
        section_count = symbols.sh_size;
    }
    if (section_count == 0 || section_count > SYMBOLS_SECTIONS_MAX) {
        return false;
    }
    uint64_t at = 0;
    do {
        if (at == section_count || !read_section(elf, &header, at++, &symbols)) {
            return false;
        }
    } while (symbols.sh_type != SHT_SYMTAB);
    Elf64_Shdr names;
    if (symbols.sh_link >= section_count || !read_section(elf, &header, symbols.sh_link, &names)) {
        return false;
    }
    uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
    if (symbols.sh_entsize != sizeof(Elf64_Sym) || count == 0 || count > SYMBOLS_MAX ||
        names.sh_type != SHT_STRTAB || names.sh_offset > elf->size ||
        names.sh_size > elf->size - names.sh_offset) {
        return false;
    }
    *ret = (struct table){.symbols = elf_bytes(elf, symbols.sh_offset, count * sizeof(Elf64_Sym)),
                          .count = count,
                          .names = names.sh_offset,
                          .names_size = names.sh_size};
    return ret->symbols != NULL;
}

static bool find_dynsym(struct elf *elf, struct table *ret) {
    uint64_t count = elf_count_symbols(elf, SYMBOLS_MAX);
    if (count == 0) {
        return false;
    }
    *ret = (struct table){.symbols = elf_at(elf, elf->dynamic.symbols, count * sizeof(Elf64_Sym)),
                          .count = count,
                          .names = elf->dynamic.strings,
                          .names_size = elf->dynamic.strings_size,
                          .by_address = true};
    return ret->symbols != NULL;
}

/* ----------------------------------------------------------------- opening */

/* Opening a device or a pipe may have an effect, and the plugin determines the path in a crash
 * record. So the type of the file is checked first, with an O_PATH descriptor. */
static int open_regular(const char *path) {
    CLEANUP(closep) int place = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (place < 0 || fstat(place, &st) < 0) {
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    return open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static const char *first_error(const struct findings *findings) {
    for (uint32_t i = 0; i < findings->count; i++) {
        if (findings->items[i].severity == FINDING_ERROR) {
            return findings->items[i].cause;
        }
    }
    return "it is damaged";
}

static int failed(const struct symbols *symbols, const char *path, int code,
                  struct toolrack_error *err) {
    switch (code) {
    case TOOLRACK_E_NO_MEMORY: return error_oom(err);
    case TOOLRACK_E_IO:
        return error_set(err, code, "cannot read %s: %s", path,
                         strerror(symbols->elf.error_number));
    default:
        return error_set(err, TOOLRACK_E_REFUSED, "no symbols can be read from %s: %s", path,
                         first_error(&symbols->findings));
    }
}

int symbols_open(const char *path, struct symbols **ret, struct toolrack_error *err) {
    CLEANUP(closep) int fd = open_regular(path);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", path, strerror(errno));
    }
    CLEANUP(symbols_closep) struct symbols *symbols = malloc(sizeof *symbols);
    if (symbols == NULL) {
        return error_oom(err);
    }
    symbols->fd = fd;
    fd = -1;
    symbols->table = (struct table){0};
    arena_init(&symbols->arena, NULL, 0);
    findings_init(&symbols->findings, &symbols->arena);
    int code = elf_init(&symbols->elf, symbols->fd, &symbols->findings);
    if (code == 0) {
        code = elf_read_dynamic(&symbols->elf);
    }
    if (code < 0) {
        return failed(symbols, path, code, err);
    }
    if (!find_symtab(&symbols->elf, &symbols->table) &&
        !find_dynsym(&symbols->elf, &symbols->table)) {
        symbols->table = (struct table){0};
    }
    if (symbols->elf.failure != 0) {
        return failed(symbols, path, symbols->elf.failure, err);
    }
    *ret = STEAL(symbols);
    return 0;
}

void symbols_close(struct symbols *symbols) {
    if (symbols != NULL) {
        elf_finish(&symbols->elf);
        arena_finish(&symbols->arena);
        closep(&symbols->fd);
        free(symbols);
    }
}

/* ----------------------------------------------------------------- finding */

/* The symbol that begins later; of symbols with the same address the global one. */
static bool is_better(const Elf64_Sym *a, const Elf64_Sym *b) {
    if (a->st_value != b->st_value) {
        return a->st_value > b->st_value;
    }
    return ELF64_ST_BIND(a->st_info) == STB_GLOBAL && ELF64_ST_BIND(b->st_info) != STB_GLOBAL;
}

/* The function that begins last before the offset and contains it. A function without a size ends
 * where the next one begins. */
static bool find_symbol(const struct symbols *symbols, uint64_t offset, Elf64_Sym *ret) {
    const struct table *table = &symbols->table;
    Elf64_Sym sized = {0};
    Elf64_Sym nearest = {0};
    for (uint64_t i = 0; i < table->count; i++) {
        Elf64_Sym one;
        memcpy(&one, table->symbols + i * sizeof one, sizeof one);
        unsigned type = ELF64_ST_TYPE(one.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || one.st_shndx == SHN_UNDEF ||
            one.st_shndx == SHN_ABS || one.st_value > offset) {
            continue;
        }
        if (is_better(&one, &nearest)) {
            nearest = one;
        }
        if (offset - one.st_value < one.st_size && is_better(&one, &sized)) {
            sized = one;
        }
    }
    bool unsized = sized.st_size == 0 && nearest.st_info != 0 && nearest.st_size == 0 &&
                   offset - nearest.st_value < SYMBOLS_UNSIZED_MAX &&
                   elf_executable(&symbols->elf, offset) &&
                   elf_executable(&symbols->elf, nearest.st_value);
    *ret = unsized ? nearest : sized;
    return unsized || sized.st_size != 0;
}

const char *symbols_find(struct symbols *symbols, uint64_t offset,
                         uint64_t *ret_offset_in_function) {
    const struct table *table = &symbols->table;
    Elf64_Sym symbol;
    if (!find_symbol(symbols, offset, &symbol) || symbol.st_name == 0 ||
        symbol.st_name >= table->names_size) {
        return NULL;
    }
    uint64_t left = table->names_size - symbol.st_name;
    uint64_t room = left < SYMBOLS_NAME_MAX + 1 ? left : SYMBOLS_NAME_MAX + 1;
    uint64_t at = table->names + symbol.st_name;
    const char *name = table->by_address ? elf_at(&symbols->elf, at, room)
                                         : elf_bytes(&symbols->elf, at, room);
    if (name == NULL || name[0] == '\0' || memchr(name, '\0', room) == NULL) {
        return NULL;
    }
    *ret_offset_in_function = offset - symbol.st_value;
    return name;
}
