/* plugins.h - a temporary folder with a thousand plugins (or PLUGINS), and the least that looking
 * at it costs. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PLUGINS
#define PLUGINS 1000
#endif
#define INDEX_SIZE      300000u /* what the floor reads in place of a cache */
#define PLUGIN_SIZE_MAX (1u << 17)

static char folder[64] = "/tmp/toolrack-bench-XXXXXX";
static char index_path[128];

static void die(const char *what) {
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void write_file(const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
        die(path);
    }
    (void)close(fd);
}

static inline void patch_digits(char *bytes, size_t size, unsigned number) {
    static const char mark[] = "bench_";
    char digits[16];
    (void)snprintf(digits, sizeof digits, "%04u", number);
    char *at = bytes;
    while ((at = memmem(at, size - (size_t)(at - bytes), mark, sizeof mark - 1)) != NULL) {
        at += sizeof mark - 1;
        if ((size_t)(at - bytes) + 4 <= size && at[0] >= '0' && at[0] <= '9') {
            memcpy(at, digits, 4);
        }
    }
}

/* Copy a plugin whose names contain "bench_0000", each time with other digits. */
static void make_folder(const char *plugin) {
    static char bytes[PLUGIN_SIZE_MAX];
    int fd = open(plugin, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (size <= 0 || size == sizeof bytes || mkdtemp(folder) == NULL) {
        die(plugin);
    }
    (void)close(fd);
    for (unsigned i = 0; i < PLUGINS; i++) {
        char path[128];
        patch_digits(bytes, (size_t)size, i);
        (void)snprintf(path, sizeof path, "%s/plugin%04u.so", folder, i);
        write_file(path, bytes, (size_t)size);
    }
    (void)snprintf(index_path, sizeof index_path, "%s/index", folder);
    char *zeros = calloc(1, INDEX_SIZE);
    if (zeros == NULL) {
        die("memory");
    }
    write_file(index_path, zeros, INDEX_SIZE);
    free(zeros);
}

static void remove_folder(void) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(folder);
}

/* Call `look` for each plugin name; the number of those it could use. */
static inline size_t for_each_plugin(bool (*look)(int dir, const char *name)) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t count = 0;
    if (dir == NULL) {
        die(folder);
    }
    while ((entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && memcmp(entry->d_name + length - 3, ".so", 3) == 0) {
            count += look(dirfd(dir), entry->d_name);
        }
    }
    (void)closedir(dir);
    return count;
}

static inline bool stat_one(int dir, const char *name) {
    struct stat st;
    return fstatat(dir, name, &st, 0) == 0;
}

/* stat() of each and one read(): what a list that is kept somewhere costs at least. */
static inline size_t floor_stat_index(void) {
    static char index[INDEX_SIZE];
    size_t count = for_each_plugin(stat_one);
    int fd = open(index_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, index, sizeof index) != sizeof index) {
        die(index_path);
    }
    (void)close(fd);
    return count;
}
