#include "worker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sanitizer.h"
#include "worker/child.h"

/* -------------------------------------------------------------- environment */

/* Variables that every program expects; a granted variable of the same name comes first. */
static const char *const usual[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};

/* Options of the worker program's sanitizers, if it was built with them. */
static const char *const sanitizer_names[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                                              "LSAN_OPTIONS"};

static bool has_name(char *const *list, size_t count, const char *entry) {
    size_t length = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(list[i], entry, length) == 0) {
            return true;
        }
    }
    return false;
}

char *const *process_environment(struct arena *arena, const char *const *granted) {
    size_t granted_count = 0;
    while (granted != NULL && granted[granted_count] != NULL) {
        granted_count++;
    }
    size_t count = 0;
    char **list = arena_alloc(
            arena, (granted_count + ARRAY_LENGTH(usual) + ARRAY_LENGTH(sanitizer_names) + 1) *
                           sizeof *list);
    bool failed = list == NULL;
    for (size_t i = 0; !failed && i < granted_count; i++) {
        list[count] = arena_copy(arena, granted[i], strlen(granted[i]));
        failed = list[count++] == NULL;
    }
    for (size_t i = 0; !failed && i < ARRAY_LENGTH(usual); i++) {
        if (!has_name(list, count, usual[i])) {
            list[count] = arena_copy(arena, usual[i], strlen(usual[i]));
            failed = list[count++] == NULL;
        }
    }
    for (size_t i = 0;
         (SANITIZER_ADDRESS || SANITIZER_THREAD) && !failed && i < ARRAY_LENGTH(sanitizer_names);
         i++) {
        const char *value = getenv(sanitizer_names[i]);
        if (value != NULL) {
            list[count] = arena_printf(arena, "%s=%s", sanitizer_names[i], value);
            failed = list[count++] == NULL;
        }
    }
    if (failed) {
        return NULL;
    }
    list[count] = NULL;
    return list;
}

/* -------------------------------------------------------------- descriptors */

/* Numbers of the worker's ends in the worker. In the host these descriptors must have higher
 * numbers, or dup2() would overwrite one of them. */
enum { CHILD_INPUT, CHILD_OUTPUT, CHILD_ERROR, CHILD_SOCKET, CHILD_NOTICES, CHILD_END_COUNT };
_Static_assert(CHILD_SOCKET == WORKER_SOCKET && CHILD_NOTICES == WORKER_NOTICES,
               "ends are numbered as the worker has them");

/* The worker's ends in the host. Those of the output, of the errors and of the notices are one
 * pipe: the log does not tell the first two apart, as at a terminal, and the notices are marked
 * (notice.h). Each pipe less is a descriptor less for as long as the worker lives. */
struct ends {
    int fds[CHILD_END_COUNT];
};

static void ends_finish(struct ends *ends) {
    for (size_t i = 0; i < ARRAY_LENGTH(ends->fds); i++) {
        closep(&ends->fds[i]);
    }
}

static void process_finish(struct process *process) {
    closep(&process->pidfd);
    closep(&process->socket);
    closep(&process->output);
    process_end_group(process);
}

/* Duplicate `fd` to a number above those of the worker and close `fd`; -1 on failure. */
static int move_up(int fd) {
    if (fd < 0 || fd >= CHILD_END_COUNT) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_END_COUNT);
    (void)close(fd);
    return moved;
}

static bool make_pipe(int *ret_host, int *ret_child) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return false;
    }
    *ret_host = fds[0];
    *ret_child = move_up(fds[1]);
    return *ret_child >= 0 && fcntl(*ret_host, F_SETFL, O_NONBLOCK) == 0;
}

