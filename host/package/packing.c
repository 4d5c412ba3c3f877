#include "package/packing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/new-file.h"
#include "package/archive.h"
#include "package/describe.h"

static void closedirp(DIR **folder) {
    if (*folder != NULL) {
        (void)closedir(*folder);
    }
}

void packing_finish(struct packing *pack) {
    for (size_t i = 0; i < pack->count; i++) {
        closep(&pack->files[i].fd);
    }
    free(pack->files);
    manifest_finish(&pack->manifest);
    *pack = (struct packing){.count = 0};
}

/* ------------------------------------------------------------------- collect */

static int fail_read(const char *path, struct toolrack_error *err) {
    return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                     "cannot read %s: %s", path, strerror(errno));
}

static bool join(char ret[PATH_MAX], const char *folder, const char *name) {
    int length = snprintf(ret, PATH_MAX, "%s/%s", folder, name);
    return length >= 0 && length < PATH_MAX;
}

/* Open a file and add it. Nothing is waited for, such as on a pipe.
 * @return 0; TOOLRACK_E_NOT_FOUND without a message when it is not there. */
static int add_file(struct packing *pack, const char *folder, const char *name,
                    struct toolrack_error *err) {
    struct stat status;
    if (pack->count == MANIFEST_FILES_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "a package has at most %u files",
                         MANIFEST_FILES_MAX);
    }
    struct packing_file *file = &pack->files[pack->count];
    if (!join(file->from, folder, name)) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "the path of %s is too long", name);
    }
    file->fd = open(file->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0) {
        return errno == ENOENT ? TOOLRACK_E_NOT_FOUND : fail_read(file->from, err);
    }
    pack->count++;
    if (fstat(file->fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is no regular file", file->from);
    }
    return 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_shared_object(const char *name) {
    size_t length = strlen(name);
    return name[0] != '.' && length > 3 && strcmp(name + length - 3, ".so") == 0;
}

/* "ARCH-LIBC", as the folder of a plugin for it. */
static bool is_platform(const char *name) {
    char path[PATH_MAX];
    return join(path, name, "x.so") && manifest_is_plugin(path, NULL);
}

/* The names in a folder that are wanted, in order. Without such a folder there are none. */
static int list_names(const char *folder, bool (*wants)(const char *name), struct arena *arena,
                      const char ***ret, size_t *ret_count, struct toolrack_error *err) {
    *ret_count = 0;
    *ret = arena_alloc(arena, MANIFEST_FILES_MAX * sizeof **ret);
    CLEANUP(closedirp) DIR *listed = opendir(folder);
    if (listed == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail_read(folder, err);
    }
    if (*ret == NULL) {
        return error_oom(err);
    }
    for (const struct dirent *entry = readdir(listed); entry != NULL; entry = readdir(listed)) {
        if (!wants(entry->d_name)) {
            continue;
        }
        if (*ret_count == MANIFEST_FILES_MAX) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "%s has more than %u files that could be packed", folder,
                             MANIFEST_FILES_MAX);
        }
        const char *name = arena_copy(arena, entry->d_name, strlen(entry->d_name));
        if (name == NULL) {
            return error_oom(err);
        }
        (*ret)[(*ret_count)++] = name;
    }
    if (*ret_count > 1) {
        qsort(*ret, *ret_count, sizeof **ret, compare_names);
    }
    return 0;
}

/* Set the path of the plugin that was added last. */
static int name_plugin(struct packing *pack, const char *platform, const char *name,
                       struct toolrack_error *err) {
    struct packing_file *file = &pack->files[pack->count - 1];
    char found[MANIFEST_PLATFORM_ROOM];
    int code = describe_platform(file->fd, file->from, found, err);
    if (code < 0) {
        return code;
    }
    file->is_unread = !describe_is_readable(found);
    if (platform != NULL && strcmp(platform, found) != 0) {
        size_t arch = strcspn(found, "-");
        /* Of a file that cannot be read it is not known which C library it needs. */
        if (!file->is_unread || strncmp(platform, found, arch) != 0 || platform[arch] != '-') {
            return error_set(err, TOOLRACK_E_INVALID,
                             "%s is for %s, and stands in a folder for %s; move it", file->from,
                             found, platform);
        }
        (void)snprintf(found, sizeof found, "%s", platform);
    }
    int length = snprintf(file->path, sizeof file->path, "%s/%s", found, name);
    file->is_plugin = true;
    return length > 0 && (size_t)length < sizeof file->path && manifest_is_plugin(file->path, NULL)
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "%s cannot be packed under this name: up to %u letters, digits, "
                               "'_', '-', '.' and '+' are allowed, and \".so\" at the end",
                               file->from, MANIFEST_NAME_MAX);
}

