#include "package/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int folder_sync(int folder) {
    /* Some file systems cannot, and then need not. */
    return fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -errno;
}

/* A stream of the folder's own; NULL with errno. */
static DIR *list_open(int folder) {
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    if (dir == NULL && own >= 0) {
        int why = errno;
        (void)close(own);
        errno = why;
    }
    return dir;
}

/* Call `visit` for each entry. 0 or the first negative errno. */
static int each(int folder, unsigned depth, int (*visit)(int folder, const char *name, unsigned)) {
    DIR *dir = depth < TREE_DEPTH_MAX ? list_open(folder) : NULL;
    int code = dir != NULL ? 0 : depth < TREE_DEPTH_MAX ? -errno : -ELOOP;
    while (code == 0) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            code = -errno;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            code = visit(folder, entry->d_name, depth);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return code;
}

static int remove_entry(int folder, const char *name, unsigned depth) {
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return -errno;
    }
    CLEANUP(closep)
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int code = inner >= 0 ? each(inner, depth + 1, remove_entry) : -errno;
    return code < 0 ? code : unlinkat(folder, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

int tree_remove(int folder, const char *name) {
    return remove_entry(folder, name, 0);
}

static int sync_entry(int folder, const char *name, unsigned depth) {
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return -errno;
    }
    bool is_folder = S_ISDIR(st.st_mode);
    if (!is_folder && !S_ISREG(st.st_mode)) {
        return 0;
    }
    CLEANUP(closep) int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int code = fd < 0 ? -errno : is_folder ? each(fd, depth + 1, sync_entry) : 0;
    return code < 0 ? code : folder_sync(fd);
}

int tree_sync(int folder, const char *name) {
    return sync_entry(folder, name, 0);
}
