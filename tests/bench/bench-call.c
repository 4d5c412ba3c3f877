/* What a whole call costs through the embedding API, against the same work put together by hand.
 * host/README.md (calls in process) has how this floor and that of the goals differ.
 *
 * The work: find the tool among 1,000 by its name, parse about 100 bytes of arguments, check them
 * against a schema of five parameters, run the tool, write about 190 bytes of JSON. The floor does
 * it with code written for this one tool; ours with statistics on, for any tool. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "hand-tools.h"

/* ------------------------------------------------------------ the tools */

static const char json_schema[] = TR_SCHEMA({
    "type" : "object",
    "properties" : {
        "path" : {"type" : "string", "minLength" : 1, "maxLength" : 4096},
        "mode" : {"type" : "string", "enum" : [ "literal", "regex", "glob" ]},
        "limit" : {"type" : "integer", "minimum" : 1, "maximum" : 1000},
        "ratio" : {"type" : "number", "minimum" : 0, "maximum" : 1},
        "recursive" : {"type" : "boolean"}
    },
    "required" : [ "path", "mode" ],
    "additionalProperties" : false
});

static tr_status json(struct tr_call *call) {
    const char *path = "";
    const char *mode = "";
    int64_t limit = 10;
    double ratio = 0;
    bool recursive = false;
    (void)TR_GET_ALL(call, TR_GET(path), TR_GET(mode), TR_GET(limit), TR_GET(ratio),
                     TR_GET(recursive));
    int64_t matches = work(path, mode, limit, ratio, recursive);
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "text", result_text);
    (void)tr_put_i64(call, "matches", matches);
    (void)tr_put_bool(call, "is_error", false);
    return tr_put_end(call);
}

/* ------------------------------------------------------------ the host */

static struct toolrack *host;

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-call: %s: %s\n", what, err->message);
    exit(1);
}

static void register_tools(void) {
    static const struct tr_tool json_tool = {.size = sizeof(struct tr_tool),
                                             .name = "json",
                                             .description = "Search",
                                             .schema = json_schema,
                                             .run = json};
    static const struct tr_tool *const json_table[] = {&json_tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "bench_json",
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = json_table};
    struct toolrack_error err;
    if (register_hand_tools(host, &err) < 0 || toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("register", &err);
    }
}

static void call_host(const char *name, uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = deadline_ms;
    if (toolrack_call(host, name, arguments, &options, &result, &err) < 0) {
        die(name, &err);
    }
    BENCH_KEEP(toolrack_result_json(result, NULL));
    toolrack_result_free(result);
}

/* ------------------------------------------------------------ hand-over floor */

/* A caller and the thread that answers it; each caller has its own. */
struct pair {
    pthread_mutex_t lock;
    pthread_cond_t there;
    pthread_cond_t back;
    long asked;
    long answered;
    bool is_over;
    char out[HAND_OUT_MAX];
};

static void *answer_for_ever(void *argument) {
    struct pair *pair = argument;
    (void)pthread_mutex_lock(&pair->lock);
    for (;;) {
        while (pair->asked == pair->answered && !pair->is_over) {
            (void)pthread_cond_wait(&pair->there, &pair->lock);
        }
        if (pair->is_over) {
            break;
        }
        (void)pthread_mutex_unlock(&pair->lock);
        BENCH_KEEP(call_by_hand(TOOL_NAME, arguments, sizeof arguments - 1, true, pair->out));
        (void)pthread_mutex_lock(&pair->lock);
        pair->answered = pair->asked;
        (void)pthread_cond_signal(&pair->back);
    }
    (void)pthread_mutex_unlock(&pair->lock);
    return NULL;
}

/* ------------------------------------------------------------ rows */

static void row_floor_typed(long times) {
    char out[4096];
    for (long i = 0; i < times; i++) {
        BENCH_KEEP(call_by_hand(TOOL_NAME, arguments, sizeof arguments - 1, true, out));
    }
}

static void row_floor_json(long times) {
    char out[4096];
    for (long i = 0; i < times; i++) {
        BENCH_KEEP(call_by_hand(TOOL_NAME, arguments, sizeof arguments - 1, false, out));
    }
}

