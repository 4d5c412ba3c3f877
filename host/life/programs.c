#include "life/programs.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Where a worker's PATH and shells look. */
static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

/* Most program headers that are read. */
#define HEADERS_MAX 64u

static const char *find(struct arena *arena, const char *program) {
    char path[PATH_MAX + sizeof "/usr/local/bin/"];
    CLEANUP(freep) char *real = program[0] == '/' ? realpath(program, NULL) : NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(folders) && real == NULL && program[0] != '/'; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folders[i], program);
        real = length < (int)sizeof path ? realpath(path, NULL) : NULL;
    }
    return real != NULL ? arena_copy(arena, real, strlen(real)) : NULL;
}

/* The loader that an ELF file names; false: none. */
static bool read_loader(int fd, char ret[PATH_MAX]) {
    Elf64_Ehdr file;
    if (pread(fd, &file, sizeof file, 0) != (ssize_t)sizeof file ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(Elf64_Phdr)) {
        return false;
    }
    for (unsigned i = 0; i < file.e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr header;
        off_t at = (off_t)(file.e_phoff + (uint64_t)i * sizeof header);
        if (pread(fd, &header, sizeof header, at) != (ssize_t)sizeof header) {
            return false;
        }
        if (header.p_type == PT_INTERP && header.p_filesz > 1 && header.p_filesz < PATH_MAX) {
            ssize_t size = (ssize_t)header.p_filesz;
            bool is_read = pread(fd, ret, (size_t)size, (off_t)header.p_offset) == size;
            ret[size] = '\0';
            return is_read && ret[0] == '/';
        }
    }
    return false;
}

/* The interpreter in the first line of a script; false: none. */
static bool read_interpreter(int fd, char ret[PATH_MAX]) {
    ssize_t length = pread(fd, ret, PATH_MAX - 1, 0);
    if (length < 3 || memcmp(ret, "#!", 2) != 0) {
        return false;
    }
    ret[length] = '\0';
    char *path = ret + 2 + strspn(ret + 2, " \t");
    path[strcspn(path, " \t\r\n")] = '\0';
    memmove(ret, path, strlen(path) + 1);
    return ret[0] == '/';
}

size_t program_files(struct arena *arena, const char *program, const char *ret[PROGRAM_FILES_MAX]) {
    char next[PATH_MAX];
    size_t count = 0;
    (void)snprintf(next, sizeof next, "%s", program);
    for (bool has_next = true; has_next && count < PROGRAM_FILES_MAX;) {
        const char *path = find(arena, next);
        CLEANUP(closep) int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (path == NULL) {
            break;
        }
        ret[count++] = path;
        has_next = fd >= 0 && (read_interpreter(fd, next) || read_loader(fd, next));
    }
    return count;
}