/* Add the only plugin of a folder; `ret_found` says whether there is one. */
static int add_plugin_in(struct packing *pack, const char *folder, const char *platform,
                         struct arena *arena, bool *ret_found, struct toolrack_error *err) {
    const char **names = NULL;
    size_t count = 0;
    int code = list_names(folder, is_shared_object, arena, &names, &count, err);
    *ret_found = code == 0 && count > 0;
    if (code < 0 || count == 0) {
        return code;
    }
    if (count > 1) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s has %zu files that end in .so, %s and %s among them; a package is one "
                         "plugin: move the others",
                         folder, count, names[0], names[1]);
    }
    code = add_file(pack, folder, names[0], err);
    return code == 0 ? name_plugin(pack, platform, names[0], err) : code;
}

/* Those of DIR/ARCH-LIBC. */
static int add_platforms(struct packing *pack, const char *folder, struct arena *arena,
                         struct toolrack_error *err) {
    char path[PATH_MAX];
    const char **names = NULL;
    size_t count = 0;
    bool found = false;
    int code = list_names(folder, is_platform, arena, &names, &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = join(path, folder, names[i])
                       ? add_plugin_in(pack, path, names[i], arena, &found, err)
                       : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "the path of %s is too long",
                                   folder);
    }
    return code;
}

static int add_plugins(struct packing *pack, const char *folder, struct arena *arena,
                       bool *ret_is_flat, struct toolrack_error *err) {
    static const char *const builds[] = {"build", "target/release"};
    char build[PATH_MAX];
    bool found = false;
    int code = add_platforms(pack, folder, arena, err);
    if (code == 0 && pack->count == 0) {
        code = add_plugin_in(pack, folder, NULL, arena, ret_is_flat, err);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(builds); i++) {
        if (code == 0 && pack->count == 0 && join(build, folder, builds[i])) {
            code = add_plugin_in(pack, build, NULL, arena, &found, err);
        }
    }
    return code < 0 || pack->count > 0
                   ? code
                   : error_set(err, TOOLRACK_E_NOT_FOUND,
                               "there is no plugin in %s: neither %s/NAME.so, nor NAME.so, nor "
                               "build/NAME.so, nor target/release/NAME.so; build it first",
                               folder, manifest_platform());
}

/* Add a document of a folder, or of `otherwise` (NULL: of no other). */
static int add_document(struct packing *pack, const char *folder, const char *otherwise,
                        const char *name, bool is_required, struct toolrack_error *err) {
    int code = add_file(pack, folder, name, err);
    if (code == TOOLRACK_E_NOT_FOUND && otherwise != NULL) {
        code = add_file(pack, otherwise, name, err);
    }
    if (code == TOOLRACK_E_NOT_FOUND) {
        return is_required ? error_set(err, code,
                                       "there is no %s in %s; whoever installs the package wants "
                                       "to read it: write one",
                                       name, folder)
                           : 0;
    }
    if (code == 0) {
        (void)snprintf(pack->files[pack->count - 1].path, sizeof pack->files->path, "%s", name);
    }
    return code;
}

static int compare_paths(const void *a, const void *b) {
    const struct packing_file *one = a;
    const struct packing_file *other = b;
    return strcmp(one->path, other->path);
}

