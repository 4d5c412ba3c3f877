/* What runs with more rights than a plugin, or with those of another one: the programs of host and
 * worker, the libraries of both, of definitions and of plugins. Whoever writes there is in no
 * sandbox. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "life/guard-parts.h"
#include "plugin/run-path.h"

/* ----------------------------------------------------------------- one place */

static void check_run(struct grant *grant, const struct guarded *place) {
    if (!guard_goes_on(grant)) {
        return;
    }
    guard_check_place(grant, place);
    /* Images of systems have libraries with several names, in their own folders. */
    if (place->kind == GUARD_PROGRAM && guard_goes_on(grant) &&
        !guard_is_library_path(place->path)) {
        guard_check_names(grant, place);
    }
}

static void check(struct grant *grant, const char *what, const char *path, enum guard_kind kind) {
    check_run(grant, &(struct guarded){what, path, kind});
}

void guard_check_plugins(struct grant *grant) {
    for (size_t i = 0; i < grant->guard->plugins.count; i++) {
        check_run(grant, &grant->guard->plugins.items[i]);
    }
}

static bool check_searched(void *user, bool is_folder, const char *path) {
    struct grant *grant = user;
    check(grant, is_folder ? "the folder of libraries" : "the library", path,
          is_folder ? GUARD_SEARCHED : GUARD_PROGRAM);
    return guard_goes_on(grant);
}

/* A file that is loaded where it is, with its libraries. */
static void check_loaded(struct grant *grant, const char *what, const char *path) {
    if (path == NULL || path[0] != '/') {
        return;
    }
    check(grant, what, path, GUARD_PROGRAM);
    if (guard_goes_on(grant) && run_path_list(path, true, check_searched, grant) < 0) {
        grant->failed = true;
    }
}

/* ------------------------------------------------------------- this process */

/* Each folder once: most libraries share one. */
#define FOLDERS_MAX 32u

struct mapped {
    struct grant *grant;
    char *folders[FOLDERS_MAX];
    size_t count;
};

static void mapped_finish(struct mapped *mapped) {
    for (size_t i = 0; i < mapped->count; i++) {
        free(mapped->folders[i]);
    }
}

static bool is_new_folder(struct mapped *mapped, const char *path) {
    struct stat st;
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode) || st.st_nlink > 1) {
        return true;
    }
    for (size_t i = 0; i < mapped->count; i++) {
        const char *folder = mapped->folders[i];
        if (strlen(folder) == length && memcmp(folder, path, length) == 0) {
            return false;
        }
    }
    char *copy = mapped->count < FOLDERS_MAX ? strndup(path, length) : NULL;
    if (copy != NULL) {
        mapped->folders[mapped->count++] = copy;
    }
    return true;
}

static int check_mapped(struct dl_phdr_info *info, size_t size, void *user) {
    struct mapped *mapped = user;
    (void)size;
    if (info->dlpi_name != NULL && info->dlpi_name[0] == '/' &&
        is_new_folder(mapped, info->dlpi_name)) {
        check(mapped->grant, "a library of the host", info->dlpi_name, GUARD_PROGRAM);
    }
    return !guard_goes_on(mapped->grant);
}

/* A variable with a list of folders, or of files, that the loader follows in this process.
 * "$ORIGIN" in it is the folder of the program. */
static void check_variable(struct grant *grant, const char *name, const char *between,
                           const char *program) {
    const char *list = getenv(name);
    bool is_file = strcmp(name, "LD_PRELOAD") == 0 || strcmp(name, "LD_AUDIT") == 0;
    const char *slash = strrchr(program, '/');
    char origin[PATH_MAX];
    (void)snprintf(origin, sizeof origin, "%.*s", slash != NULL ? (int)(slash - program) : 0,
                   program);
    while (list != NULL && list[0] != '\0' && guard_goes_on(grant)) {
        char path[PATH_MAX];
        size_t length = strcspn(list, between);
        bool is_named = is_file && memchr(list, '/', length) == NULL; /* in a folder of libraries */
        if (!is_named && run_path_expand(list, length, slash != NULL ? origin : NULL, path)) {
            check(grant, is_file ? "the library" : "the folder of libraries", path,
                  is_file ? GUARD_PROGRAM : GUARD_SEARCHED);
        }
        list += length + (list[length] != '\0');
    }
}

static void check_host(struct grant *grant) {
    static const char *const system[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64",
                                         "/usr/local/lib"};
    char program[PATH_MAX];
    Dl_info library = {0};
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    (void)dladdr(__extension__(const void *) & guard_check_programs, &library);
    check_loaded(grant, "the program of this process", program);
    check_loaded(grant, "the library of the host", library.dli_fname);
    check_loaded(grant, "the program of the workers", grant->guard->worker_program);
    check_variable(grant, "LD_LIBRARY_PATH", ":;", program);
    check_variable(grant, "GCONV_PATH", ":", program);
    check_variable(grant, "LD_PRELOAD", ": ", program);
    check_variable(grant, "LD_AUDIT", ":", program);
    for (size_t i = 0; i < ARRAY_LENGTH(system); i++) {
        check(grant, "the system's folder of libraries", system[i], GUARD_SEARCHED);
    }
    check(grant, "the loader's list", "/etc/ld.so.preload", GUARD_PROGRAM);
    CLEANUP(mapped_finish) struct mapped mapped = {.grant = grant};
    if (guard_goes_on(grant)) {
        (void)dl_iterate_phdr(check_mapped, &mapped);
    }
}

void guard_check_programs(struct grant *grant) {
    const struct config *config = grant->guard->config;
    check_host(grant);
    if (guard_goes_on(grant) && !guard_read_plugins(grant->guard)) {
        grant->failed = true;
    }
    guard_check_plugins(grant);
    size_t definitions = config != NULL ? config_definition_count(config) : 0;
    for (size_t i = 0; i < definitions && guard_goes_on(grant); i++) {
        check_loaded(grant, "the library of a definition", config_definition_library(config, i));
    }
}
