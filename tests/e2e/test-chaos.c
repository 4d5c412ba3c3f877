/* Workers are killed at random while many threads call through the embedding API: each call ends
 * once, in time, with its own result or as ExecutionFailed; and nothing is left behind. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "patience.h"
#include "toolrack/toolrack.h"

#define CALLS        10000u
#define CALLERS      8u
#define DEADLINE_MS  10000u
/* How late an outcome may be on a busy machine. */
#define LATE_MS_MAX  15000u
/* Calls that have ended between two kills. */
#define CALLS_A_KILL 100u

static struct toolrack *host;
static atomic_uint begun;
static atomic_uint answered;
static atomic_uint failed;
static atomic_uint wrong;
static atomic_uint kills;
static atomic_bool over;

static uint64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void complain(const char *what, unsigned number, const char *detail) {
    atomic_fetch_add(&wrong, 1);
    print_message("# call %u %s: %s\n", number, what, detail);
}

static void call_one(unsigned number) {
    char arguments[64];
    char expected[64];
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error *err = toolrack_error_create();
    (void)snprintf(arguments, sizeof arguments, "{\"text\": \"call %u\"}", number);
    (void)snprintf(expected, sizeof expected, "\"call %u\"", number);
    options.deadline_ms = DEADLINE_MS;
    uint64_t start_ms = now_ms();
    int code = toolrack_call(host, "zoo_echo", arguments, &options, &result, err);
    uint64_t took_ms = now_ms() - start_ms;
    if (took_ms > DEADLINE_MS + LATE_MS_MAX) {
        complain("came late", number, toolrack_error_message(err));
    }
    if (code == 0) {
        atomic_fetch_add(&answered, 1);
        const char *json = toolrack_result_json(result, NULL);
        if (strcmp(json, expected) != 0) {
            complain("got the answer of another", number, json);
        }
        toolrack_result_free(result);
    } else {
        if (atomic_fetch_add(&failed, 1) == 0) {
            print_message("# the first that failed: %s\n", toolrack_error_message(err));
        }
        if (code != TOOLRACK_E_EXECUTION_FAILED) {
            complain(toolrack_code_name(code), number, toolrack_error_message(err));
        }
    }
    toolrack_error_free(err);
}

/* On a busy machine the killer may get no turn: the callers wait for it. */
static bool is_ahead(void) {
    return atomic_load(&answered) + atomic_load(&failed) >=
           (atomic_load(&kills) + 2) * CALLS_A_KILL;
}

static void *call_again_and_again(void *unused) {
    unsigned number;
    uint64_t since = 0;
    while ((number = atomic_fetch_add(&begun, 1)) < CALLS) {
        while (is_ahead() && patience_yield(&since)) {
        }
        call_one(number);
    }
    return unused;
}

/* Children of this process; of each its number, up to `room` of them. */
static size_t find_children(pid_t *ret, size_t room) {
    size_t count = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc)) != NULL && count < room;) {
        char path[300];
        int pid = atoi(entry->d_name);
        int parent = 0;
        char state = 0;
        (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *file = pid > 0 ? fopen(path, "re") : NULL;
        if (file != NULL && fscanf(file, "%*d (%*[^)]) %c %d", &state, &parent) == 2 &&
            parent == getpid()) {
            ret[count++] = pid;
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(proc);
    return count;
}

/* One kill after each so many calls: an event, not a time. */
static void *kill_at_random(void *unused) {
    unsigned seed = 20261122;
    unsigned next = CALLS_A_KILL;
    while (!atomic_load(&over)) {
        pid_t children[64];
        if (atomic_load(&answered) + atomic_load(&failed) < next) {
            (void)sched_yield();
            continue;
        }
        size_t count = find_children(children, sizeof children / sizeof children[0]);
        if (count > 0 && kill(children[(size_t)rand_r(&seed) % count], SIGKILL) == 0) {
            atomic_fetch_add(&kills, 1);
            next += CALLS_A_KILL;
        }
    }
    return unused;
}

static void write_config(const char *path) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fprintf(file, "{\"policies\": {\"zoo_echo\": {\"isolation\": \"process\", "
                        "\"workers\": 4, \"crashes\": 16, \"crashes_window_ms\": 1, "
                        "\"backoff_ms\": 1, \"backoff_max_ms\": 1}}}");
    assert_int_equal(fclose(file), 0);
}

static void open_host(const char *dir) {
    char config[256];
    struct toolrack_error *err = toolrack_error_create();
    const char *const folders[] = {getenv("E2E_ZOO"), NULL};
    assert_non_null(folders[0]);
    (void)snprintf(config, sizeof config, "%s/toolrack.json", dir);
    write_config(config);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config;
    options.state_dir = "";
    options.plugin_dirs = folders;
    if (toolrack_open(&options, &host, err) < 0) {
        fail_msg("%s", toolrack_error_message(err));
    }
    toolrack_error_free(err);
    (void)unlink(config);
}

static size_t count_descriptors(void) {
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

static void workers_are_killed_at_random(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-chaos-XXXXXX";
    pthread_t callers[CALLERS];
    pthread_t killer;
    size_t descriptors = count_descriptors();
    assert_non_null(mkdtemp(dir));
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0); /* orphans come to us */
    open_host(dir);
    assert_int_equal(pthread_create(&killer, NULL, kill_at_random, NULL), 0);
    for (unsigned i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, call_again_and_again, NULL), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        (void)pthread_join(callers[i], NULL);
    }
    atomic_store(&over, true);
    (void)pthread_join(killer, NULL);
    toolrack_close(host);
    print_message("# %u calls: %u answered, %u failed; %u workers killed\n", CALLS,
                  atomic_load(&answered), atomic_load(&failed), atomic_load(&kills));
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(atomic_load(&answered) + atomic_load(&failed), CALLS);
    assert_true(atomic_load(&answered) > CALLS / 2);
    assert_true(atomic_load(&kills) > CALLS / CALLS_A_KILL / 2);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, not even a dead one */
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(rmdir(dir), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(workers_are_killed_at_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
