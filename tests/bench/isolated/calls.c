#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"
#include "by-hand.h"
#include "isolated/rows.h"
#include "toolrack/toolrack.h"

#define TIMES_MAX  3000
#define SILENCE_NS 1000000
#define IDLE_NS    1000000000

static struct boxes *boxes;
static char large_arguments[LARGE + 64];
static char bytes[LARGE + 64];

/* ------------------------------------------------------------------- the host */

static struct toolrack *open_host(enum toolrack_isolation isolation) {
    static const char *const folders[] = {WORKER_PLUGIN_FOLDER, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = folders;
    options.worker_program = WORKER_PROGRAM;
    options.isolation = isolation;
    if (toolrack_open(&options, &host, &err) < 0) {
        fail("call", err.message);
    }
    return host;
}

static struct toolrack_tool *get_tool(struct toolrack *host, const char *name) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    if (tool == NULL) {
        fail(name, "no such tool");
    }
    return tool;
}

/* One way of doing a call. */
struct target {
    struct toolrack *host; /* NULL: the floor */
    struct toolrack_tool *tool;
    const char *arguments;
    size_t size;
    uint32_t deadline_ms;
    size_t result_size;
};

static void call_tool(const struct target *target) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = target->deadline_ms;
    if (toolrack_tool_call(target->host, target->tool, target->arguments, target->size, &options,
                           &result, &err) < 0) {
        fail("call", err.message);
    }
    size_t size = 0;
    BENCH_KEEP(toolrack_result_json(result, &size));
    if (size != target->result_size) {
        fail("call", "another result than expected");
    }
    toolrack_result_free(result);
}

/* ------------------------------------------------------------------ the worker */

/* The number of the one worker: a child of this process. */
static pid_t find_worker(void) {
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    pid_t found = -1;
    while (processes != NULL && found < 0 && (entry = readdir(processes)) != NULL) {
        char path[300];
        int parent = 0;
        (void)snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        if (file != NULL) {
            if (fscanf(file, "%*d (toolrack-worker) %*c %d", &parent) == 1 && parent == getpid()) {
                found = (pid_t)atoi(entry->d_name);
            }
            (void)fclose(file);
        }
    }
    (void)closedir(processes);
    if (found < 0) {
        fail("call", "no worker");
    }
    return found;
}

/* ------------------------------------------------------------------- the floor */

/* What the worker of the floor does with what came; the size of its answer, in `out`. */
typedef uint32_t hand_work(const char *in, uint32_t size, char *out);

static uint32_t search(const char *in, uint32_t size, char *out) {
    return (uint32_t)call_by_hand(TOOL_NAME, in, size, true, out);
}

static uint32_t take_large(const char *in, uint32_t size, char *out) {
    (void)in;
    return (uint32_t)sprintf(out, "%u", size);
}

static uint32_t give_large(const char *in, uint32_t size, char *out) {
    (void)in;
    (void)size;
    (void)out; /* it lies there already */
    return LARGE + 2;
}

struct setup {
    enum placement placement;
    int times; /* in a round; the first tenth is not counted */
    bool is_silent;
    hand_work *work;
};

static void serve_by_hand(const struct setup *setup) {
    static char in[LARGE + 64];
    static char out[LARGE + 64];
    memset(out, 'x', sizeof out);
    for (int i = 0; i < setup->times; i++) {
        uint32_t size = box_receive(&boxes->to_worker, (unsigned)i, !setup->is_silent, in);
        box_send(&boxes->to_host, out, setup->work(in, size, out));
    }
    _exit(0);
}

static pid_t start_by_hand(const struct setup *setup) {
    clear_boxes(boxes);
    pid_t pid = fork();
    if (pid == 0) {
        place(0, setup->placement, false);
        serve_by_hand(setup);
    }
    return pid;
}

static void end_by_hand(pid_t pid) {
    int status = -1;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fail("floor", "the worker failed");
    }
}

static void call_by_mailbox(const struct setup *setup, const struct target *target, int i) {
    box_send(&boxes->to_worker, target->arguments, (uint32_t)target->size);
    uint32_t size = box_receive(&boxes->to_host, (unsigned)i, !setup->is_silent, bytes);
    if (size != target->result_size) {
        fail("floor", "another answer than expected");
    }
}

/* ----------------------------------------------------------------------- rounds */

