/* What `toolrack call` costs as a whole process where a daemon with a thousand plugins serves,
 * beside the start of a process, that of the command, and the call without the daemon. */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "plugins.h"
#include "remove-tree.h"

#define ROUNDS   40
#define SETTLE_S 3 /* before that a scan takes the files for unfinished */

static char state[64] = "/tmp/toolrack-bench-XXXXXX";
static pid_t daemon_pid;

static void remove_all(void) {
    if (daemon_pid > 0) {
        (void)kill(daemon_pid, SIGTERM);
        (void)waitpid(daemon_pid, NULL, 0);
    }
    (void)remove_tree(state);
    remove_folder();
}

static pid_t start(const char *const *arguments, int output) {
    char *const environment[] = {(char[]){"TOOLRACK_WORKER=" WORKER_PROGRAM}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    errno = posix_spawn(&child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments,
                        environment);
    if (errno != 0) {
        die(arguments[0]);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return child;
}

static void run_program(const char *const *arguments, int output) {
    int status = 0;
    pid_t child = start(arguments, output);
    if (waitpid(child, &status, 0) != child || status != 0) {
        die(arguments[0]);
    }
}

static void run_true(int output) {
    const char *const arguments[] = {"/bin/true", NULL};
    run_program(arguments, output);
}

static void run_version(int output) {
    const char *const arguments[] = {TOOLRACK_COMMAND, "--version", NULL};
    run_program(arguments, output);
}

#define CALL                                                                       \
    TOOLRACK_COMMAND, "--plugins", folder, "--state", state, "call", "bench_0007", \
            "--"                                                                   \
            "arg",                                                                 \
            "a=1", "--arg", "b=2"

static void run_call(int output) {
    const char *const arguments[] = {CALL, NULL};
    run_program(arguments, output);
}

static void run_alone(int output) {
    const char *const arguments[] = {CALL, "--no-daemon", NULL};
    run_program(arguments, output);
}

/* Its first line says that it takes commands. */
static void start_daemon(void) {
    const char *const arguments[] = {TOOLRACK_COMMAND, "--plugins", folder,        "--state", state,
                                     "serve",          "--listen",  "127.0.0.1:0", NULL};
    const struct timespec settle = {.tv_sec = SETTLE_S};
    int ends[2];
    char byte = 0;
    (void)nanosleep(&settle, NULL);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        die("pipe");
    }
    daemon_pid = start(arguments, ends[1]);
    (void)close(ends[1]);
    while (byte != '\n') {
        if (read(ends[0], &byte, 1) != 1) {
            die("the daemon");
        }
    }
}

struct row {
    const char *name;
    void (*run)(int output);
    const char *goal;
    uint64_t times[ROUNDS];
};

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(void) {
    static struct row rows[] = {
            {.name = "spawn of /bin/true", .run = run_true},
            {.name = "toolrack --version", .run = run_version},
            {.name = "toolrack call, by a daemon with 1,000 plugins",
             .run = run_call,
             .goal = "  goal 3"},
            {.name = "toolrack call --no-daemon, 1,000 plugins", .run = run_alone},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    make_folder(SCAN_PLUGIN);
    if (mkdtemp(state) == NULL) {
        die(state);
    }
    (void)atexit(remove_all);
    start_daemon();
    int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
    run_call(output); /* loads the plugin */
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS; i++) {
            uint64_t begin = clock_now_ns();
            rows[i].run(output);
            rows[i].times[round] = clock_now_ns() - begin;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        qsort(rows[i].times, ROUNDS, sizeof rows[i].times[0], compare_times);
        printf("%-48s %10.2f ms  [%.2f .. %.2f]%s\n", rows[i].name,
               (double)rows[i].times[ROUNDS / 2] / CLOCK_NS_PER_MS,
               (double)rows[i].times[0] / CLOCK_NS_PER_MS,
               (double)rows[i].times[ROUNDS - 1] / CLOCK_NS_PER_MS,
               rows[i].goal != NULL ? rows[i].goal : "");
    }
    return EXIT_SUCCESS;
}
