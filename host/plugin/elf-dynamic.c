#include "plugin/elf-dynamic.h"

#include <elf.h>
#include <string.h>

static int bad_dynamic(struct elf *elf, const char *what) {
    findings_add(elf->findings, FINDING_ELF_DYNAMIC, NULL, "the dynamic section is wrong: %s",
                 what);
    return TOOLRACK_E_REFUSED;
}

/* The code of a failed read: caused by the file, or by the machine (memory, I/O). */
static int unreadable(const struct elf *elf) {
    return elf->failure != 0 ? elf->failure : TOOLRACK_E_REFUSED;
}

/* ------------------------------------------------------------ entries */

/* Entries that are not addresses and are needed only here. */
struct odd_entries {
    uint64_t symbol_size, rela_entry, relr_entry;
    bool rel;
    bool text_relocations;
};

static void take_entry(struct elf_dynamic *dynamic, struct odd_entries *odd, const Elf64_Dyn *one) {
    uint64_t value = one->d_un.d_val;
    switch (one->d_tag) {
    case DT_NEEDED: dynamic->needed_count += dynamic->needed_count < ELF_NEEDED_MAX; break;
    case DT_STRTAB: dynamic->strings = value; break;
    case DT_STRSZ: dynamic->strings_size = value; break;
    case DT_SYMTAB: dynamic->symbols = value; break;
    case DT_SYMENT: odd->symbol_size = value; break;
    case DT_GNU_HASH: dynamic->gnu_hash = value; break;
    case DT_HASH: dynamic->hash = value; break;
    case DT_RELA: dynamic->rela = value; break;
    case DT_RELASZ: dynamic->rela_size = value; break;
    case DT_RELAENT: odd->rela_entry = value; break;
    case DT_RELR: dynamic->relr = value; break;
    case DT_RELRSZ: dynamic->relr_size = value; break;
    case DT_RELRENT: odd->relr_entry = value; break;
    case DT_REL: odd->rel = true; break;
    case DT_TEXTREL: odd->text_relocations = true; break;
    case DT_FLAGS: dynamic->flags = value; break;
    case DT_FLAGS_1: dynamic->flags_1 = value; break;
    default: break;
    }
}

/* Check what the loader and elf_record() rely on; then add remarks on flags of the file. */
static int check_entries(struct elf *elf, const struct odd_entries *odd) {
    const struct elf_dynamic *dynamic = &elf->dynamic;
    if (dynamic->strings == 0 || !elf_inside(elf, dynamic->strings, dynamic->strings_size)) {
        return bad_dynamic(elf, "its names (DT_STRTAB) are not within the file's data");
    }
    if (dynamic->symbols == 0 || !elf_inside(elf, dynamic->symbols, sizeof(Elf64_Sym))) {
        return bad_dynamic(elf, "its symbols (DT_SYMTAB) are not within the file's data");
    }
    if (odd->symbol_size != 0 && odd->symbol_size != sizeof(Elf64_Sym)) {
        return bad_dynamic(elf, "its symbols (DT_SYMENT) have an unknown size");
    }
    if (odd->rel) {
        return bad_dynamic(elf, "it has relocations (DT_REL) that this machine does not know");
    }
    if (dynamic->rela_size != 0 &&
        (odd->rela_entry != sizeof(Elf64_Rela) || dynamic->rela_size % sizeof(Elf64_Rela) != 0 ||
         dynamic->rela_size / sizeof(Elf64_Rela) > ELF_RELOCATIONS_MAX ||
         !elf_inside(elf, dynamic->rela, dynamic->rela_size))) {
        return bad_dynamic(elf,
                           "its relocations (DT_RELA) are too many, of an unknown size, or not "
                           "within the file's data");
    }
    if (dynamic->relr_size != 0 &&
        (odd->relr_entry != sizeof(uint64_t) || dynamic->relr_size % sizeof(uint64_t) != 0 ||
         dynamic->relr_size / sizeof(uint64_t) > ELF_RELOCATIONS_MAX ||
         !elf_inside(elf, dynamic->relr, dynamic->relr_size))) {
        return bad_dynamic(elf, "its packed relocations (DT_RELR) are too many, of an unknown "
                                "size, or not within the file's data");
    }
    if ((dynamic->flags_1 & DF_1_PIE) != 0) {
        findings_add(elf->findings, FINDING_ELF_TYPE, NULL,
                     "the file is a program, not a shared object");
    }
    if (odd->text_relocations || (dynamic->flags & DF_TEXTREL) != 0) {
        findings_add(elf->findings, FINDING_ELF_TEXT_RELOCATION, NULL,
                     "the file has relocations in its code, which would have to be writable");
    }
    if ((dynamic->flags_1 & DF_1_NODELETE) != 0) {
        findings_add(elf->findings, FINDING_ELF_NODELETE, NULL,
                     "the file is linked with nodelete: it cannot be unloaded from a process");
    }
    if ((dynamic->flags & DF_STATIC_TLS) != 0) {
        findings_add(elf->findings, FINDING_ELF_STATIC_TLS, NULL,
                     "the file needs static thread-local storage, of which a running process has "
                     "little left: loading may fail");
    }
    return 0;
}

