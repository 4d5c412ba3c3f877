/* Relocations: the values that the loader would write, and where.
 *
 * A descriptor is rebuilt record by record, never the whole file: in a library with a million
 * relocations a plugin's table needs a few dozen. So the table is sorted once, as indexes by
 * offset, and searched for each record.
 *
 *  (1) order[] has the index of every relocation with an effect, by ascending offset; for equal
 *      offsets in the table's order: the last one wins, as in the loader.
 *  (2) packed[] is ascending and does not overlap, so that at most one run covers a word. Linkers
 *      write it so; a file with another order is refused. */
#include "plugin/elf-reloc.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define WORD_SIZE sizeof(uint64_t)

/* The lowest bit marks a bitmap; the others represent the words that follow. */
#define BITMAP_WORDS 63u

/* The effects of the relocation types of both machines on data. */
enum effect {
    EFFECT_NONE,
    EFFECT_RELATIVE, /* base + addend */
    EFFECT_SYMBOL,   /* symbol + addend */
    EFFECT_COMPUTED, /* the value that a resolver in the file returns */
    EFFECT_OTHER     /* not allowed in a descriptor */
};

static enum effect effect_of(const struct elf *elf, uint32_t type) {
    if (elf->machine == EM_X86_64) {
        switch (type) {
        case R_X86_64_NONE: return EFFECT_NONE;
        case R_X86_64_RELATIVE: return EFFECT_RELATIVE;
        case R_X86_64_64: return EFFECT_SYMBOL;
        case R_X86_64_IRELATIVE: return EFFECT_COMPUTED;
        default: return EFFECT_OTHER;
        }
    }
    switch (type) {
    case R_AARCH64_NONE: return EFFECT_NONE;
    case R_AARCH64_RELATIVE: return EFFECT_RELATIVE;
    case R_AARCH64_ABS64: return EFFECT_SYMBOL;
    case R_AARCH64_IRELATIVE: return EFFECT_COMPUTED;
    default: return EFFECT_OTHER;
    }
}

static int unreadable(const struct elf *elf) {
    return elf->failure != 0 ? elf->failure : TOOLRACK_E_REFUSED;
}

/* ------------------------------------------------------- putting in order */

static uint64_t offset_at(const unsigned char *table, uint32_t place) {
    uint64_t offset;
    memcpy(&offset, table + place * sizeof(Elf64_Rela), sizeof offset);
    return offset;
}

static int compare_places(const void *a, const void *b, void *table) {
    uint32_t first = *(const uint32_t *)a;
    uint32_t second = *(const uint32_t *)b;
    uint64_t first_offset = offset_at(table, first);
    uint64_t second_offset = offset_at(table, second);
    if (first_offset != second_offset) {
        return first_offset < second_offset ? -1 : 1;
    }
    return (first > second) - (first < second);
}

static int order_rela(struct elf *elf) {
    uint32_t count = (uint32_t)(elf->dynamic.rela_size / sizeof(Elf64_Rela));
    elf->order = elf->order_small;
    if (count == 0) {
        return 0;
    }
    const unsigned char *table = elf_at(elf, elf->dynamic.rela, elf->dynamic.rela_size);
    if (table == NULL) {
        return unreadable(elf);
    }
    if (count > ELF_ORDER_SMALL) {
        elf->order = malloc(count * sizeof *elf->order);
        if (elf->order == NULL) {
            return elf->failure = TOOLRACK_E_NO_MEMORY;
        }
    }
    elf->order_count = count;
    uint32_t *order = elf->order;
    bool in_order = true;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        in_order = in_order && (i == 0 || offset_at(table, i - 1) <= offset_at(table, i));
    }
    if (in_order) {
        return 0;
    }
    if (count > ELF_ORDER_SMALL) {
        qsort_r(order, count, sizeof *order, compare_places, (void *)(uintptr_t)table);
        return 0;
    }
    /* Linkers sort most of the table, so there is little to move. */
    for (uint32_t i = 1; i < count; i++) {
        uint64_t offset = offset_at(table, i);
        uint32_t j = i;
        for (; j > 0 && offset_at(table, order[j - 1]) > offset; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    return 0;
}

static uint64_t packed_entry(const unsigned char *table, uint64_t index) {
    uint64_t entry;
    memcpy(&entry, table + index * WORD_SIZE, sizeof entry);
    return entry;
}

static int bad_packed(struct elf *elf, const char *what) {
    findings_add(elf->findings, FINDING_ELF_RELOCATION, NULL, "the packed relocations %s", what);
    return TOOLRACK_E_REFUSED;
}

static int order_packed(struct elf *elf) {
    uint64_t count = elf->dynamic.relr_size / WORD_SIZE;
    elf->packed = elf->packed_small;
    if (count == 0) {
        return 0;
    }
    const unsigned char *table = elf_at(elf, elf->dynamic.relr, elf->dynamic.relr_size);
    if (table == NULL) {
        return unreadable(elf);
    }
    uint64_t runs = 0;
    for (uint64_t i = 0; i < count; i++) {
        runs += (packed_entry(table, i) & 1) == 0;
    }
    if (runs > sizeof elf->packed_small / sizeof elf->packed_small[0]) {
        elf->packed = malloc(runs * sizeof *elf->packed);
        if (elf->packed == NULL) {
            return elf->failure = TOOLRACK_E_NO_MEMORY;
        }
    }
    struct elf_packed *last = NULL;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = packed_entry(table, i);
        if ((entry & 1) == 0) {
            if (entry > ELF_EXTENT_MAX || (last != NULL && entry < last->end)) {
                return bad_packed(elf, "do not ascend, or leave the file");
            }
            last = &elf->packed[elf->packed_count++];
            *last = (struct elf_packed){.address = entry,
                                        .end = entry + WORD_SIZE,
                                        .bitmaps = elf->dynamic.relr + (i + 1) * WORD_SIZE};
        } else if (last == NULL) {
            return bad_packed(elf, "begin without an address");
        } else {
            /* Runs at most ELF_RELOCATIONS_MAX times: no overflow. */
            last->end += BITMAP_WORDS * WORD_SIZE;
        }
    }
    return 0;
}