int packing_collect(const char *folder, struct packing *ret, struct toolrack_error *err) {
    char above[PATH_MAX];
    struct stat status;
    bool is_flat = false;
    *ret = (struct packing){.count = 0};
    manifest_init(&ret->manifest);
    if (stat(folder, &status) < 0) {
        return fail_read(folder, err);
    }
    if (!S_ISDIR(status.st_mode)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is no folder; give the folder that has the plugin, README.md and "
                         "LICENSE",
                         folder);
    }
    ret->files = calloc(MANIFEST_FILES_MAX, sizeof *ret->files);
    if (ret->files == NULL) {
        return error_oom(err);
    }
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    int code = add_plugins(ret, folder, &arena, &is_flat, err);
    const char *otherwise = is_flat && join(above, folder, "..") ? above : NULL;
    code = code == 0 ? add_document(ret, folder, otherwise, "README.md", true, err) : code;
    code = code == 0 ? add_document(ret, folder, otherwise, "LICENSE", true, err) : code;
    code = code == 0 ? add_document(ret, folder, otherwise, "NOTICE", false, err) : code;
    code = code == 0 ? add_document(ret, folder, otherwise, "CHANGELOG.md", false, err) : code;
    if (code == 0) {
        qsort(ret->files, ret->count, sizeof *ret->files, compare_paths);
    }
    return code;
}

/* ------------------------------------------------------------------ describe */

static int hash_file(const struct packing_file *file, struct manifest_file *ret,
                     struct toolrack_error *err) {
    unsigned char bytes[64 * 1024];
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    ret->path = file->path;
    for (;;) {
        ssize_t length = pread(file->fd, bytes, sizeof bytes, (off_t)ret->size);
        if (length < 0) {
            return fail_read(file->from, err);
        }
        if (length == 0) {
            break;
        }
        ret->size += (uint64_t)length;
        if (ret->size > MANIFEST_FILE_SIZE_MAX) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "%s has more than %u bytes, which is the most", file->from,
                             MANIFEST_FILE_SIZE_MAX);
        }
        (void)crypto_hash_sha256_update(&state, bytes, (size_t)length);
    }
    (void)crypto_hash_sha256_final(&state, ret->sha256);
    return 0;
}

/* The descriptors of the plugins that can be read here, which must say the same. */
static int describe_plugins(struct packing *pack, struct toolrack_error *err) {
    bool is_described = false;
    for (size_t i = 0; i < pack->count; i++) {
        const struct packing_file *file = &pack->files[i];
        if (!file->is_plugin || file->is_unread) {
            continue;
        }
        int code = is_described ? describe_compare(&pack->manifest, file->fd, file->from, err)
                                : describe_plugin(file->fd, file->from, &pack->manifest, err);
        if (code < 0) {
            return code;
        }
        is_described = true;
    }
    return is_described ? 0
                        : error_set(err, TOOLRACK_E_REFUSED,
                                    "none of the plugin's files is for x86-64 or AArch64, so what "
                                    "it says of itself cannot be read");
}

int packing_describe(struct packing *pack, struct toolrack_error *err) {
    struct manifest *manifest = &pack->manifest;
    int code = describe_plugins(pack, err);
    if (code < 0) {
        return code;
    }
    manifest->files = arena_zalloc(&manifest->arena, (pack->count + 1) * sizeof *manifest->files);
    if (manifest->files == NULL) {
        return error_oom(err);
    }
    manifest->file_count = pack->count;
    for (size_t i = 0; code == 0 && i < pack->count; i++) {
        code = hash_file(&pack->files[i], &manifest->files[i], err);
    }
    return code;
}

/* --------------------------------------------------------------------- write */

int packing_write(const struct packing *pack, const char *path, struct toolrack_error *err) {
    int fds[MANIFEST_FILES_MAX];
    CLEANUP(new_file_finish) struct new_file file = NEW_FILE_INIT;
    CLEANUP(manifest_finish) struct manifest again;
    manifest_init(&again);
    for (size_t i = 0; i < pack->count; i++) {
        fds[i] = pack->files[i].fd;
    }
    int code = new_file_begin(&file, path, err);
    code = code == 0 ? archive_write(&pack->manifest, fds, file.fd, err) : code;
    code = code == 0 ? archive_unpack(file.fd, -1, &again, err) : code;
    return code == 0 ? new_file_end(&file, 0644, true, err) : code;
}
