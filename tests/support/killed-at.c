/* killed-at.c - loaded before a program (LD_PRELOAD), it kills the program at the n-th call that
 * changes a folder or puts something on the disk, before that call does anything: n is KILLED_AT in
 * the environment. So what a crash leaves is seen after each step. With FAILED_AT that call fails
 * instead, as if the disk were full.
 *
 * The program itself has nothing for it. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_ulong calls;

/* Returns whether this call fails. */
static bool step(void) {
    const char *killed = getenv("KILLED_AT");
    const char *failed = getenv("FAILED_AT");
    unsigned long call = atomic_fetch_add(&calls, 1) + 1;
    if (killed != NULL && call == strtoul(killed, NULL, 10)) {
        (void)kill(getpid(), SIGKILL);
    }
    return failed != NULL && call == strtoul(failed, NULL, 10);
}

#define STEP(result, name, parameters, ...)                         \
    result name parameters {                                        \
        static result(*_Atomic real) parameters;                    \
        result(*next) parameters = real;                            \
        if (next == NULL) {                                         \
            void *found = dlsym(RTLD_NEXT, #name);                  \
            real = next = *(result(**) parameters)(void *)(&found); \
        }                                                           \
        if (step()) {                                               \
            errno = ENOSPC;                                         \
            return -1;                                              \
        }                                                           \
        return next(__VA_ARGS__);                                   \
    }

STEP(int, fsync, (int fd), fd)
STEP(int, fdatasync, (int fd), fd)
STEP(int, rename, (const char *from, const char *to), from, to)
STEP(int, renameat, (int a, const char *from, int b, const char *to), a, from, b, to)
STEP(int, symlinkat, (const char *target, int folder, const char *name), target, folder, name)
STEP(int, unlinkat, (int folder, const char *name, int flags), folder, name, flags)
STEP(int, unlink, (const char *name), name)
STEP(int, mkdirat, (int folder, const char *name, mode_t mode), folder, name, mode)
STEP(int, mkdir, (const char *name, mode_t mode), name, mode)
