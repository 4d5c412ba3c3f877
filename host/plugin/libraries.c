#include "plugin/libraries.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_in_folder(const char *folder, size_t length, const char *name) {
    char path[PATH_MAX];
    return length > 0 && length < sizeof path &&
           snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name) < (int)sizeof path &&
           access(path, R_OK) == 0;
}

/* The cache has each library's path as a string with its final zero. */
static bool is_in_cache(const char *name) {
    CLEANUP(closep) int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    char wanted[NAME_MAX + 2];
    struct stat status;
    int length = snprintf(wanted, sizeof wanted, "/%s", name);
    if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0 || length >= (int)sizeof wanted) {
        return false;
    }
    void *cache = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (cache == MAP_FAILED) {
        return false;
    }
    bool found = memmem(cache, (size_t)status.st_size, wanted, (size_t)length + 1) != NULL;
    (void)munmap(cache, (size_t)status.st_size);
    return found;
}

bool library_is_found(const char *name, const char *run_path) {
    static const char *const folders[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
    if (strchr(name, '/') != NULL) {
        return access(name, R_OK) == 0;
    }
    for (const char *at = run_path; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ":");
        if (*at == '/' && is_in_folder(at, length, name)) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        if (is_in_folder(folders[i], strlen(folders[i]), name)) {
            return true;
        }
    }
    return is_in_cache(name);
}
