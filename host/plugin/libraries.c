#include "plugin/libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CACHE          "/etc/ld.so.cache"
/* Largest cache that is read. */
#define CACHE_SIZE_MAX (64 * 1024 * 1024)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE /* any */
#endif

/* The loader passes over libraries of other machines, which share names and even folders. */
static bool is_for_this_machine(int fd) {
    Elf64_Ehdr header;
    return pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           (MACHINE == EM_NONE || header.e_machine == MACHINE);
}

static int open_path(const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 &&
        (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !is_for_this_machine(fd))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int open_in(const char *folder, size_t length, const char *name, char *ret_path) {
    return snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)length, folder, name) < PATH_MAX
                   ? open_path(ret_path)
                   : -1;
}

/* The rest of an entry after "$ORIGIN" or "${ORIGIN}"; NULL: it does not begin so. */
static const char *after_origin(const char *entry, size_t length) {
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        size_t word = strlen(words[i]);
        if (length >= word && strncmp(entry, words[i], word) == 0) {
            return entry + word;
        }
    }
    return NULL;
}

static int open_in_run_path(const char *run_path, const char *origin, const char *name,
                            char *ret_path) {
    int fd = -1;
    for (const char *at = run_path; fd < 0 && at != NULL && *at != '\0';) {
        char folder[PATH_MAX];
        size_t length = strcspn(at, ":");
        const char *rest = after_origin(at, length);
        if (*at == '/' && length < sizeof folder) {
            fd = open_in(at, length, name, ret_path);
        } else if (rest != NULL && origin != NULL &&
                   snprintf(folder, sizeof folder, "%s%.*s", origin,
                            (int)(length - (size_t)(rest - at)), rest) < (int)sizeof folder) {
            fd = open_in(folder, strlen(folder), name, ret_path);
        }
        at += length + (at[length] == ':');
    }
    return fd;
}

/* The cache has each library's path as a string with its final zero: each that ends in "/name" is
 * tried. */
static int open_in_cache(const char *name, char *ret_path) {
    CLEANUP(closep) int cache_fd = open(CACHE, O_RDONLY | O_CLOEXEC);
    char wanted[NAME_MAX + 2];
    struct stat status;
    int length = snprintf(wanted, sizeof wanted, "/%s", name);
    if (cache_fd < 0 || fstat(cache_fd, &status) < 0 || status.st_size <= 0 ||
        status.st_size > CACHE_SIZE_MAX || length >= (int)sizeof wanted) {
        return -1;
    }
    size_t size = (size_t)status.st_size;
    char *cache = mmap(NULL, size, PROT_READ, MAP_PRIVATE, cache_fd, 0);
    if (cache == MAP_FAILED) {
        return -1;
    }
    int fd = -1;
    const char *end = cache + size;
    for (const char *at = cache; fd < 0 && at < end; at++) {
        at = memmem(at, (size_t)(end - at), wanted, (size_t)length + 1);
        if (at == NULL) {
            break;
        }
        const char *before = memrchr(cache, '\0', (size_t)(at - cache));
        if (before != NULL && before[1] == '/' && at - before < PATH_MAX) {
            fd = open_in(before + 1, (size_t)(at - before) - 1, name, ret_path);
        }
    }
    (void)munmap(cache, size);
    return fd;
}

int library_open(const char *name, const char *run_path, const char *origin, char *ret_path) {
    static const char *const folders[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
    if (strchr(name, '/') != NULL) {
        return snprintf(ret_path, PATH_MAX, "%s", name) < PATH_MAX ? open_path(ret_path) : -1;
    }
    int fd = open_in_run_path(run_path, origin, name, ret_path);
    if (fd < 0) {
        fd = open_in_cache(name, ret_path);
    }
    for (size_t i = 0; fd < 0 && i < ARRAY_LENGTH(folders); i++) {
        fd = open_in(folders[i], strlen(folders[i]), name, ret_path);
    }
    return fd;
}
