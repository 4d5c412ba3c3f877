#include "life/programs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Where a worker's PATH and shells look. */
static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin", NULL};

/* Most program headers that are read. */
#define HEADERS_MAX 64u

const char *const *program_folders(void) {
    return folders;
}

/* --------------------------------------------------------------- what a file names */

enum format {
    FORMAT_NONE,
    FORMAT_SCRIPT, /* names an interpreter */
    FORMAT_ELF,
    FORMAT_ELF_LOADED /* names a loader */
};

static enum format read_elf(int fd, char ret[PATH_MAX]) {
    Elf64_Ehdr file;
    if (pread(fd, &file, sizeof file, 0) != (ssize_t)sizeof file ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0) {
        return FORMAT_NONE;
    }
    for (unsigned i = 0; file.e_phentsize == sizeof(Elf64_Phdr) && i < file.e_phnum; i++) {
        Elf64_Phdr header;
        off_t at = (off_t)(file.e_phoff + (uint64_t)i * sizeof header);
        if (i == HEADERS_MAX || pread(fd, &header, sizeof header, at) != (ssize_t)sizeof header) {
            break; /* what comes after is not granted */
        }
        if (header.p_type == PT_INTERP && header.p_filesz > 1 && header.p_filesz < PATH_MAX) {
            ssize_t size = (ssize_t)header.p_filesz;
            bool is_read = pread(fd, ret, (size_t)size, (off_t)header.p_offset) == size;
            ret[size] = '\0';
            return is_read ? FORMAT_ELF_LOADED : FORMAT_NONE;
        }
    }
    return FORMAT_ELF;
}

/* The interpreter in the first line of a script. */
static enum format read_script(int fd, char ret[PATH_MAX]) {
    ssize_t length = pread(fd, ret, PATH_MAX - 1, 0);
    if (length < 3 || memcmp(ret, "#!", 2) != 0) {
        return FORMAT_NONE;
    }
    ret[length] = '\0';
    char *path = ret + 2 + strspn(ret + 2, " \t");
    path[strcspn(path, " \t\r\n")] = '\0';
    memmove(ret, path, strlen(path) + 1);
    return FORMAT_SCRIPT;
}

/* ------------------------------------------------------------------------- one file */

/* The files that were found, and what is looked for now. */
struct search {
    struct arena *arena;
    struct program *program;
    const char *what; /* "the program" */
    char named[PATH_MAX];
    const char *refusal;
    bool failed;
};

/* It is the last word, also when there is no memory for it. */
static enum format refuse(struct search *search, const char *path, const char *why) {
    search->refusal = arena_printf(search->arena, "%s %s %s", search->what, path, why);
    search->failed = search->refusal == NULL;
    return FORMAT_NONE;
}

static bool walk(struct search *search, const char *path, struct guard_way *ret) {
    return guard_walk(search->arena, path, ret) && ret->exists;
}

static bool find(struct search *search, struct guard_way *ret) {
    char path[PATH_MAX + sizeof "/usr/local/bin/"];
    if (strchr(search->named, '/') != NULL) {
        return search->named[0] == '/' && walk(search, search->named, ret);
    }
    for (size_t i = 0; folders[i] != NULL; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folders[i], search->named);
        if (length < PATH_MAX && walk(search, path, ret)) {
            return true;
        }
    }
    return false;
}

/* The file that was found, and none that has taken its place since. Nothing else is opened: a pipe
 * would wait, a device may do anything. */
static int open_file(const char *path) {
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
        return -1;
    }
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd < 0 && errno == ENOSYS) { /* a kernel, or a filter, from before Linux 5.6 */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    }
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* Add the file that is looked for; what it names is put into `named`. */
static enum format add_file(struct search *search) {
    struct guard_way *way = &search->program->files[search->program->count];
    struct stat st;
    if (!find(search, way)) {
        return refuse(search, search->named, "does not exist; write the path of one that does");
    }
    search->program->count++;
    if (lstat(way->end, &st) < 0 || !S_ISREG(st.st_mode)) {
        return refuse(search, way->end, "is not a file; write the path of one program");
    }
    if (access(way->end, X_OK) < 0) {
        return refuse(search, way->end, "may not be executed by this user; see its mode (chmod)");
    }
    CLEANUP(closep) int fd = open_file(way->end);
    if (fd < 0) {
        return refuse(search, way->end, "cannot be read, so that what starts it is not known");
    }
    enum format format = read_script(fd, search->named);
    format = format == FORMAT_NONE ? read_elf(fd, search->named) : format;
    if (format == FORMAT_NONE) {
        return refuse(search, way->end, "is no program: neither of ELF nor a script with #!");
    }
    if (format != FORMAT_ELF && search->named[0] != '/') {
        return refuse(search, way->end,
                      "is started by what it names without an absolute path; name one");
    }
    return format;
}

int program_find(struct arena *arena, const char *program, struct program *ret,
                 const char **ret_refusal, struct toolrack_error *err) {
    struct search search = {.arena = arena, .program = ret, .what = "the program"};
    ret->count = 0;
    enum format format =
            snprintf(search.named, sizeof search.named, "%s", program) < (int)sizeof search.named
                    ? FORMAT_SCRIPT
                    : refuse(&search, "of that name", "has too long a path");
    while (format == FORMAT_SCRIPT && ret->count < PROGRAM_FILES_MAX - 1) {
        format = add_file(&search);
        search.what = "the interpreter";
    }
    if (format == FORMAT_SCRIPT) {
        (void)refuse(&search, search.named, "is one too many: scripts that scripts name");
    } else if (format == FORMAT_ELF_LOADED) {
        search.what = "the loader";
        format = add_file(&search);
        if (format == FORMAT_SCRIPT) {
            (void)refuse(&search, ret->files[ret->count - 1].end, "is a script");
        }
    }
    *ret_refusal = search.refusal;
    return search.failed ? error_oom(err) : 0;
}
