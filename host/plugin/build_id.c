#include "plugin/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "plugin/elf.h"

/* Most bytes of notes that are searched; the id is among the first. */
#define NOTES_SIZE_MAX 65536u

struct search {
    unsigned char *id;
    size_t length;
};

static size_t round_up(size_t size) {
    return (size + 3) & ~(size_t)3;
}

/* Notes are small structs followed by bytes, each padded to a multiple of four. */
static bool find_in_notes(const char *at, size_t left, struct search *search) {
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t start = sizeof note + round_up(note.n_namesz);
        size_t size = start + round_up(note.n_descsz);
        if (size > left) {
            return false;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(at + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            search->length = note.n_descsz < BUILD_ID_MAX ? note.n_descsz : BUILD_ID_MAX;
            memcpy(search->id, at + start, search->length);
            return true;
        }
        at += size;
        left -= size;
    }
    return false;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *user) {
    (void)size;
    uintptr_t here = (uintptr_t)&build_id_get;
    bool own = false;
    for (size_t i = 0; i < object->dlpi_phnum && !own; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        own = segment->p_type == PT_LOAD &&
              here - object->dlpi_addr - segment->p_vaddr < segment->p_memsz;
    }
    if (!own) {
        return 0;
    }
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            find_in_notes((const char *)(object->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                          user)) {
            break;
        }
    }
    return 1;
}

size_t build_id_get(unsigned char ret[BUILD_ID_MAX]) {
    struct search search = {.id = ret};
    memset(ret, 0, BUILD_ID_MAX);
    (void)dl_iterate_phdr(look_at, &search);
    return search.length;
}

/* ---------------------------------------------------------------- of a file */

/* elf_init() has checked the header and its table, but not the notes. */
static void find_in_file(struct elf *elf, struct search *search) {
    ElfW(Ehdr) header;
    memcpy(&header, elf_bytes(elf, 0, sizeof header), sizeof header);
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        const void *at = elf_bytes(elf, header.e_phoff + i * sizeof segment, sizeof segment);
        if (at == NULL) {
            return;
        }
        memcpy(&segment, at, sizeof segment);
        if (segment.p_type == PT_NOTE) {
            uint64_t size = segment.p_filesz < NOTES_SIZE_MAX ? segment.p_filesz : NOTES_SIZE_MAX;
            const char *notes = elf_bytes(elf, segment.p_offset, size);
            if (notes != NULL && find_in_notes(notes, size, search)) {
                return;
            }
        }
    }
}

size_t build_id_read(int fd, unsigned char ret[BUILD_ID_MAX]) {
    struct search search = {.id = ret};
    struct arena arena;
    struct findings findings;
    struct elf elf;
    memset(ret, 0, BUILD_ID_MAX);
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    if (elf_init(&elf, fd, &findings) == 0) {
        find_in_file(&elf, &search);
    }
    elf_finish(&elf);
    arena_finish(&arena);
    return search.length;
}
