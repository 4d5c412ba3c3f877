#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"

/* Exit codes of a shell that did not find the command, or could not run it. */
#define SHELL_NOT_FOUND 127
#define SHELL_CANNOT    126

extern char **environ;

const char *pager_command(void) {
    const char *term = getenv("TERM");
    const char *command = getenv("TOOLRACK_PAGER");
    command = command != NULL ? command : getenv("PAGER");
    command = command != NULL ? command : "less";
    bool none = command[0] == '\0' || strcmp(command, "cat") == 0 || term == NULL ||
                term[0] == '\0' || strcmp(term, "dumb") == 0;
    return none ? NULL : command;
}

/* ----------------------------------------------------------------- signals */

static volatile sig_atomic_t pager_pid;
static volatile sig_atomic_t ended_by;

/* The pager must not outlive this process and take the terminal from the shell. */
static void end_pager(int number) {
    ended_by = number;
    if (pager_pid > 0) {
        (void)kill((pid_t)pager_pid, number);
    }
}

static const struct {
    int number;
    void (*handler)(int number);
} signals[] = {{SIGINT, SIG_IGN}, {SIGQUIT, SIG_IGN}, {SIGTERM, end_pager}, {SIGHUP, end_pager}};

static void take_signals(struct sigaction before[]) {
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        struct sigaction action = {.sa_handler = signals[i].handler};
        (void)sigaction(signals[i].number, NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) {
            (void)sigaction(signals[i].number, &action, NULL);
        }
    }
}

static void give_back_signals(const struct sigaction before[]) {
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        (void)sigaction(signals[i].number, &before[i], NULL);
    }
}

/* ----------------------------------------------------------------- process */

/* Whether the shell would run a command as its child, or `exec` does not take it. */
static bool is_compound(const char *command) {
    return strpbrk(command, "|&;<>()`=\n") != NULL;
}

/* Start the pager with `input` as its standard input, and its signals as they were here. */
static int start(const char *command, int input, const struct sigaction before[], pid_t *ret) {
    /* The pager takes the place of the shell, so that a signal for it reaches it. */
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_printf(&line, "%s%s", is_compound(command) ? "" : "exec ", command);
    if (line.failed) {
        return ENOMEM;
    }
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, line.data, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    (void)sigemptyset(&usual);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        if (before[i].sa_handler != SIG_IGN) {
            (void)sigaddset(&usual, signals[i].number);
        }
    }
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        (void)posix_spawnattr_setsigdefault(&attributes, &usual);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        failed = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        failed = failed != 0 ? failed
                             : posix_spawn(ret, "/bin/sh", &actions, &attributes, argv, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Wait for its end. @return whether it had been found. */
static bool wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return true;
        }
    }
    return !WIFEXITED(status) ||
           (WEXITSTATUS(status) != SHELL_NOT_FOUND && WEXITSTATUS(status) != SHELL_CANNOT);
}

bool pager_show(const char *command, const char *text, size_t length, int *ret_signal) {
    struct sigaction before[ARRAY_LENGTH(signals)];
    int ends[2];
    pid_t pid = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    (void)setenv("LESS", "FRX", 0);
    take_signals(before);
    bool shown = start(command, ends[0], before, &pid) == 0;
    (void)close(ends[0]);
    if (shown) {
        pager_pid = pid;
        if (ended_by != 0) {
            (void)kill(pid, ended_by); /* it came while there was no pager yet */
        }
        (void)write_all(ends[1], text, length); /* a pager that was left reads no more */
    }
    (void)close(ends[1]);
    shown = shown && wait_for(pid);
    pager_pid = 0;
    give_back_signals(before);
    *ret_signal = ended_by;
    return shown;
}
