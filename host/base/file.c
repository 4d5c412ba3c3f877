#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
