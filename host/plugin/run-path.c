#include "plugin/run-path.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
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

/* The rest of an entry after "$ORIGIN" or "${ORIGIN}" at its beginning, as the loader reads it;
 * NULL: it does not begin so. */
static const char *after_origin(const char *entry, size_t length) {
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        size_t word = strlen(words[i]);
        bool is_longer =
                length > word && ascii_is_word(entry[word]); /* another name, in no braces */
        if (length >= word && strncmp(entry, words[i], word) == 0 && (i == 1 || !is_longer)) {
            return entry + word;
        }
    }
    return NULL;
}

/* Whether a name between slashes is "..". */
static bool goes_up(const char *path, size_t length) {
    for (const char *at = path, *end = path + length; at < end;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *next = slash != NULL ? slash : end;
        if (next - at == 2 && memcmp(at, "..", 2) == 0) {
            return true;
        }
        at = next + 1;
    }
    return false;
}

bool run_path_expand(const char *entry, size_t length, const char *origin, char ret[PATH_MAX]) {
    const char *rest = after_origin(entry, length);
    char start[PATH_MAX] = "";
    if (rest != NULL) {
        if (origin == NULL) {
            return false;
        }
        (void)snprintf(start, sizeof start, "%s", origin);
    } else if (length == 0 || entry[0] != '/') { /* of the folder that the process is in */
        CLEANUP(freep) char *here = getcwd(NULL, 0);
        (void)snprintf(start, sizeof start, "%s/", here != NULL ? here : "");
    }
    rest = rest != NULL ? rest : entry;
    int size = (int)(length - (size_t)(rest - entry));
    int written = snprintf(ret, PATH_MAX, "%s%.*s", start, size, rest);
    const char *variable = memchr(rest, '$', (size_t)size);
    if (variable != NULL && written >= 0 && written < PATH_MAX) {
        size_t left = (size_t)(rest + size - variable);
        bool is_known = !goes_up(variable, left); /* else it may lead anywhere */
        ret[is_known ? (size_t)written - left : 0] = '\0';
        char *slash = strrchr(ret, '/');
        if (slash != NULL && slash != ret) {
            *slash = '\0';
        } else {
            memcpy(ret, "/", sizeof "/");
        }
    }
    return written >= 0 && written < PATH_MAX && ret[0] == '/';
}

/* An entry of a file's run path, or the name of a library. */
static bool expand(const struct file *file, const char *entry, size_t length, char ret[PATH_MAX]) {
    char origin[PATH_MAX];
    const char *slash = strrchr(file->path, '/');
    bool has_origin = file->has_origin && slash != NULL;
    if (has_origin) {
        (void)snprintf(origin, sizeof origin, "%.*s", (int)(slash - file->path), file->path);
    }
    return run_path_expand(entry, length, has_origin ? origin : NULL, ret);
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
    if (strchr(name, '/') != NULL || strchr(name, '$') != NULL) {
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

/* ---------------------------------------------------------------------- plugins */

/* Whether an entry with a variable may lead out of the folder that the variable stands for. */
static bool leads_out(const char *entry, size_t length) {
    const char *rest = after_origin(entry, length);
    bool is_beside = rest != NULL && rest < entry + length && *rest != '/'; /* $ORIGIN.x */
    return memchr(entry, '$', length) != NULL && (is_beside || goes_up(entry, length));
}

static bool check_text(const char *text, bool is_list, struct findings *findings) {
    for (const char *at = text, *next; at != NULL; at = next) {
        size_t length = strlen(at);
        next = is_list ? next_entry(at, &length) : NULL;
        if (leads_out(at, length)) {
            findings_add(findings, FINDING_ELF_ORIGIN, NULL,
                         "the loader is to look for libraries in %.*s, which is not the plugin's "
                         "own folder: the host loads a copy of the file from elsewhere",
                         (int)(length < FINDING_SHOWN_MAX ? length : FINDING_SHOWN_MAX), at);
            return false;
        }
    }
    return true;
}

bool run_path_check(struct elf *elf, struct findings *findings) {
    static const struct {
        int64_t tag;
        bool is_list; /* of folders: the loader follows one of them, the last */
        const char *name;
    } entries[] = {{DT_RUNPATH, true, "DT_RUNPATH"},      {DT_RPATH, true, "DT_RPATH"},
                   {DT_NEEDED, false, "DT_NEEDED"},       {DT_FILTER, false, "DT_FILTER"},
                   {DT_AUXILIARY, false, "DT_AUXILIARY"}, {DT_AUDIT, true, "DT_AUDIT"},
                   {DT_DEPAUDIT, true, "DT_DEPAUDIT"}};
    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
        uint32_t count = elf_count_entries(elf, entries[i].tag);
        uint32_t most = entries[i].is_list ? 1 : ELF_NEEDED_MAX;
        if (count > most) {
            findings_add(findings, FINDING_ELF_DYNAMIC, NULL,
                         "the dynamic section is wrong: it has %u entries %s, more than %u", count,
                         entries[i].name, most);
            return false;
        }
        for (uint32_t j = 0; j < count; j++) {
            const char *text = elf_entry(elf, entries[i].tag, j);
            if (text == NULL && elf->failure == 0) {
                findings_add(findings, FINDING_ELF_DYNAMIC, NULL,
                             "the dynamic section is wrong: the text of %s is not within the "
                             "file's data, or longer than %u bytes",
                             entries[i].name, ELF_NAME_MAX);
            }
            if (text == NULL || !check_text(text, entries[i].is_list, findings)) {
                return false;
            }
        }
    }
    return true;
}
