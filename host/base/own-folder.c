#include "base/own-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/ownership.h"

/* A descriptor, or a negative errno. */
static int open_folder(const char *path) {
    struct stat st;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 && errno == ENOTDIR) { /* the end of the path, or what is above it */
        return lstat(path, &st) == 0 ? -ELOOP : -ENOTDIR;
    }
    return folder >= 0 ? folder : -errno;
}

int own_folder_open(const char *path, bool makes) {
    struct stat st;
    bool is_by_list;
    CLEANUP(closep) int folder = open_folder(path);
    if (folder == -ENOENT && makes) {
        CLEANUP(freep) char *copy = strdup(path);
        int made = copy != NULL ? make_folders(copy) : -ENOMEM;
        if (made < 0) {
            return made;
        }
        folder = open_folder(path);
    }
    if (folder < 0 || fstat(folder, &st) < 0) {
        return folder < 0 ? folder : -errno;
    }
    if ((st.st_uid != geteuid() && st.st_uid != 0) ||
        ownership_lets_others_write(&st, path, &is_by_list)) {
        return -EPERM;
    }
    int found = folder;
    folder = -1;
    return found;
}

int own_folder_check(const char *path, bool makes) {
    CLEANUP(closep) int folder = own_folder_open(path, makes);
    return folder < 0 ? folder : 0;
}

const char *own_folder_words(int failed) {
    switch (failed) {
    case -ELOOP: return "it must be a folder and no symbolic link; move it away";
    case -EPERM:
        return "it must belong to this user, and no other may write to it (chmod go-w); move it "
               "away, or mend that";
    default: return strerror(-failed);
    }
}

int own_file_open(const char *folder, const char *name, int flags) {
    CLEANUP(freep) char *path = NULL;
    struct stat st;
    bool is_by_list;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    CLEANUP(closep)
    int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
        ownership_lets_others_write(&st, path, &is_by_list)) {
        return -EPERM;
    }
    int found = fd;
    fd = -1;
    return found;
}

const char *own_file_words(int failed) {
    switch (failed) {
    case -ELOOP: return "it must be a file and no symbolic link; move it away";
    case -EPERM:
        return "it must be a regular file of this user that no other may write to; look at what is "
               "in it, then correct that (chmod go-w) or move it away";
    default: return strerror(-failed);
    }
}