/* The median of one round. */
static double measure(const struct setup *setup, const struct target *target) {
    static double ns[TIMES_MAX];
    pid_t pid = target->host == NULL ? start_by_hand(setup) : 0;
    place(0, setup->placement, true);
    for (int i = 0; i < setup->times; i++) {
        if (setup->is_silent) {
            (void)nanosleep(&(struct timespec){.tv_nsec = SILENCE_NS}, NULL);
        }
        uint64_t start = clock_now_ns();
        if (target->host == NULL) {
            call_by_mailbox(setup, target, i);
        } else {
            call_tool(target);
        }
        ns[i] = (double)(clock_now_ns() - start);
    }
    if (target->host == NULL) {
        end_by_hand(pid);
    }
    int first = setup->times / 10;
    int count = setup->times - first;
    qsort(ns + first, (size_t)count, sizeof ns[0], bench_compare);
    return ns[first + count / 2];
}

/* One kind of call and its floor; `here`, where it has a name, is the same call in this process. */
struct comparison {
    struct setup setup;
    const char *tool;
    const char *arguments;
    size_t size;
    size_t result_size;
    struct bench_row floor;
    struct bench_row row;
    const char *goal;
    struct bench_row here;
};

static void compare(struct comparison *comparison, struct toolrack *isolated,
                    struct toolrack *inside, pid_t worker) {
    struct target floor = {.arguments = comparison->arguments,
                           .size = comparison->size,
                           .result_size = comparison->result_size};
    struct target away = floor;
    struct target here = floor;
    away.host = isolated;
    away.tool = get_tool(isolated, comparison->tool);
    here.host = inside;
    here.tool = get_tool(inside, comparison->tool);
    here.deadline_ms = TOOLRACK_NO_DEADLINE;
    place(worker, comparison->setup.placement, false);
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        comparison->floor.ns[round] = measure(&comparison->setup, &floor);
        comparison->row.ns[round] = measure(&comparison->setup, &away);
        if (comparison->here.name != NULL) {
            comparison->here.ns[round] = measure(&comparison->setup, &here);
        }
    }
    print_pair(&comparison->floor, &comparison->row, comparison->goal);
    if (comparison->here.name != NULL) {
        qsort(comparison->here.ns, BENCH_ROUNDS, sizeof comparison->here.ns[0], bench_compare);
        bench_print(&comparison->here, NULL, NULL);
        bench_print(&comparison->row, &comparison->here, NULL);
    }
    toolrack_tool_unref(away.tool);
    toolrack_tool_unref(here.tool);
}

/* --------------------------------------------------------------------- idleness */

