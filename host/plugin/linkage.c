#include "plugin/linkage.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "plugin/elf-dynamic.h"
#include "plugin/libraries.h"

/* Most files that are read, and most symbols of one that are looked at. */
#define FILES_MAX     64u
/* Most symbols that searches in one file may look at: a file's table may be one chain. */
#define STEPS_MAX     (1u << 26)
#define SYMBOLS_MAX   (1u << 20)
/* Most symbols named; further ones are counted. */
#define UNDEFINED_MAX 16u
/* Longest text shown of one entry. */
#define SHOWN(string) FINDING_SHOWN_MAX, (string)
#define SHOWN_FORMAT  "%.*s"
#define C_LIBRARY     "libc.so.6"

/* The plugin, or a library that it needs. */
struct file {
    struct file *next; /* in the order of the search */
    char *name;        /* as the file that needs it states it; NULL: the plugin */
    char *path;
    int fd;
    struct elf elf;
};

struct linkage {
    struct file *first; /* the plugin */
    struct file *last;
    unsigned count;
    bool is_unknown;        /* a library is missing or cannot be read: no word about symbols */
    struct arena arena;     /* of what the reader says about the libraries, which nobody needs */
    struct findings unused; /* that */
};

static void linkage_finish(struct linkage *linkage) {
    while (linkage->first != NULL) {
        struct file *file = linkage->first;
        linkage->first = file->next;
        elf_finish(&file->elf);
        closep(&file->fd);
        free(file->name);
        free(file->path);
        free(file);
    }
    arena_finish(&linkage->arena);
}

/* ------------------------------------------------------------------- reading */

/* Read a file, whose descriptor is taken. 0: it is the last one of the list now, or it is not a
 * shared object that can be read. */
static int add_file(struct linkage *linkage, const char *name, const char *path, int fd) {
    struct file *file = malloc(sizeof *file);
    if (file == NULL) {
        (void)close(fd);
        return TOOLRACK_E_NO_MEMORY;
    }
    file->next = NULL;
    file->fd = fd;
    file->name = name != NULL ? strdup(name) : NULL;
    file->path = path != NULL ? strdup(path) : NULL;
    int code = elf_init_any(&file->elf, fd, &linkage->unused);
    code = code == 0 ? elf_read_dynamic(&file->elf) : code;
    if ((name != NULL && file->name == NULL) || (path != NULL && file->path == NULL)) {
        code = TOOLRACK_E_NO_MEMORY;
    }
    if (code == 0) {
        *(linkage->last != NULL ? &linkage->last->next : &linkage->first) = file;
        linkage->last = file;
        linkage->count++;
        return 0;
    }
    elf_finish(&file->elf);
    closep(&file->fd);
    free(file->name);
    free(file->path);
    free(file);
    linkage->is_unknown = true;
    return code == TOOLRACK_E_NO_MEMORY ? code : 0;
}

static bool is_there(const struct linkage *linkage, const char *name) {
    const struct file *file = linkage->first;
    while (file != NULL && (file->name == NULL || strcmp(file->name, name) != 0)) {
        file = file->next;
    }
    return file != NULL;
}

/* A library that a file of the list needs; the plugin's own run path counts for all of them. False:
 * there is none. */
static int add_library(struct linkage *linkage, struct file *by, const char *name,
                       bool *ret_found) {
    char path[PATH_MAX];
    char origin[PATH_MAX] = "";
    const char *slash = by->path != NULL ? strrchr(by->path, '/') : NULL;
    *ret_found = true;
    if (is_there(linkage, name)) {
        return 0;
    }
    if (linkage->count == FILES_MAX) {
        linkage->is_unknown = true;
        return 0;
    }
    if (slash != NULL) {
        memcpy(origin, by->path, (size_t)(slash - by->path));
        origin[slash - by->path] = '\0';
    }
    int fd = library_open(name, elf_run_path(&by->elf), slash != NULL ? origin : NULL, path);
    if (fd < 0 && by != linkage->first) {
        fd = library_open(name, elf_run_path(&linkage->first->elf), NULL, path);
    }
    *ret_found = fd >= 0;
    linkage->is_unknown = linkage->is_unknown || fd < 0;
    return fd < 0 ? 0 : add_file(linkage, name, path, fd);
}

/* All files, in the order in which the loader would read them. */
static int add_libraries(struct linkage *linkage, const char *shown, struct findings *findings) {
    int code = 0;
    bool found;
    for (struct file *file = linkage->first; code == 0 && file != NULL; file = file->next) {
        for (uint32_t i = 0; code == 0 && i < file->elf.dynamic.needed_count; i++) {
            const char *name = elf_needed(&file->elf, i);
            if (name == NULL) {
                linkage->is_unknown = true;
                continue;
            }
            code = add_library(linkage, file, name, &found);
            if (found) {
                continue;
            }
            if (file == linkage->first) {
                findings_add(findings, FINDING_ELF_LIBRARY, NULL,
                             "%s needs " SHOWN_FORMAT ", which is not installed", shown,
                             SHOWN(name));
            } else {
                findings_add(findings, FINDING_ELF_LIBRARY, NULL,
                             "%s needs " SHOWN_FORMAT ", which needs " SHOWN_FORMAT
                             ", which is not installed",
                             shown, SHOWN(file->name), SHOWN(name));
            }
        }
    }
    return code == 0 ? add_library(linkage, linkage->first, C_LIBRARY, &found) : code;
}

