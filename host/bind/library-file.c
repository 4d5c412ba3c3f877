/* The library's file, and which functions it exports. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "base/utf8.h"
#include "bind/elfutils.h"
#include "bind/model.h"

/* Where the loader looks on Debian and elsewhere. */
static const char *const folders[] = {"/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64",
                                      "/usr/lib64",       "/usr/local/lib",       "/lib",
                                      "/usr/lib"};

static int find_named(struct model *model, const char *name, struct toolrack_error *err) {
    for (size_t i = 0; i < ARRAY_LENGTH(folders) && model->file == NULL; i++) {
        const char *pattern = arena_printf(model->arena, "%s/%s", folders[i], name);
        glob_t found;
        if (pattern != NULL && glob(pattern, 0, NULL, &found) == 0) {
            model->file = arena_copy(model->arena, found.gl_pathv[0], strlen(found.gl_pathv[0]));
            globfree(&found);
        }
    }
    model->library = name;
    return model->file != NULL
                   ? 0
                   : error_set(
                             err, TOOLRACK_E_NOT_FOUND,
                             "there is no library %s in the folders of the system; give its path, "
                             "or the name with its number, such as libz.so.1",
                             name);
}

/* A name is looked for, as the loader will do; a path is the library's for good. */
static int find_file(struct model *model, const char *library, struct toolrack_error *err) {
    if (strchr(library, '/') == NULL) {
        return find_named(model, library, err);
    }
    CLEANUP(freep) char *path = realpath(library, NULL);
    if (path == NULL) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "cannot open %s: %s", library, strerror(errno));
    }
    if (!utf8_valid(path, strlen(path))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the path of the library is not UTF-8, so no definition can have it; "
                         "rename the file or its folder");
    }
    model->file = model->library = arena_copy(model->arena, path, strlen(path));
    return model->file != NULL ? 0 : error_oom(err);
}

/* ------------------------------------------------------------------ symbols */

struct exported {
    struct model *model;
    size_t room;
    struct toolrack_error *err;
};

/* Most functions of a library. */
#define SYMBOLS_MAX 200000u

static int add_symbol(struct exported *exported, const char *name, uint64_t address,
                      bool is_chosen) {
    struct model *model = exported->model;
    if (model->symbol_count == SYMBOLS_MAX) {
        return error_set(exported->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%s exports more than %u functions", model->file, SYMBOLS_MAX);
    }
    if (model->symbol_count == exported->room) {
        size_t room = exported->room == 0 ? 256 : 2 * exported->room;
        struct model_symbol *more = arena_zalloc(model->arena, room * sizeof *more);
        if (more == NULL) {
            return error_oom(exported->err);
        }
        if (model->symbol_count > 0) {
            memcpy(more, model->symbols, model->symbol_count * sizeof *more);
        }
        model->symbols = more;
        exported->room = room;
    }
    struct model_symbol *symbol = &model->symbols[model->symbol_count];
    symbol->address = address;
    symbol->is_chosen = is_chosen;
    symbol->name = symbol->function.name = arena_copy(model->arena, name, strlen(name));
    model->symbol_count++;
    return symbol->name != NULL ? 0 : error_oom(exported->err);
}

/* Bit 15 of a version says that a program that is linked now does not get this one. */
#define VERSION_HIDDEN 0x8000u

static int read_symbols(struct exported *exported, Elf *elf, Elf_Scn *section, Elf_Data *versions) {
    GElf_Shdr header;
    Elf_Data *data = elfutils.elf_getdata(section, NULL);
    if (elfutils.gelf_getshdr(section, &header) == NULL || data == NULL || header.sh_entsize == 0) {
        return 0;
    }
    int code = 0;
    for (int i = 0; i < (int)(header.sh_size / header.sh_entsize) && code == 0; i++) {
        GElf_Sym symbol;
        GElf_Versym version = 0;
        if (elfutils.gelf_getsym(data, i, &symbol) == NULL) {
            break;
        }
        int type = GELF_ST_TYPE(symbol.st_info);
        bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
        const char *name = elfutils.elf_strptr(elf, header.sh_link, symbol.st_name);
        if (versions != NULL) {
            (void)elfutils.gelf_getversym(versions, i, &version);
        }
        if (is_function && symbol.st_shndx != SHN_UNDEF && name != NULL &&
            GELF_ST_BIND(symbol.st_info) != STB_LOCAL && (version & VERSION_HIDDEN) == 0 &&
            name_valid(name) && strncmp(name, "_Z", 2) != 0) { /* names of C++ are none of tools */
            code = add_symbol(exported, name, symbol.st_value, type == STT_GNU_IFUNC);
        }
    }
    return code;
}

static int read_elf(struct exported *exported, Elf *elf) {
    struct model *model = exported->model;
    GElf_Ehdr head;
    if (elf == NULL || elfutils.elf_kind(elf) != ELF_K_ELF ||
        elfutils.gelf_getehdr(elf, &head) == NULL || head.e_type != ET_DYN) {
        return error_set(exported->err, TOOLRACK_E_INVALID,
                         "%s is not a shared library; where it is a text of the linker, give the "
                         "library with its number, such as libm.so.6",
                         model->file);
    }
    Elf_Scn *symbols = NULL;
    Elf_Data *versions = NULL;
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elfutils.elf_nextscn(elf, section)) != NULL;) {
        if (elfutils.gelf_getshdr(section, &header) == NULL) {
            continue;
        }
        symbols = header.sh_type == SHT_DYNSYM ? section : symbols;
        versions =
                header.sh_type == SHT_GNU_versym ? elfutils.elf_getdata(section, NULL) : versions;
    }
    return symbols == NULL ? 0 : read_symbols(exported, elf, symbols, versions);
}

static int compare(const void *left, const void *right) {
    return strcmp(((const struct model_symbol *)left)->name,
                  ((const struct model_symbol *)right)->name);
}

const char *model_keep(struct model *model, const char *text) {
    char *kept = arena_copy(model->arena, text, strlen(text));
    if (kept != NULL) {
        utf8_make_line(kept);
    }
    return kept;
}

struct model_symbol *model_find(const struct model *model, const char *name) {
    const struct model_symbol key = {.name = name};
    return model->symbol_count == 0
                   ? NULL
                   : bsearch(&key, model->symbols, model->symbol_count, sizeof key, compare);
}

int library_file_read(struct model *model, const char *library, struct toolrack_error *err) {
    struct exported exported = {.model = model, .err = err};
    int code = find_file(model, library, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(closep) int fd = open(model->file, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "cannot read %s: %s", model->file,
                         fd < 0 ? strerror(errno) : "it is no file");
    }
    Elf *elf = elfutils.elf_begin(fd, ELF_C_READ, NULL);
    code = read_elf(&exported, elf);
    (void)elfutils.elf_end(elf);
    if (code == 0 && model->symbol_count > 1) {
        qsort(model->symbols, model->symbol_count, sizeof *model->symbols, compare);
    }
    if (code == 0 && model->symbol_count == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "%s exports no function of C", model->file);
    }
    return code;
}
