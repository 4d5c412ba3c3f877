#include "base/new-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

static int fail(const char *path, int number, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "%s cannot be written: %s", path, strerror(number));
}

/* Renaming takes the place of whatever is there: for root also of a device, which each program of
 * the machine needs. */
static int check_place(const char *path, struct toolrack_error *err) {
    struct stat st;
    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode)) {
        return 0; /* why it cannot be written is told when it is */
    }
    return error_set(
            err, TOOLRACK_E_REFUSED,
            "%s is %s and no file, and is left as it is; choose another name, or remove it", path,
            S_ISDIR(st.st_mode)   ? "a folder"
            : S_ISLNK(st.st_mode) ? "a symbolic link"
                                  : "a device, pipe or socket");
}

int new_file_begin(struct new_file *file, const char *path, struct toolrack_error *err) {
    int code = check_place(path, err);
    if (code < 0) {
        return code;
    }
    int length = snprintf(file->path, sizeof file->path, "%s", path);
    int other = snprintf(file->temporary, sizeof file->temporary, "%s.XXXXXX", path);
    if (length < 0 || other < 0 || (size_t)other >= sizeof file->temporary) {
        return fail("a file of so long a path", ENAMETOOLONG, err);
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    return file->fd >= 0 ? 0 : fail(path, errno, err);
}

/* Have the name on the disk; file systems that cannot sync folders do without. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                   slash != NULL ? path : ".");
    CLEANUP(closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
    }
}

int new_file_end(struct new_file *file, unsigned mode, bool replaces, struct toolrack_error *err) {
    if (fchmod(file->fd, (mode_t)mode) < 0 || (!replaces && fsync(file->fd) < 0)) {
        return fail(file->path, errno, err);
    }
    if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path,
                  replaces ? 0 : RENAME_NOREPLACE) < 0) {
        return errno == EEXIST ? error_set(err, TOOLRACK_E_EXISTS,
                                           "%s is there already; choose another name", file->path)
                               : fail(file->path, errno, err);
    }
    if (!replaces) {
        sync_folder(file->path);
    }
    (void)close(file->fd);
    file->fd = -1;
    return 0;
}

void new_file_finish(struct new_file *file) {
    if (file->fd >= 0) {
        (void)unlink(file->temporary);
        (void)close(file->fd);
        file->fd = -1;
    }
}

int new_file_write(const char *path, const char *text, size_t length, unsigned mode, bool replaces,
                   struct toolrack_error *err) {
    CLEANUP(new_file_finish) struct new_file file = NEW_FILE_INIT;
    int code = new_file_begin(&file, path, err);
    if (code < 0) {
        return code;
    }
    int failed = write_all(file.fd, text, length);
    return failed < 0 ? fail(path, -failed, err) : new_file_end(&file, mode, replaces, err);
}