int elf_read_dynamic(struct elf *elf) {
    struct elf_dynamic *dynamic = &elf->dynamic;
    const unsigned char *table = elf_at(elf, dynamic->address, dynamic->count * sizeof(Elf64_Dyn));
    if (table == NULL) {
        return unreadable(elf);
    }
    struct odd_entries odd = {0};
    for (uint64_t i = 0; i < dynamic->count; i++) {
        Elf64_Dyn one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        if (one.d_tag == DT_NULL) {
            dynamic->count = i;
            return check_entries(elf, &odd);
        }
        take_entry(dynamic, &odd, &one);
    }
    return bad_dynamic(elf, "its end (DT_NULL) is missing");
}

const char *elf_entry(struct elf *elf, int64_t tag, uint32_t index) {
    const unsigned char *table =
            elf_at(elf, elf->dynamic.address, elf->dynamic.count * sizeof(Elf64_Dyn));
    for (uint64_t i = 0; table != NULL && i < elf->dynamic.count; i++) {
        Elf64_Dyn one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        if (one.d_tag == tag && index-- == 0) {
            const char *name;
            size_t length;
            bool found = one.d_un.d_val < elf->dynamic.strings_size &&
                         elf_text(elf, elf->dynamic.strings + one.d_un.d_val, ELF_NAME_MAX, &name,
                                  &length) == ELF_OK;
            return found ? name : NULL;
        }
    }
    return NULL;
}

uint64_t elf_number(struct elf *elf, int64_t tag) {
    const unsigned char *table =
            elf_at(elf, elf->dynamic.address, elf->dynamic.count * sizeof(Elf64_Dyn));
    for (uint64_t i = 0; table != NULL && i < elf->dynamic.count; i++) {
        Elf64_Dyn one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        if (one.d_tag == tag) {
            return one.d_un.d_val;
        }
    }
    return 0;
}

uint32_t elf_count_entries(struct elf *elf, int64_t tag) {
    const unsigned char *table =
            elf_at(elf, elf->dynamic.address, elf->dynamic.count * sizeof(Elf64_Dyn));
    uint32_t count = 0;
    for (uint64_t i = 0; table != NULL && i < elf->dynamic.count; i++) {
        Elf64_Dyn one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        count += one.d_tag == tag;
    }
    return count;
}

const char *elf_needed(struct elf *elf, uint32_t index) {
    return elf_entry(elf, DT_NEEDED, index);
}

const char *elf_run_path(struct elf *elf) {
    const char *path = elf_entry(elf, DT_RUNPATH, 0);
    return path != NULL ? path : elf_entry(elf, DT_RPATH, 0);
}

/* ------------------------------------------------------------ symbols */

