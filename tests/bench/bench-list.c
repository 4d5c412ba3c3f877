/* What a command costs as a whole process, from its start until it is gone: `toolrack list --json`
 * and `toolrack call` in a worker, over a thousand plugins that an earlier one has scanned. */
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "plugins.h"
#include "remove-tree.h"

#define ROUNDS     40
#define SETTLE_S   3   /* before that a scan takes the files for unfinished */
#define EACH_LEAST 100 /* bytes of JSON about one tool, at least */

static char state[64] = "/tmp/toolrack-bench-XXXXXX";
static char output_path[128];

static void remove_all(void) {
    (void)remove_tree(state);
    remove_folder();
}

/* Run a program to its end, with no environment but the program of workers. */
static void run_program(const char *const *arguments, int output) {
    static char worker[] = "TOOLRACK_WORKER=" WORKER_PROGRAM;
    char *const environment[] = {worker, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    errno = posix_spawn(&child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments,
                        environment);
    if (errno != 0 || waitpid(child, &status, 0) != child || status != 0) {
        die(arguments[0]);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
}

static void run_true(int output) {
    const char *const arguments[] = {"/bin/true", NULL};
    run_program(arguments, output);
}

static void run_list(int output) {
    const char *const arguments[] = {TOOLRACK_COMMAND, "--plugins", folder, "--state", state,
                                     "list",           "--json",    NULL};
    run_program(arguments, output);
}

static void run_call(int output) {
    const char *const arguments[] = {
            TOOLRACK_COMMAND, "--plugins",         folder, "--state", state, "call",
            "bench_0000",     "{\"a\":1,\"b\":2}", NULL};
    run_program(arguments, output);
}

static void run_version(int output) {
    const char *const arguments[] = {TOOLRACK_COMMAND, "version", NULL};
    run_program(arguments, output);
}

static void run_stat_index(int output) {
    (void)output;
    if (floor_stat_index() != PLUGINS) {
        die("the plugins");
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

/* Once without a cache, and again when what that one has stored is settled too. */
static void warm(int output) {
    const struct timespec settle = {.tv_sec = SETTLE_S};
    struct stat st;
    for (int i = 0; i < 2; i++) {
        (void)nanosleep(&settle, NULL);
        if (ftruncate(output, 0) < 0 || lseek(output, 0, SEEK_SET) < 0) {
            die(output_path);
        }
        run_list(output);
    }
    if (fstat(output, &st) < 0 || st.st_size < PLUGINS * EACH_LEAST) {
        die("the list is too short");
    }
}

int main(void) {
    static struct row rows[] = {
            {.name = "spawn of /bin/true", .run = run_true},
            {.name = "stat of all and one read()", .run = run_stat_index},
            {.name = "toolrack version", .run = run_version, .goal = "1.2"},
            {.name = "toolrack list --json, 1,000 plugins", .run = run_list, .goal = "6"},
            {.name = "toolrack call in a worker, 1,000 plugins", .run = run_call, .goal = "4"},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    make_folder(SCAN_PLUGIN);
    if (mkdtemp(state) == NULL) {
        die(state);
    }
    (void)snprintf(output_path, sizeof output_path, "%s/output", state);
    (void)atexit(remove_all);
    int output = open(output_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (output < 0) {
        die(output_path);
    }
    warm(output);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS; i++) {
            if (ftruncate(output, 0) < 0 || lseek(output, 0, SEEK_SET) < 0) {
                die(output_path);
            }
            uint64_t start = clock_now_ns();
            rows[i].run(output);
            rows[i].times[round] = clock_now_ns() - start;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        qsort(rows[i].times, ROUNDS, sizeof rows[i].times[0], compare_times);
        printf("%-44s %10.2f ms  [%.2f .. %.2f]%s%s\n", rows[i].name,
               (double)rows[i].times[ROUNDS / 2] / CLOCK_NS_PER_MS,
               (double)rows[i].times[0] / CLOCK_NS_PER_MS,
               (double)rows[i].times[ROUNDS - 1] / CLOCK_NS_PER_MS,
               rows[i].goal != NULL ? "  goal " : "", rows[i].goal != NULL ? rows[i].goal : "");
    }
    (void)close(output);
    return EXIT_SUCCESS;
}