/* ------------------------------------------------------------------- symbols */

/* A sanitizer's runtime is part of the program, in a build that has one. */
static bool is_of_sanitizer(const char *name) {
    return (SANITIZER_ADDRESS || SANITIZER_THREAD) && dlsym(RTLD_DEFAULT, name) != NULL;
}

static bool is_defined(struct linkage *linkage, const char *name) {
    for (struct file *file = linkage->first; file != NULL; file = file->next) {
        if (elf_defines(&file->elf, name)) {
            return true;
        }
        if (file->elf.failure != 0 || file->elf.shortened || file->elf.steps > STEPS_MAX) {
            linkage->is_unknown = true;
        }
    }
    return is_of_sanitizer(name);
}

static void check_symbols(struct linkage *linkage, const char *shown, struct findings *findings) {
    struct elf *plugin = &linkage->first->elf;
    uint32_t count = elf_count_symbols(plugin, SYMBOLS_MAX);
    uint32_t undefined = 0;
    for (uint32_t i = 1; i < count && !linkage->is_unknown; i++) {
        const char *name = elf_undefined(plugin, i);
        if (name == NULL || is_defined(linkage, name) || linkage->is_unknown) {
            continue;
        }
        if (++undefined <= UNDEFINED_MAX) {
            findings_add(findings, FINDING_ELF_UNDEFINED, NULL,
                         "%s uses the symbol " SHOWN_FORMAT
                         ", which neither it nor a library that it needs defines",
                         shown, SHOWN(name));
        }
    }
    if (undefined > UNDEFINED_MAX) {
        findings_add(findings, FINDING_ELF_UNDEFINED, NULL,
                     "%s uses %u more symbols that nothing defines", shown,
                     undefined - UNDEFINED_MAX);
    }
}

/* ------------------------------------------------------- where the loader is led */

/* Whether the loader would look in the folder that its process happens to be in, or in one where
 * everybody may put a library: a relative or an empty entry, or one of the temporary folders. */
static bool is_unsafe(const char *entry, size_t length) {
    static const char *const open[] = {"/tmp", "/var/tmp", "/dev/shm"};
    bool is_unsafe = length == 0 || (entry[0] != '/' && entry[0] != '$');
    for (size_t i = 0; i < ARRAY_LENGTH(open); i++) {
        size_t size = strlen(open[i]);
        is_unsafe = is_unsafe || (length >= size && strncmp(entry, open[i], size) == 0 &&
                                  (length == size || entry[size] == '/'));
    }
    return is_unsafe;
}

/* Remark on a run path: on its first unsafe folder, else on the whole. */
static void remark_run_path(const char *path, const char *shown, struct findings *findings) {
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, ":");
        if (is_unsafe(at, length)) {
            findings_add(
                    findings, FINDING_ELF_RUN_PATH_UNSAFE, NULL,
                    "%s lets the loader search for libraries in \"%.*s\", where others may put "
                    "one",
                    shown, (int)(length < FINDING_SHOWN_MAX ? length : FINDING_SHOWN_MAX), at);
            return;
        }
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    findings_add(findings, FINDING_ELF_RUN_PATH, NULL,
                 "%s lets the loader search for libraries in " SHOWN_FORMAT, shown, SHOWN(path));
}

static void remark_entries(struct elf *plugin, const char *shown, struct findings *findings) {
    static const struct {
        int64_t tag;
        enum finding_rule rule;
        const char *words;
    } entries[] = {
            {DT_AUDIT, FINDING_ELF_AUDIT, "names the audit library"},
            {DT_DEPAUDIT, FINDING_ELF_AUDIT, "names the audit library"},
            {DT_FILTER, FINDING_ELF_FILTER, "lets the loader take its symbols from"},
            {DT_AUXILIARY, FINDING_ELF_FILTER, "lets the loader take its symbols from"},
    };
    const char *run_path = elf_run_path(plugin);
    if (run_path != NULL && run_path[0] != '\0') {
        remark_run_path(run_path, shown, findings);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
        const char *text = elf_entry(plugin, entries[i].tag, 0);
        if (text != NULL && text[0] != '\0') {
            findings_add(findings, entries[i].rule, NULL, "%s %s " SHOWN_FORMAT, shown,
                         entries[i].words, SHOWN(text));
        }
    }
}

int linkage_check(int fd, const char *file, struct findings *findings) {
    CLEANUP(linkage_finish) struct linkage linkage = {0};
    arena_init(&linkage.arena, NULL, 0);
    findings_init(&linkage.unused, &linkage.arena);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int code = own >= 0 ? add_file(&linkage, NULL, NULL, own) : 0;
    if (code < 0 || linkage.first == NULL) {
        return code;
    }
    remark_entries(&linkage.first->elf, file, findings);
    if (elf_is_foreign(&linkage.first->elf)) {
        findings_add(findings, FINDING_ELF_FOREIGN, NULL,
                     "%s is for %s, not for this machine: whether its libraries and symbols are "
                     "there is not known here",
                     file, elf_machine_name(&linkage.first->elf));
        return findings->failed ? TOOLRACK_E_NO_MEMORY : 0;
    }
    code = add_libraries(&linkage, file, findings);
    if (code == 0 && !linkage.is_unknown) {
        check_symbols(&linkage, file, findings);
    }
    return code == 0 && findings->failed ? TOOLRACK_E_NO_MEMORY : code;
}