static bool read_words(struct elf *elf, uint64_t address, uint32_t *ret, size_t count) {
    const void *words = elf_at(elf, address, count * sizeof *ret);
    if (words != NULL) {
        memcpy(ret, words, count * sizeof *ret);
    }
    return words != NULL;
}

static bool read_symbol(struct elf *elf, uint32_t index, Elf64_Sym *ret) {
    const void *symbol = elf_at(elf, elf->dynamic.symbols + index * sizeof(Elf64_Sym), sizeof *ret);
    if (symbol != NULL) {
        memcpy(ret, symbol, sizeof *ret);
    }
    return symbol != NULL;
}

static bool name_is(struct elf *elf, const Elf64_Sym *symbol, const char *name) {
    uint64_t size = strlen(name) + 1;
    const struct elf_dynamic *dynamic = &elf->dynamic;
    if (symbol->st_name >= dynamic->strings_size ||
        size > dynamic->strings_size - symbol->st_name) {
        return false;
    }
    const char *found = elf_at(elf, dynamic->strings + symbol->st_name, size);
    return found != NULL && memcmp(found, name, size) == 0;
}

/* The head of DT_GNU_HASH and the addresses of what follows it. */
struct gnu_hash {
    uint32_t bucket_count;
    uint32_t first; /* index of the first symbol that is hashed */
    uint64_t buckets;
    uint64_t chains;
};

static bool read_gnu_hash(struct elf *elf, struct gnu_hash *ret) {
    uint32_t head[4];
    if (!read_words(elf, elf->dynamic.gnu_hash, head, 4)) {
        return false;
    }
    ret->bucket_count = head[0];
    ret->first = head[1];
    ret->buckets = elf->dynamic.gnu_hash + sizeof head + UINT64_C(8) * head[2];
    ret->chains = ret->buckets + UINT64_C(4) * head[0];
    return ret->bucket_count > 0 && elf_inside(elf, ret->buckets, UINT64_C(4) * ret->bucket_count);
}

/* A chain is a run of ascending indexes whose last hash has bit 0 set: it cannot be a cycle, and it
 * ends with its segment at the latest. */
static bool find_by_gnu_hash(struct elf *elf, const char *name, Elf64_Sym *ret) {
    struct gnu_hash table;
    uint32_t hash = 5381;
    uint32_t index;
    for (const char *at = name; *at != '\0'; at++) {
        hash = hash * 33 + (unsigned char)*at;
    }
    if (!read_gnu_hash(elf, &table) ||
        !read_words(elf, table.buckets + UINT64_C(4) * (hash % table.bucket_count), &index, 1) ||
        index < table.first || index == 0) {
        return false;
    }
    for (;; index++) {
        uint32_t link;
        elf->steps++;
        if (!read_words(elf, table.chains + UINT64_C(4) * (index - table.first), &link, 1)) {
            return false;
        }
        if ((link | 1) == (hash | 1) && read_symbol(elf, index, ret) && name_is(elf, ret, name)) {
            return true;
        }
        if ((link & 1) != 0 || index == UINT32_MAX) {
            return false;
        }
    }
}

/* These chains may be cycles, so the number of steps is limited to the number of symbols. */
static bool find_by_sysv_hash(struct elf *elf, const char *name, Elf64_Sym *ret) {
    uint32_t head[2]; /* buckets, symbols */
    uint64_t words = elf->dynamic.hash + sizeof head;
    if (!read_words(elf, elf->dynamic.hash, head, 2) || head[0] == 0 ||
        !elf_inside(elf, words, UINT64_C(4) * head[0] + UINT64_C(4) * head[1])) {
        return false;
    }
    uint32_t hash = 0;
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ ((hash & 0xf0000000u) >> 24)) & 0x0fffffffu;
    }
    uint64_t at = words + UINT64_C(4) * (hash % head[0]);
    for (uint32_t steps = 0; steps < head[1]; steps++) {
        uint32_t index;
        elf->steps++;
        if (!read_words(elf, at, &index, 1) || index == 0 || index >= head[1]) {
            return false;
        }
        if (read_symbol(elf, index, ret) && name_is(elf, ret, name)) {
            return true;
        }
        at = words + UINT64_C(4) * head[0] + UINT64_C(4) * index;
    }
    return false;
}

