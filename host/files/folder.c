#include "files/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

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

bool folder_takes_name(const char *name, size_t length) {
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

/* Names of plugins often begin alike, so the eight bytes after the common beginning are compared
 * first. */
struct sort_name {
    uint64_t key; /* those bytes, as a number with the same order */
    const char *name;
};

static uint64_t sort_key(const char *text) {
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof key; i++) {
        key = key << 8 | (unsigned char)*text;
        text += *text != '\0';
    }
    return key;
}

/* Sort names by one byte of their keys; the sort is stable. */
static void sort_by_byte(const struct sort_name *from, struct sort_name *to, size_t count,
                         unsigned shift) {
    size_t places[256] = {0};
    for (size_t i = 0; i < count; i++) {
        places[from[i].key >> shift & 0xff]++;
    }
    size_t next = 0;
    for (size_t i = 0; i < 256; i++) {
        size_t here = places[i];
        places[i] = next;
        next += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[places[from[i].key >> shift & 0xff]++] = from[i];
    }
}

static int compare_names(const void *a, const void *b) {
    const struct sort_name *x = a;
    const struct sort_name *y = b;
    return strcmp(x->name, y->name);
}

/* Byte by byte from the last to the first, only for bytes that differ: an unpredictable comparison
 * costs more than moving a name a few times. */
static bool sort_names(const char **names, size_t count) {
    if (count < 2) {
        return true;
    }
    CLEANUP(freep) struct sort_name *room = malloc(2 * count * sizeof *room);
    if (room == NULL) {
        return false;
    }
    struct sort_name *sorted = room;
    struct sort_name *other = room + count;
    size_t start = strlen(names[0]); /* length of the common beginning */
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (same < start && names[i][same] == names[0][same]) {
            same++;
        }
        start = same;
    }
    uint64_t differing = 0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = (struct sort_name){sort_key(names[i] + start), names[i]};
        differing |= sorted[i].key ^ sorted[0].key;
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differing >> shift & 0xff) != 0) {
            sort_by_byte(sorted, other, count, shift);
            struct sort_name *swap = sorted;
            sorted = other;
            other = swap;
        }
    }
    /* Names with equal keys differ after them. */
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && sorted[end].key == sorted[i].key) {
            end++;
        }
        if (end - i > 1) {
            qsort(sorted + i, end - i, sizeof *sorted, compare_names);
        }
        i = end;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = sorted[i].name;
    }
    return true;
}

int folder_list(struct folder *folder, const char *path, size_t count_max, struct arena *arena) {
    size_t length = strlen(path);
    bool has_slash = length > 0 && path[length - 1] == '/';
    char *prefix = arena_printf(arena, has_slash ? "%s" : "%s/", path);
    if (prefix == NULL) {
        return ENOMEM;
    }
    folder->prefix_length = strlen(prefix);
    /* All names are kept until the end: the last one read may be the first in order. */
    int why = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder->dir);
        if (entry == NULL) {
            why = errno;
            break;
        }
        size_t name_length = strlen(entry->d_name);
        if (folder_takes_name(entry->d_name, name_length) &&
            !add_name(folder, prefix, entry->d_name, name_length, arena)) {
            why = ENOMEM;
            break;
        }
    }
    if (!sort_names(folder->names, folder->count)) {
        return ENOMEM;
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
