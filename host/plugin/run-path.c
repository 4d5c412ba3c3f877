#include "plugin/run-path.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "plugin/elf-dynamic.h"

/* Most libraries that are followed. */
#define FILES_MAX 64u

/* A file whose run path is read. */
struct file {
    struct file *next;
    char *path;
    bool has_origin; /* "$ORIGIN" is its own folder, else nothing */
};

struct search {
    run_path_take *take;
    void *user;
    struct file *first;
    struct file *last;
    unsigned count;
    bool ended;
    bool failed; /* out of memory */
};

static void search_finish(struct search *search) {
    while (search->first != NULL) {
        struct file *file = search->first;
        search->first = file->next;
        free(file->path);
        free(file);
    }
}

static bool add_file(struct search *search, const char *path, bool has_origin) {
    for (const struct file *file = search->first; file != NULL; file = file->next) {
        if (strcmp(file->path, path) == 0) {
            return false;
        }
    }
    struct file *file = search->count < FILES_MAX ? calloc(1, sizeof *file) : NULL;
    char *copy = strdup(path);
    if (file == NULL || copy == NULL) {
        search->failed = search->failed || search->count < FILES_MAX;
        free(file);
        free(copy);
        return false;
    }
    *file = (struct file){.path = copy, .has_origin = has_origin};
    *(search->last != NULL ? &search->last->next : &search->first) = file;
    search->last = file;
    search->count++;
    return true;
}

static void tell(struct search *search, bool is_folder, const char *path) {
    search->ended = search->ended || !search->take(search->user, is_folder, path);
}

/* ------------------------------------------------------------------- entries */

/* One entry of a run path as a folder, absolute; false: it does not count. Of an entry with another
 * variable the folder before that. */
static bool expand(const struct file *file, const char *entry, size_t length, char ret[PATH_MAX]) {
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    const char *rest = entry;
    char start[PATH_MAX] = "";
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        size_t word = strlen(words[i]);
        if (length >= word && strncmp(entry, words[i], word) == 0) {
            rest = entry + word;
        }
    }
    if (rest != entry) {
        const char *slash = strrchr(file->path, '/');
        if (!file->has_origin || slash == NULL) {
            return false;
        }
        (void)snprintf(start, sizeof start, "%.*s", (int)(slash - file->path), file->path);
    } else if (length == 0 || entry[0] != '/') { /* of the folder that the process is in */
        CLEANUP(freep) char *here = getcwd(NULL, 0);
        (void)snprintf(start, sizeof start, "%s/", here != NULL ? here : "");
    }
    int size = (int)(length - (size_t)(rest - entry));
    int written = snprintf(ret, PATH_MAX, "%s%.*s", start, size, rest);
    char *variable = strchr(ret, '$');
    if (variable != NULL) {
        *variable = '\0';
        char *slash = strrchr(ret, '/');
        *(slash != NULL ? slash : ret) = '\0';
    }
    return written >= 0 && written < PATH_MAX && ret[0] == '/';
}

/* The entry of a run path that begins at `at`, and the next one. */
static const char *next_entry(const char *at, size_t *ret_length) {
    *ret_length = strcspn(at, ":");
    return at[*ret_length] == ':' ? at + *ret_length + 1 : NULL;
}

static void tell_folders(struct search *search, const struct file *file, const char *run_path) {
    for (const char *at = run_path, *next; at != NULL && !search->ended; at = next) {
        char folder[PATH_MAX];
        size_t length;
        next = next_entry(at, &length);
        if (expand(file, at, length, folder)) {
            tell(search, true, folder);
        }
    }
}

/* A library that a file names, if it is in a folder of the run path, or named by its path. */
static void tell_library(struct search *search, const struct file *file, const char *run_path,
                         const char *name) {
    char path[PATH_MAX];
    if (strchr(name, '/') != NULL) {
        if (expand(file, name, strlen(name), path) && add_file(search, path, true)) {
            tell(search, false, path);
        }
        return;
    }
    for (const char *at = run_path, *next; at != NULL && !search->ended; at = next) {
        char folder[PATH_MAX];
        size_t length;
        next = next_entry(at, &length);
        if (expand(file, at, length, folder) &&
            snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
            access(path, R_OK) == 0) {
            if (add_file(search, path, true)) {
                tell(search, false, path);
            }
            return;
        }
    }
}

/* ---------------------------------------------------------------------- files */

/* A run path counts for the file and, if it is of the old kind, for those that it needs: it is
 * taken to count. */
static void read_file(struct search *search, const struct file *file, const char **ret_first) {
    static const int64_t names[] = {DT_FILTER, DT_AUXILIARY, DT_AUDIT, DT_DEPAUDIT};
    CLEANUP(arena_finish) struct arena arena;
    struct findings unused;
    struct elf elf;
    arena_init(&arena, NULL, 0);
    findings_init(&unused, &arena);
    CLEANUP(closep) int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (elf_init(&elf, fd, &unused) == 0 && elf_read_dynamic(&elf) == 0) {
        const char *own = elf_run_path(&elf);
        const char *run_path = own != NULL && own[0] != '\0' ? own : NULL;
        if (file == search->first && run_path != NULL) {
            *ret_first = strdup(run_path);
            search->failed = search->failed || *ret_first == NULL;
        }
        tell_folders(search, file, run_path);
        for (uint32_t i = 0; i < elf.dynamic.needed_count && !search->ended; i++) {
            const char *name = elf_needed(&elf, i);
            if (name != NULL) {
                tell_library(search, file, run_path, name);
                tell_library(search, search->first, *ret_first, name);
            }
        }
        for (size_t i = 0; i < ARRAY_LENGTH(names) && !search->ended; i++) {
            const char *name = elf_entry(&elf, names[i], 0);
            if (name != NULL && name[0] != '\0') {
                tell_library(search, file, run_path, name);
            }
        }
    }
    search->failed = search->failed || elf.failure == TOOLRACK_E_NO_MEMORY;
    elf_finish(&elf);
}

int run_path_list(const char *file, bool is_loaded, run_path_take *take, void *user) {
    CLEANUP(search_finish) struct search search = {.take = take, .user = user};
    CLEANUP(freep) const char *first = NULL;
    (void)add_file(&search, file, is_loaded);
    for (const struct file *at = search.first; at != NULL && !search.ended && !search.failed;
         at = at->next) {
        read_file(&search, at, &first);
    }
    return search.failed ? TOOLRACK_E_NO_MEMORY : 0;
}
