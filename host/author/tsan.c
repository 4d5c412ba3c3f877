#include "author/tsan.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "author/again.h"
#include "author/inside.h"
#include "base/cleanup.h"
#include "base/file.h"

/* In the environment of the command that has become itself again: it does so once. */
#define BECOMING  "TOOLRACK_UNDER_TSAN"
#define NAME_ROOM 256u

/* Reports are read by the test, which decides about the exit code, and a child that forks is none
 * that is to be reported. Those of the user come first. */
#define RUNTIME_OPTIONS                                                                           \
    "exitcode=0:atexit_sleep_ms=0:die_after_fork=0:halt_on_error=0:report_bugs=1:"                \
    "report_signal_unsafe=0:report_thread_leaks=0:report_destroy_locked=0:second_deadlock_stack=" \
    "0:"                                                                                          \
    "history_size=4"

bool tsan_is_here(void) {
    return dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

/* ------------------------------------------------------------------- the file */

/* The bytes of a file, mapped. */
struct mapped {
    char *data;
    size_t length;
};

static void unmap(struct mapped *mapped) {
    if (mapped->data != NULL) {
        (void)munmap(mapped->data, mapped->length);
    }
}

static struct mapped map(const char *file) {
    CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        status.st_size > FILE_SIZE_MAX) {
        return (struct mapped){0};
    }
    size_t length = (size_t)status.st_size;
    char *data = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
    return data != MAP_FAILED ? (struct mapped){.data = data, .length = length}
                              : (struct mapped){0};
}

/* Names of symbols and libraries stand in a table of strings that end with NUL. No structure of
 * the file is followed, so none can lead anywhere. */
static const char *find_string(const struct mapped *mapped, const char *begin, size_t length) {
    return mapped->data != NULL ? memmem(mapped->data, mapped->length, begin, length) : NULL;
}

static bool has_init(const struct mapped *mapped) {
    return find_string(mapped, "\0__tsan_init", sizeof "\0__tsan_init") != NULL;
}

bool tsan_is_wanted(const char *file) {
    CLEANUP(unmap) struct mapped mapped = map(file);
    return has_init(&mapped);
}

/* The runtime that the file needs as a library, as gcc makes it; "": it names none, as clang makes
 * it, whose programs have the runtime in them. */
static void find_needed(const struct mapped *mapped, char ret[NAME_ROOM]) {
    static const char begin[] = "\0libtsan.so.";
    const char *at = find_string(mapped, begin, sizeof begin - 1);
    ret[0] = '\0';
    if (at != NULL) {
        size_t left = mapped->length - (size_t)(at + 1 - mapped->data);
        size_t length = strnlen(at + 1, left < NAME_ROOM ? left : NAME_ROOM);
        if (length < NAME_ROOM && length < left) {
            memcpy(ret, at + 1, length + 1);
        }
    }
}

/* ---------------------------------------------------------------- the runtime */

/* gcc's, which takes the code of clang as well: that of clang is part of a program, or a library
 * that cannot be loaded before one. Of several the newest.
 * @return whether there is one */
static bool find_installed(char ret[NAME_ROOM]) {
    static const char *const patterns[] = {"/usr/lib/*-linux-gnu/libtsan.so.[0-9]",
                                           "/usr/lib64/libtsan.so.[0-9]",
                                           "/usr/lib/libtsan.so.[0-9]"};
    glob_t found = {0};
    ret[0] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
        (void)glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        if (strcmp(name, ret) > 0) { /* the loader knows the folder for this processor */
            (void)snprintf(ret, NAME_ROOM, "%s", name);
        }
    }
    globfree(&found);
    return ret[0] != '\0';
}

static int find_runtime(const char *file, char ret[NAME_ROOM], struct toolrack_error *err) {
    static const char of_clang[] = "\0libclang_rt.tsan";
    CLEANUP(unmap) struct mapped mapped = map(file);
    if (find_string(&mapped, of_clang, sizeof of_clang - 1) != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s needs clang's library of ThreadSanitizer, which cannot be loaded "
                         "before a program; build it without -shared-libsan",
                         file);
    }
    find_needed(&mapped, ret);
    return ret[0] != '\0' || find_installed(ret)
                   ? 0
                   : error_set(err, TOOLRACK_E_IO,
                               "%s was built with ThreadSanitizer by clang, which takes the "
                               "runtime of gcc here, and there is none; install libtsan.so "
                               "(Debian: libtsan2), or name it by LD_PRELOAD",
                               file);
}

int tsan_become(const char *file, struct toolrack_error *err) {
    char runtime[NAME_ROOM];
    int code = find_runtime(file, runtime, err);
    if (code < 0) {
        return code;
    }
    if (getenv(BECOMING) != NULL) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s was built with ThreadSanitizer, whose runtime %s cannot be loaded "
                         "here; install it (Debian: libtsan2), or name it by LD_PRELOAD",
                         file, runtime);
    }
    if (setenv(BECOMING, "1", 1) < 0 || again_add_variable("LD_PRELOAD", runtime) < 0 ||
        again_add_variable("TSAN_OPTIONS", RUNTIME_OPTIONS) < 0) {
        return error_oom(err);
    }
    /* The runtimes of older compilers refuse to start where addresses are random in many bits. */
    int before = personality(0xffffffff);
    if (before >= 0) {
        (void)personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    }
    return again_start(err);
}

/* ---------------------------------------------------------------- its reports */

void tsan_begin_reports(const char *path) {
    void (*set_path)(const char *) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "__sanitizer_set_report_path");
    memcpy(&set_path, &found, sizeof set_path);
    if (set_path != NULL) {
        set_path(path);
    }
}

/* Whether the code that the report is about is the plugin's: the frames of its two accesses are
 * before what it says of threads and memory. */
static bool is_about(const char *report, size_t length, const char *plugin) {
    static const char *const ends[] = {"\n  Location is ", "\n  Thread T", "\n  As if synchronized",
                                       "\n  Mutex M"};
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        const char *end = memmem(report, length, ends[i], strlen(ends[i]));
        length = end != NULL ? (size_t)(end - report) : length;
    }
    return memmem(report, length, plugin, strlen(plugin)) != NULL;
}

bool tsan_next_report(const char **at, const char *plugin, struct buf *out) {
    static const char begin[] = "WARNING: ThreadSanitizer: ";
    static const char last[] = "SUMMARY: ThreadSanitizer: ";
    const char *from;
    while ((from = strstr(*at, begin)) != NULL) {
        const char *summary = strstr(from, last);
        if (summary == NULL) { /* cut: the process ended */
            break;
        }
        const char *words = summary + sizeof last - 1;
        *at = words;
        if (is_about(from, (size_t)(summary - from), plugin)) {
            buf_add(out, words, strcspn(words, "\n"));
            buf_add_char(out, '\n');
            size_t length = (size_t)(summary - from);
            while (length > 0 && from[length - 1] == '\n') {
                length--;
            }
            buf_add(out, from, length);
            return true;
        }
    }
    return false;
}