/* Nanoseconds on a CPU of all threads of a process, since they began. */
static uint64_t used_ns(pid_t pid) {
    char folder[64];
    uint64_t sum = 0;
    (void)snprintf(folder, sizeof folder, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(folder);
    struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        char path[400];
        unsigned long long ns = 0;
        (void)snprintf(path, sizeof path, "%s/%s/schedstat", folder, entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
        if (file != NULL) {
            if (fscanf(file, "%llu", &ns) != 1) {
                die(path);
            }
            sum += ns;
            (void)fclose(file);
        }
    }
    if (tasks == NULL) {
        die(folder);
    }
    (void)closedir(tasks);
    return sum;
}

/* Another process looks, so that the host does nothing but wait for it. */
static void print_idleness(pid_t worker) {
    int pipe_fds[2];
    uint64_t used[2] = {0};
    pid_t host = getpid();
    pid_t pid = pipe(pipe_fds) == 0 ? fork() : -1;
    if (pid == 0) {
        /* By then what was called is in the log. */
        const struct timespec moment = {.tv_nsec = IDLE_NS / 2};
        const struct timespec while_idle = {.tv_sec = IDLE_NS / CLOCK_NS_PER_S};
        (void)nanosleep(&moment, NULL);
        uint64_t before[2] = {used_ns(host), used_ns(worker)};
        (void)nanosleep(&while_idle, NULL);
        used[0] = used_ns(host) - before[0];
        used[1] = used_ns(worker) - before[1];
        _exit(write(pipe_fds[1], used, sizeof used) == sizeof used ? 0 : 1);
    }
    if (pid < 0 || read(pipe_fds[0], used, sizeof used) != sizeof used) {
        die("nobody looks");
    }
    end_by_hand(pid);
    printf("%-44s %10.1f ns  of CPU in one second; goal 0\n", "idle host", (double)used[0]);
    printf("%-44s %10.1f ns  of CPU in one second; goal 0\n", "idle worker", (double)used[1]);
}

/* ------------------------------------------------------------------------- rows */

static void make_large_arguments(void) {
    static const char begin[] = "{\"text\":\"";
    memset(large_arguments, 'x', LARGE);
    memcpy(large_arguments, begin, sizeof begin - 1);
    memcpy(large_arguments + LARGE - 2, "\"}", 3);
}

/* The call that most rows are about. */
#define SEARCH(...)                                                                                \
    {                                                                                              \
        .tool = "typed", .arguments = arguments, .size = sizeof arguments - 1, .result_size = 189, \
        __VA_ARGS__                                                                                \
    }
#define COUNT(...) \
    { .tool = "count", .arguments = large_arguments, .size = LARGE, .result_size = 7, __VA_ARGS__ }
#define FILL(...) \
    { .tool = "fill", .arguments = "{}", .size = 2, .result_size = LARGE + 2, __VA_ARGS__ }

static struct comparison comparisons[] = {
        SEARCH(.setup = {TWO_CPUS, 3000, false, search}, .floor.name = "floor.isolated.two",
               .row.name = "isolated call, two CPUs", .goal = "2.5"),
        SEARCH(.setup = {ONE_CPU, 3000, false, search}, .floor.name = "floor.isolated.one",
               .row.name = "isolated call, one CPU", .goal = "1.3"),
        SEARCH(.setup = {ANY_CPU, 3000, false, search}, .floor.name = "floor.isolated.any",
               .row.name = "isolated call, unpinned"),
        SEARCH(.setup = {TWO_CPUS, 120, true, search}, .floor.name = "floor.isolated.silence.two",
               .row.name = "isolated, 1 ms of silence, two CPUs", .goal = "1.15"),
        SEARCH(.setup = {ONE_CPU, 120, true, search}, .floor.name = "floor.isolated.silence.one",
               .row.name = "isolated, 1 ms of silence, one CPU", .goal = "1.15"),
        SEARCH(.setup = {ANY_CPU, 120, true, search}, .floor.name = "floor.isolated.silence.any",
               .row.name = "isolated, 1 ms of silence, unpinned", .goal = "1.15"),
        COUNT(.setup = {TWO_CPUS, 40, false, take_large}, .floor.name = "floor.arguments.1M.two",
              .row.name = "arguments of 1 MiB, two CPUs", .goal = "1.5",
              .here.name = "in.process.arguments.1M"),
        COUNT(.setup = {ONE_CPU, 40, false, take_large}, .floor.name = "floor.arguments.1M.one",
              .row.name = "arguments of 1 MiB, one CPU", .goal = "1.5",
              .here.name = "in.process.arguments.1M"),
        FILL(.setup = {TWO_CPUS, 40, false, give_large}, .floor.name = "floor.result.1M.two",
             .row.name = "result of 1 MiB, two CPUs", .goal = "1.5",
             .here.name = "in.process.result.1M"),
        FILL(.setup = {ONE_CPU, 40, false, give_large}, .floor.name = "floor.result.1M.one",
             .row.name = "result of 1 MiB, one CPU", .goal = "1.5",
             .here.name = "in.process.result.1M"),
};

void call_rows(const char *part) {
    make_large_arguments();
    make_hand_tools();
    boxes = make_boxes();
    memset(boxes, 0, sizeof *boxes);
    struct toolrack *isolated = open_host(TOOLRACK_ISOLATION_DEFAULT);
    struct toolrack *inside = open_host(TOOLRACK_ISOLATION_NONE);
    struct target first = {.host = isolated,
                           .tool = get_tool(isolated, "typed"),
                           .arguments = arguments,
                           .size = sizeof arguments - 1,
                           .result_size = 189};
    call_tool(&first);
    toolrack_tool_unref(first.tool);
    pid_t worker = find_worker();
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strstr(comparisons[i].row.name, part) != NULL) {
            compare(&comparisons[i], isolated, inside, worker);
        }
    }
    place(0, ANY_CPU, true);
    place(worker, ANY_CPU, false);
    print_idleness(worker);
    toolrack_close(isolated);
    toolrack_close(inside);
}