/* False with errno, and with what could not be made. */
static bool make_ends(struct process *process, struct ends *ends, const char **ret_what) {
    int pair[2];
    *ret_what = "open /dev/null for";
    ends->fds[CHILD_INPUT] = move_up(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (ends->fds[CHILD_INPUT] < 0) {
        return false;
    }
    *ret_what = "make the pipe and the socket of";
    if (!make_pipe(&process->output, &ends->fds[CHILD_OUTPUT]) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        return false;
    }
    process->socket = pair[0];
    ends->fds[CHILD_SOCKET] = move_up(pair[1]);
    return ends->fds[CHILD_SOCKET] >= 0;
}

/* -------------------------------------------------------------------- leash */

/* A worker asks the kernel to be killed when the host dies (child.h), but processes that it starts
 * cannot be made to ask, and may close or ignore what they inherit. So the host keeps both ends of
 * a pipe (the leash) that no other process gets. When the host ends for any reason, the kernel
 * closes one end first and sends the signal of the other end, SIGKILL, to the worker's whole group,
 * which no process in it can leave (sandbox-filter.c). The owner of a descriptor is the group
 * itself, not its number, so a later group with the same number gets no signal. A child of the app
 * that forked without exec keeps the leash open until that child ends. */
static bool attach(int end, pid_t group) {
    const struct f_owner_ex owner = {.type = F_OWNER_PGRP, .pid = group};
    return fcntl(end, F_SETOWN_EX, &owner) == 0 && fcntl(end, F_SETSIG, SIGKILL) == 0 &&
           fcntl(end, F_SETFL, O_ASYNC) == 0;
}

bool process_put_on_leash(struct process *process) {
    return pipe2(process->leash, O_CLOEXEC) == 0 && attach(process->leash[0], process->pid) &&
           attach(process->leash[1], process->pid);
}

void process_end_group(struct process *process) {
    for (size_t i = 0; i < ARRAY_LENGTH(process->leash); i++) {
        closep(&process->leash[i]);
        process->leash[i] = -1;
    }
}

/* -------------------------------------------------------------------- spawn */

int process_start(const char *program, char *const *arguments, char *const *environment,
                  const int *fds, int count, pid_t *ret) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int failed = posix_spawnattr_init(&attributes);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                               POSIX_SPAWN_SETSIGDEF);
        for (int i = 0; i < count && failed == 0; i++) {
            failed = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
        }
        if (failed == 0) {
            failed = posix_spawn_file_actions_addclosefrom_np(&actions, count);
        }
        if (failed == 0) {
            failed = posix_spawn(ret, program, &actions, &attributes, arguments, environment);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

static int start_worker(const char *program, char *const *environment, const struct ends *ends,
                        pid_t *ret) {
    char name[] = "toolrack-worker";
    char *const arguments[] = {name, NULL};
    int fds[CHILD_END_COUNT];
    for (int i = 0; i < CHILD_END_COUNT; i++) {
        fds[i] = ends->fds[i == CHILD_ERROR || i == CHILD_NOTICES ? CHILD_OUTPUT : i];
    }
    return process_start(program, arguments, environment, fds, CHILD_END_COUNT, ret);
}

int process_spawn(const char *program, char *const *environment, bool may_start_others,
                  struct process *ret, struct toolrack_error *err) {
    CLEANUP(process_finish) struct process process = PROCESS_NONE;
    CLEANUP(ends_finish) struct ends ends = {.fds = {-1, -1, -1, -1, -1}};
    const char *what;
    if (!make_ends(&process, &ends, &what)) {
        return error_set(err, TOOLRACK_E_IO, "cannot %s a worker: %s%s", what, strerror(errno),
                         errno == EMFILE   ? "; raise the limit of open files (ulimit -n)"
                         : errno == ENOENT ? "; make the device, as all programs need it (mknod -m "
                                             "666 /dev/null c 1 3)"
                                           : "");
    }
    int failed = start_worker(program, environment, &ends, &process.pid);
    if (failed != 0) {
        bool is_missing = failed == ENOENT || failed == EACCES || failed == ENOEXEC;
        int code = error_set(err, TOOLRACK_E_IO, "cannot start the worker program %s: %s%s",
                             program, strerror(failed),
                             is_missing ? "; install toolrack's worker program there, or name it "
                                          "in TOOLRACK_WORKER"
                                        : "");
        if (err != NULL) {
            err->lasting = is_missing;
        }
        return code;
    }
    /* Without a pidfd its end could not be noticed. The process id is valid until it is reaped,
     * which only an app that waits for children of others could have done by now. It has its own
     * session since before posix_spawn() returned, and it does nothing yet. */
    process.pidfd = pidfd_open(process.pid, 0);
    if (process.pidfd < 0 || (may_start_others && !process_put_on_leash(&process))) {
        int code = error_set(err, TOOLRACK_E_IO, "cannot watch a worker that was started: %s",
                             strerror(errno));
        (void)kill(process.pid, SIGKILL);
        (void)waitpid(process.pid, NULL, 0);
        return code;
    }
    *ret = process;
    process = PROCESS_NONE;
    return 0;
}

bool process_is_alive(const struct process *process) {
    siginfo_t info = {0};
    return waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

void process_discard(struct process *process) {
    if (process->pidfd < 0) {
        return;
    }
    (void)pidfd_send_signal(process->pidfd, SIGKILL, NULL, 0);
    (void)waitid(P_PIDFD, (id_t)process->pidfd, &(siginfo_t){0}, WEXITED);
    process_finish(process);
    *process = PROCESS_NONE;
}