static void row_typed(long times) {
    for (long i = 0; i < times; i++) {
        call_host(TOOL_NAME, TOOLRACK_NO_DEADLINE);
    }
}

static void row_json(long times) {
    for (long i = 0; i < times; i++) {
        call_host("json", TOOLRACK_NO_DEADLINE);
    }
}

static void row_floor_handed(long times) {
    struct pair pair = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .there = PTHREAD_COND_INITIALIZER,
                        .back = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    (void)pthread_create(&thread, NULL, answer_for_ever, &pair);
    (void)pthread_mutex_lock(&pair.lock);
    for (long i = 0; i < times; i++) {
        pair.asked++;
        (void)pthread_cond_signal(&pair.there);
        while (pair.answered != pair.asked) {
            (void)pthread_cond_wait(&pair.back, &pair.lock);
        }
    }
    pair.is_over = true;
    (void)pthread_cond_signal(&pair.there);
    (void)pthread_mutex_unlock(&pair.lock);
    (void)pthread_join(thread, NULL);
}

static void row_handed(long times) {
    for (long i = 0; i < times; i++) {
        call_host(TOOL_NAME, 0);
    }
}

/* ------------------------------------------------------------ submitted calls */

#define IN_FLIGHT 64

static pthread_mutex_t batch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_over = PTHREAD_COND_INITIALIZER;
static atomic_long batch_left;

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)user;
    if (result == NULL) {
        die("a submitted call", err);
    }
    BENCH_KEEP(toolrack_result_json(result, NULL));
    toolrack_result_free(result);
    if (atomic_fetch_sub(&batch_left, 1) == 1) {
        (void)pthread_mutex_lock(&batch_lock);
        (void)pthread_cond_signal(&batch_over);
        (void)pthread_mutex_unlock(&batch_lock);
    }
}

/* What a server takes that reads as many requests at once. */
static bool take_batch(void *user) {
    long *left = user;
    if (*left <= 0) {
        return false;
    }
    *left -= IN_FLIGHT;
    for (int j = 0; j < IN_FLIGHT; j++) {
        struct toolrack_error err;
        if (toolrack_submit(host, TOOL_NAME, arguments, NULL, take_outcome, NULL, NULL, &err) < 0) {
            die("submit", &err);
        }
    }
    return true;
}

static void row_submitted(long times) {
    struct toolrack_source *source = NULL;
    struct toolrack_error err;
    long left = times / IN_FLIGHT * IN_FLIGHT;
    atomic_store(&batch_left, left);
    if (toolrack_source_start(host, take_batch, &left, &source, &err) < 0) {
        die("source", &err);
    }
    (void)pthread_mutex_lock(&batch_lock);
    while (atomic_load(&batch_left) > 0) {
        (void)pthread_cond_wait(&batch_over, &batch_lock);
    }
    (void)pthread_mutex_unlock(&batch_lock);
    toolrack_source_stop(source);
}

/* ------------------------------------------------------------ two threads */

/* What the machine gives to two threads that share nothing. */
static void row_alone(long times) {
    uint64_t hash = 1;
    for (long i = 0; i < 250 * times; i++) {
        hash = (hash ^ (uint64_t)i) * UINT64_C(0x100000001b3);
    }
    BENCH_KEEP(hash);
}

/* A thread that runs a row, on a CPU of its own: otherwise the scheduler may put callers and the
 * threads of the host all on one CPU, where nothing can be gained. */
struct runner {
    const struct bench_row *row;
    int cpu; /* of those that the program has, which one */
    pthread_t thread;
};

static void pin_to(int number) {
    cpu_set_t all;
    cpu_set_t one;
    CPU_ZERO(&one);
    (void)sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0, left = number % CPU_COUNT(&all); cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &all) && left-- == 0) {
            CPU_SET((size_t)cpu, &one);
        }
    }
    (void)sched_setaffinity(0, sizeof one, &one);
}