int elf_order_relocations(struct elf *elf) {
    int code = order_rela(elf);
    return code < 0 ? code : order_packed(elf);
}

/* --------------------------------------------------------------- a record */

/* Index in order[] of the first relocation at `offset` or above. */
static uint32_t first_from(const struct elf *elf, const unsigned char *table, uint64_t offset) {
    uint32_t low = 0;
    uint32_t high = elf->order_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (offset_at(table, elf->order[middle]) < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool packed_has(struct elf *elf, uint64_t address) {
    /* The run that may cover this word: the last one that begins at or below it. */
    uint32_t low = 0;
    uint32_t high = elf->packed_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (elf->packed[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return false;
    }
    const struct elf_packed *run = &elf->packed[low - 1];
    if (address >= run->end || (address - run->address) % WORD_SIZE != 0) {
        return false;
    }
    if (address == run->address) {
        return true;
    }
    uint64_t word = (address - run->address) / WORD_SIZE - 1;
    const void *bitmap = elf_at(elf, run->bitmaps + word / BITMAP_WORDS * WORD_SIZE, WORD_SIZE);
    uint64_t bits = 0;
    if (bitmap != NULL) {
        memcpy(&bits, bitmap, sizeof bits);
    }
    return ((bits >> (word % BITMAP_WORDS + 1)) & 1) != 0;
}

/* The value of a symbol for a pointer: an address of this file, or of another. */
static enum elf_status resolve(struct elf *elf, uint64_t index, uint64_t *ret_address,
                               bool *ret_elsewhere) {
    const void *found =
            elf_at(elf, elf->dynamic.symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
    if (found == NULL) {
        return ELF_RELOCATION;
    }
    Elf64_Sym symbol;
    memcpy(&symbol, found, sizeof symbol);
    unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_TLS || symbol.st_shndx == SHN_ABS) {
        return ELF_RELOCATION;
    }
    *ret_elsewhere = symbol.st_shndx == SHN_UNDEF || type == STT_GNU_IFUNC;
    *ret_address = symbol.st_value;
    return ELF_OK;
}

static enum elf_status relocate(struct elf *elf, const Elf64_Rela *rela, unsigned char *record,
                                uint64_t at, struct elf_marks *marks) {
    uint64_t bit = UINT64_C(1) << (at / WORD_SIZE);
    uint64_t value = (uint64_t)rela->r_addend;
    bool elsewhere = false;
    switch (effect_of(elf, (uint32_t)ELF64_R_TYPE(rela->r_info))) {
    case EFFECT_NONE: return ELF_OK;
    case EFFECT_RELATIVE: break;
    case EFFECT_COMPUTED: elsewhere = true; break;
    case EFFECT_SYMBOL: {
        uint64_t address;
        enum elf_status status = resolve(elf, ELF64_R_SYM(rela->r_info), &address, &elsewhere);
        if (status != ELF_OK) {
            return status;
        }
        value += address;
        break;
    }
    default: return ELF_RELOCATION;
    }
    memcpy(record + at, &value, sizeof value);
    marks->pointers = elsewhere ? marks->pointers & ~bit : marks->pointers | bit;
    marks->elsewhere = elsewhere ? marks->elsewhere | bit : marks->elsewhere & ~bit;
    return ELF_OK;
}

/* Apply the relocations of DT_RELA that overlap the record, including those that begin just before
 * it. */
static enum elf_status relocate_all(struct elf *elf, uint64_t address, unsigned char *record,
                                    size_t size, struct elf_marks *marks) {
    const unsigned char *table = elf_at(elf, elf->dynamic.rela, elf->dynamic.rela_size);
    if (table == NULL) {
        return ELF_FAILED;
    }
    uint64_t from = address < WORD_SIZE ? 0 : address - WORD_SIZE + 1;
    for (uint32_t i = first_from(elf, table, from); i < elf->order_count; i++) {
        Elf64_Rela rela;
        memcpy(&rela, table + elf->order[i] * sizeof rela, sizeof rela);
        if (rela.r_offset >= address + size) {
            break;
        }
        if (rela.r_offset < address || (rela.r_offset - address) % WORD_SIZE != 0) {
            return ELF_RELOCATION;
        }
        enum elf_status status = relocate(elf, &rela, record, rela.r_offset - address, marks);
        if (status != ELF_OK) {
            return status;
        }
    }
    return ELF_OK;
}

enum elf_status elf_record(struct elf *elf, uint64_t address, void *to, size_t size,
                           struct elf_marks *ret) {
    const void *bytes = elf_at(elf, address, size);
    if (bytes == NULL) {
        return elf->failure != 0 || elf->shortened ? ELF_FAILED : ELF_OUTSIDE;
    }
    memcpy(to, bytes, size);
    *ret = (struct elf_marks){0};
    /* The loader applies the packed relocations first. Their values are already in the file. */
    for (size_t at = 0; elf->packed_count > 0 && at < size; at += WORD_SIZE) {
        ret->pointers |= (uint64_t)packed_has(elf, address + at) << (at / WORD_SIZE);
    }
    return elf->order_count == 0 ? ELF_OK : relocate_all(elf, address, to, size, ret);
}
