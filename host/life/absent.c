/* The bundled plugins that are not installed: each has a mark in the builtin folder,
 * NAME.so.absent, whose first line says how to get it. Packages that have the large plugins bring
 * NAME.so alone, so the mark is always there and counts only without the file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "life/absent.h"
#include "life/parts.h"
#include "registry/registry.h"

#define MARK        ".so.absent"
#define MARK_LENGTH (sizeof MARK - 1)

/* Longest first line of a mark. */
#define LINE_SIZE_MAX 256u

static int is_mark(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > MARK_LENGTH &&
           strcmp(entry->d_name + length - MARK_LENGTH, MARK) == 0;
}

static int compare(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* What a damaged mark does not say is told by the reason. */
static void read_line(int folder, const char *name, char ret[LINE_SIZE_MAX + 1]) {
    CLEANUP(closep) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length = fd >= 0 ? read(fd, ret, LINE_SIZE_MAX) : 0;
    ret[length > 0 ? length : 0] = '\0';
    ret[strcspn(ret, "\r\n")] = '\0';
    if (ret[0] == '\0') {
        (void)snprintf(ret, LINE_SIZE_MAX + 1, "install the plugin");
    }
}

static void refuse_absent(struct life *life, const char *folder, int fd, const char *mark) {
    char file[PATH_MAX];
    char fix[LINE_SIZE_MAX + 1];
    struct stat st;
    size_t name_length = strlen(mark) - MARK_LENGTH + strlen(".so");
    int length = snprintf(file, sizeof file, "%s/%.*s", folder, (int)name_length, mark);
    if (length >= (int)sizeof file || lstat(file, &st) == 0 || errno != ENOENT) {
        return;
    }
    read_line(fd, mark, fix);
    registry_refuse(
            life->options.registry,
            &(struct toolrack_refusal){.file = file,
                                       .rule = "plugin-absent",
                                       .reason = "it is a bundled plugin that is not installed",
                                       .fix = fix});
}

static void note_folder(struct life *life, const char *path) {
    CLEANUP(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct dirent **marks = NULL;
    int count = fd >= 0 ? scandir(path, &marks, is_mark, compare) : 0;
    for (int i = 0; i < count; i++) {
        refuse_absent(life, path, fd, marks[i]->d_name);
        free(marks[i]);
    }
    free(marks);
}

void absent_note_removed(struct life *life, const struct plugin_file *file) {
    const struct scan_folder *folder = file->folder;
    char mark[NAME_MAX + 1];
    int length = snprintf(mark, sizeof mark, "%s.absent", strrchr(file->path, '/') + 1);
    if (folder->trust != TRUST_BUILTIN || length >= (int)sizeof mark) {
        return;
    }
    CLEANUP(closep) int fd = open(folder->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && faccessat(fd, mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        refuse_absent(life, folder->path, fd, mark);
    }
}

void absent_note(struct life *life) {
    const struct places *places = life->options.places;
    for (size_t i = 0; i < places->folder_count; i++) {
        if (places->folders[i].trust == TRUST_BUILTIN) {
            note_folder(life, places->folders[i].path);
        }
    }
}