static void *run_pinned(void *argument) {
    const struct runner *runner = argument;
    pin_to(runner->cpu);
    runner->row->run(runner->row->times);
    return NULL;
}

#define RUNNERS_MAX 64

/* How long some threads need that run a row at once. */
static double run_together(const struct bench_row *row, int count) {
    struct runner runners[RUNNERS_MAX];
    uint64_t start_ns = clock_now_ns();
    for (int i = 0; i < count; i++) {
        runners[i] = (struct runner){.row = row, .cpu = i};
        (void)pthread_create(&runners[i].thread, NULL, run_pinned, &runners[i]);
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(runners[i].thread, NULL);
    }
    return (double)(clock_now_ns() - start_ns);
}

/* How many times the calls that one thread makes two of them make in the same time. */
static double gain(const struct bench_row *row) {
    double gains[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double alone_ns = run_together(row, 1);
        gains[i] = 2 * alone_ns / run_together(row, 2);
    }
    qsort(gains, BENCH_ROUNDS, sizeof gains[0], bench_compare);
    return gains[BENCH_ROUNDS / 2];
}

static void show_the_work_is_the_same(void) {
    char out[4096];
    size_t length = call_by_hand(TOOL_NAME, arguments, sizeof arguments - 1, true, out);
    struct toolrack_error err;
    for (int i = 0; i < 2; i++) {
        struct toolrack_result *result = NULL;
        if (toolrack_call(host, i == 0 ? TOOL_NAME : "json", arguments, NULL, &result, &err) < 0) {
            die("call", &err);
        }
        const char *json = toolrack_result_json(result, NULL);
        if (strlen(json) != length || memcmp(json, out, length) != 0) {
            (void)fprintf(stderr, "bench-call: not the same work:\n%.*s\n%s\n", (int)length, out,
                          json);
            exit(1);
        }
        toolrack_result_free(result);
    }
    printf("%zu bytes of arguments, %zu bytes of result, one of %d tools\n", sizeof arguments - 1,
           length, TOOLS);
}

/* With a number the row of that number runs alone, for a profiler; with another one, so often; with
 * a third one, on so many threads. */
int main(int count, char **values) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    make_hand_tools();
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open", &err);
    }
    register_tools();
    show_the_work_is_the_same();

    struct bench_row rows[] = {
            {.name = "by hand, typed through libffi", .run = row_floor_typed, .times = 100000},
            {.name = "typed tool, caller's thread", .run = row_typed, .times = 100000},
            {.name = "by hand, parsed object", .run = row_floor_json, .times = 100000},
            {.name = "JSON tool, caller's thread", .run = row_json, .times = 100000},
            {.name = "by hand, on another thread", .run = row_floor_handed, .times = 5000},
            {.name = "typed tool, with a deadline", .run = row_handed, .times = 5000},
            {.name = "typed tool, submitted, 64 at once", .run = row_submitted, .times = 64000},
    };
    if (count > 1) {
        struct bench_row row = rows[(size_t)atoi(values[1]) % (sizeof rows / sizeof rows[0])];
        int threads = count > 3 ? atoi(values[3]) : 1;
        row.times = count > 2 ? atol(values[2]) : 3000000;
        (void)run_together(&row, threads < RUNNERS_MAX ? threads : RUNNERS_MAX);
        return 0;
    }
    bench_run(rows, sizeof rows / sizeof rows[0]);
    bench_print(&rows[0], NULL, NULL);
    bench_print(&rows[1], &rows[0], "1.6");
    bench_print(&rows[2], NULL, NULL);
    bench_print(&rows[3], &rows[2], "1.5");
    bench_print(&rows[4], NULL, NULL);
    bench_print(&rows[5], &rows[4], NULL);
    bench_print(&rows[6], &rows[0], NULL);
    const struct bench_row alone = {.name = "arithmetic", .run = row_alone, .times = 100000};
    const struct bench_row *const both[] = {&alone, &rows[1], &rows[3], &rows[4], &rows[5]};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        printf("%-44s %10.2f x one thread\n", both[i]->name, gain(both[i]));
    }
    toolrack_close(host);
    return 0;
}
