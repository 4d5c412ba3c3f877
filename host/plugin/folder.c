#include "plugin/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX        ".so"
#define SUFFIX_LENGTH (sizeof SUFFIX - 1)

#define NAMES_FIRST_ROOM 64u

int folder_init(struct folder *folder, const char *path) {
    *folder = (struct folder){0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    if (fstat(fd, &st) < 0 || (folder->dir = fdopendir(fd)) == NULL) {
        int why = errno;
        (void)close(fd);
        return why;
    }
    folder->device = st.st_dev;
    folder->inode = st.st_ino;
    return 0;
}

static bool is_plugin_name(const char *name, size_t length) {
    return name[0] != '.' && length > SUFFIX_LENGTH &&
           memcmp(name + length - SUFFIX_LENGTH, SUFFIX, SUFFIX_LENGTH) == 0;
}

static bool add_name(struct folder *folder, const char *prefix, const char *name, size_t length,
                     struct arena *arena) {
    if (folder->count == folder->room) {
        size_t room = folder->room == 0 ? NAMES_FIRST_ROOM : folder->room * 2;
        const char **grown = realloc(folder->names, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        folder->names = grown;
        folder->room = room;
    }
    char *path = arena_alloc(arena, folder->prefix_length + length + 1);
    if (path == NULL) {
        return false;
    }
    memcpy(path, prefix, folder->prefix_length);
    memcpy(path + folder->prefix_length, name, length + 1);
    folder->names[folder->count++] = path + folder->prefix_length;
    return true;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All names are kept until the end, since the last one read may be the first in order. */
static int read_names(struct folder *folder, const char *prefix, struct arena *arena) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder->dir);
        if (entry == NULL) {
            return errno;
        }
        size_t length = strlen(entry->d_name);
        if (is_plugin_name(entry->d_name, length) &&
            !add_name(folder, prefix, entry->d_name, length, arena)) {
            return ENOMEM;
        }
    }
}

int folder_list(struct folder *folder, const char *path, size_t count_max, struct arena *arena) {
    size_t length = strlen(path);
    bool has_slash = length > 0 && path[length - 1] == '/';
    char *prefix = arena_printf(arena, has_slash ? "%s" : "%s/", path);
    if (prefix == NULL) {
        return ENOMEM;
    }
    folder->prefix_length = strlen(prefix);
    int why = read_names(folder, prefix, arena);
    if (folder->count > 1) {
        qsort(folder->names, folder->count, sizeof *folder->names, compare_names);
    }
    if (folder->count > count_max) {
        folder->count = count_max;
        folder->cut = true;
    }
    return why;
}

const char *folder_path(const struct folder *folder, size_t i) {
    return folder->names[i] - folder->prefix_length;
}

void folder_finish(struct folder *folder) {
    if (folder->dir != NULL) {
        (void)closedir(folder->dir);
    }
    free(folder->names);
    *folder = (struct folder){0};
}