static int bad_symbol(struct elf *elf, const char *name, const char *what) {
    findings_add(elf->findings, FINDING_ELF_SYMBOL, NULL, "the symbol %s %s", name, what);
    return TOOLRACK_E_REFUSED;
}

static bool find(struct elf *elf, const char *name, Elf64_Sym *ret) {
    return elf->dynamic.gnu_hash != 0 ? find_by_gnu_hash(elf, name, ret)
           : elf->dynamic.hash != 0   ? find_by_sysv_hash(elf, name, ret)
                                      : false;
}

bool elf_defines(struct elf *elf, const char *name) {
    Elf64_Sym symbol;
    return find(elf, name, &symbol) && symbol.st_shndx != SHN_UNDEF &&
           ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
}

const char *elf_undefined(struct elf *elf, uint32_t index) {
    Elf64_Sym symbol;
    const char *name;
    size_t length;
    bool is_used = read_symbol(elf, index, &symbol) && symbol.st_shndx == SHN_UNDEF &&
                   ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
                   symbol.st_name < elf->dynamic.strings_size &&
                   elf_text(elf, elf->dynamic.strings + symbol.st_name, ELF_NAME_MAX, &name,
                            &length) == ELF_OK;
    return is_used && length > 0 ? name : NULL;
}

int elf_find_symbol(struct elf *elf, const char *name, struct elf_symbol *ret) {
    Elf64_Sym symbol;
    bool found = find(elf, name, &symbol);
    if (elf->failure != 0 || elf->shortened) {
        return unreadable(elf);
    }
    if (!found) {
        findings_add(elf->findings, FINDING_ELF_NO_SYMBOL, NULL,
                     "the file is a shared object, but exports no symbol %s: it is not a toolrack "
                     "plugin, or hides it",
                     name);
        return TOOLRACK_E_REFUSED;
    }
    unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF) {
        return bad_symbol(elf, name, "is used but not defined in the file");
    }
    if (symbol.st_shndx == SHN_ABS || (type != STT_OBJECT && type != STT_NOTYPE)) {
        return bad_symbol(elf, name, "is not data: a function, or a number");
    }
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) {
        return bad_symbol(elf, name, "is local to the file");
    }
    if (!elf_inside(elf, symbol.st_value, symbol.st_size != 0 ? symbol.st_size : 1)) {
        return bad_symbol(elf, name, "is not within the file's data");
    }
    *ret = (struct elf_symbol){.address = symbol.st_value, .size = symbol.st_size};
    return 0;
}

/* The hash table has no count: the symbols end with the highest chain. */
static uint32_t count_gnu_hashed(struct elf *elf, uint32_t count_max) {
    struct gnu_hash table;
    uint32_t last = 0;
    if (!read_gnu_hash(elf, &table) || table.bucket_count > count_max) {
        return 0;
    }
    for (uint32_t i = 0; i < table.bucket_count; i++) {
        uint32_t index;
        if (!read_words(elf, table.buckets + UINT64_C(4) * i, &index, 1)) {
            return 0;
        }
        last = index > last ? index : last;
    }
    for (; last >= table.first && last < count_max; last++) {
        uint32_t link;
        if (!read_words(elf, table.chains + UINT64_C(4) * (last - table.first), &link, 1)) {
            return 0;
        }
        if ((link & 1) != 0) {
            return last + 1;
        }
    }
    return 0;
}

uint32_t elf_count_symbols(struct elf *elf, uint32_t count_max) {
    uint32_t head[2]; /* buckets, symbols */
    if (elf->dynamic.gnu_hash != 0) {
        return count_gnu_hashed(elf, count_max);
    }
    if (elf->dynamic.hash == 0 || !read_words(elf, elf->dynamic.hash, head, 2)) {
        return 0;
    }
    return head[1] <= count_max ? head[1] : 0;
}

