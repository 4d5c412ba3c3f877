#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno != EINTR) {
            return -errno;
        }
        if (put > 0) {
            at += put;
            size -= (size_t)put;
        }
    }
    return 0;
}

int make_folders(char *path) {
    for (char *slash = strchr(path + (path[0] == '/'), '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        *slash = '/';
        if (made < 0 && errno != EEXIST) {
            return -errno;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

/* A file that is stored compressed also takes fewer blocks than it has bytes: only then its holes
 * are counted, one system call for each. */
uint64_t file_holes(int fd, const struct stat *status) {
    uint64_t size = (uint64_t)status->st_size;
    uint64_t holes = 0;
    if ((uint64_t)status->st_blocks * 512 >= size) {
        return 0;
    }
    for (off_t at = 0; at < status->st_size;) {
        off_t hole = lseek(fd, at, SEEK_HOLE);
        off_t data = hole < 0 ? -1 : lseek(fd, hole, SEEK_DATA);
        if (hole < 0 || hole >= status->st_size) {
            break;
        }
        data = data < 0 || data > status->st_size ? status->st_size : data; /* none follows */
        holes += (uint64_t)(data - hole);
        at = data;
    }
    return holes;
}