/* ------------------------------------------------------------ remarks */

struct exports {
    const char *expected;
    uint32_t others;
    char name[FINDING_SHOWN_MAX + 1]; /* of the first other export */
};

static void look_at_export(struct elf *elf, const Elf64_Sym *symbol, struct exports *exports) {
    /* Older linkers export these symbols of every file. */
    static const char *const linkers_own[] = {"_init", "_fini", "_edata", "_end", "__bss_start"};
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL ||
        name_is(elf, symbol, exports->expected)) {
        return;
    }
    char name[FINDING_SHOWN_MAX + 1] = "";
    const char *whole;
    size_t length;
    if (symbol->st_name < elf->dynamic.strings_size &&
        elf_text(elf, elf->dynamic.strings + symbol->st_name, ELF_NAME_MAX, &whole, &length) ==
                ELF_OK) {
        memcpy(name, whole, length < FINDING_SHOWN_MAX ? length : FINDING_SHOWN_MAX);
    }
    for (size_t i = 0; i < sizeof linkers_own / sizeof linkers_own[0]; i++) {
        if (strcmp(name, linkers_own[i]) == 0) {
            return;
        }
    }
    if (exports->others++ == 0) {
        memcpy(exports->name, name, sizeof name);
    }
    if (binding == STB_GNU_UNIQUE && elf->unique_name[0] == '\0') {
        memcpy(elf->unique_name, name, sizeof name);
    }
}

/* Look at all symbols from `first` to the end of the highest chain, which is the last symbol. */
static void look_at_gnu_hashed(struct elf *elf, struct exports *exports) {
    struct gnu_hash table;
    if (!read_gnu_hash(elf, &table)) {
        return;
    }
    uint32_t last = 0;
    uint32_t looked = table.bucket_count < ELF_EXPORTS_MAX ? table.bucket_count : ELF_EXPORTS_MAX;
    for (uint32_t i = 0; i < looked; i++) {
        uint32_t index;
        if (read_words(elf, table.buckets + UINT64_C(4) * i, &index, 1) && index > last) {
            last = index;
        }
    }
    if (last < table.first || last == 0) {
        return;
    }
    for (uint32_t index = table.first; index - table.first < ELF_EXPORTS_MAX; index++) {
        Elf64_Sym symbol;
        uint32_t link;
        if (!read_symbol(elf, index, &symbol) ||
            !read_words(elf, table.chains + UINT64_C(4) * (index - table.first), &link, 1)) {
            return;
        }
        look_at_export(elf, &symbol, exports);
        if (index >= last && (link & 1) != 0) {
            return;
        }
    }
}

static void look_at_sysv_hashed(struct elf *elf, struct exports *exports) {
    uint32_t head[2];
    if (!read_words(elf, elf->dynamic.hash, head, 2)) {
        return;
    }
    for (uint32_t index = 1; index < head[1] && index <= ELF_EXPORTS_MAX; index++) {
        Elf64_Sym symbol;
        if (!read_symbol(elf, index, &symbol)) {
            return;
        }
        look_at_export(elf, &symbol, exports);
    }
}

void elf_remark_exports(struct elf *elf, const char *expected) {
    struct exports exports = {.expected = expected};
    if (elf->dynamic.gnu_hash != 0) {
        look_at_gnu_hashed(elf, &exports);
    } else if (elf->dynamic.hash != 0) {
        look_at_sysv_hashed(elf, &exports);
    }
    if (elf->unique_name[0] != '\0') {
        findings_add(elf->findings, FINDING_ELF_UNIQUE, NULL,
                     "the file exports the unique symbol %s: it cannot be unloaded from a process",
                     elf->unique_name);
    }
    if (exports.others > 0) {
        findings_add(elf->findings, FINDING_ELF_EXPORTS, NULL,
                     "the file exports %u%s symbols besides %s, such as %s", exports.others,
                     exports.others >= ELF_EXPORTS_MAX - 1 ? " or more" : "", expected,
                     exports.name);
    }
}
