/* How costs grow: of the registry with the number of tools, of the log with that of its rows, and
 * of workers with their number. Each table has a column for each number; BENCH_SVG names a file
 * that gets the same as curves. BENCH_TOOLS, BENCH_ROWS and BENCH_WORKERS are the most that are
 * measured: 65,000, 1 million and 100 without them, and 65,000, 10 million and 1,000 at most. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#define PLUGINS 1000
#include "plugins.h"

#include "base/cleanup.h"
#include "bench.h"
#include "curves.h"
#include "store/calls.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#define NAME_SIZE 64u
#define REPEATED  21u

static const double tool_counts[] = {10, 100, 1000, 4000, 16000, 65000};
static const double row_counts[] = {1e5, 1e6, 1e7};
static const double worker_counts[] = {1, 10, 100, 200, 1000};

static const char *const verbs[] = {"get",  "list", "create",  "delete", "update",
                                    "send", "find", "convert", "read",   "start"};
static const char *const nouns[] = {"user",    "file",   "message",  "report",  "invoice", "order",
                                    "weather", "image",  "calendar", "account", "server",  "route",
                                    "price",   "ticket", "language", "record"};

static void give_up(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-scale: %s: %s\n", what, err->message);
    exit(1);
}

/* ------------------------------------------------------------ the tools */

static tr_status run(struct tr_call *call) {
    return call->api->reply_json(call, "true", 4);
}

static void name_tool(unsigned number, char ret[static NAME_SIZE]) {
    (void)snprintf(ret, NAME_SIZE, "%s_%s_of_%s%u", verbs[number % ARRAY_LENGTH(verbs)],
                   nouns[number / 10 % ARRAY_LENGTH(nouns)],
                   nouns[number / 160 % ARRAY_LENGTH(nouns)], number);
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct toolrack *host;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        give_up("open", &err);
    }
    return host;
}

/* A plugin with one tool. */
static void register_one(struct toolrack *host, unsigned number) {
    char name[NAME_SIZE];
    char id[NAME_SIZE];
    struct toolrack_error err;
    name_tool(number, name);
    const struct tr_tool tool = {.size = sizeof tool,
                                 .name = name,
                                 .description = "Does what its name says",
                                 .schema = "{\"type\":\"object\"}",
                                 .run = run};
    const struct tr_tool *const table[] = {&tool};
    (void)snprintf(id, sizeof id, "plugin_%u", number);
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = id,
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = table};
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        give_up("register", &err);
    }
}

/* ------------------------------------------------------------ what is measured */

static unsigned tools_now;

static void set_enabled(struct toolrack *host, unsigned i) {
    char name[NAME_SIZE];
    struct toolrack_error err;
    name_tool(i / 2 * 7919 % tools_now, name);
    if (toolrack_set_enabled(host, name, i % 2 != 0, NULL, &err) < 0) {
        give_up("set_enabled", &err);
    }
}

static void call_unknown(struct toolrack *host, const char *name) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    if (toolrack_call(host, name, "{}", &options, &result, &err) != TOOLRACK_E_NOT_FOUND) {
        give_up("a call of an unknown name", &err);
    }
}

/* Two letters are wrong. */
static void call_misspelt(struct toolrack *host, unsigned i) {
    char name[NAME_SIZE];
    name_tool(i * 7919 % tools_now, name);
    name[1] = 'x';
    name[5] = 'q';
    call_unknown(host, name);
}

static void call_nonsense(struct toolrack *host, unsigned i) {
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "zzzz_qqqq_%u", i);
    call_unknown(host, name);
}

static void recommend(struct toolrack *host, unsigned i) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    (void)i;
    if (toolrack_recommend(host, NULL, &text, &err) < 0) {
        give_up("recommend", &err);
    }
    toolrack_text_unref(text);
}

/* The index of words follows each change from the first search on. */
static void search(struct toolrack *host, unsigned i) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    (void)i;
    options.text = "convert the image of the invoice";
    if (toolrack_search(host, &options, &text, &err) < 0) {
        give_up("search", &err);
    }
    toolrack_text_unref(text);
}

static const struct {
    const char *name;
    void (*run)(struct toolrack *host, unsigned i);
} measures[] = {{"set_enabled", set_enabled},
                {"misspelt name", call_misspelt},
                {"unknown name", call_nonsense},
                {"recommend", recommend},
                {"search", search},
                {"set_enabled, searched", set_enabled}};

static double middle_us(struct toolrack *host, void (*measured)(struct toolrack *, unsigned)) {
    double ns[REPEATED];
    for (unsigned i = 0; i < REPEATED; i++) {
        uint64_t start_ns = clock_now_ns();
        measured(host, i);
        ns[i] = (double)(clock_now_ns() - start_ns);
    }
    qsort(ns, REPEATED, sizeof ns[0], bench_compare);
    return ns[REPEATED / 2] / 1000;
}

static double us_since(uint64_t start_ns) {
    return (double)(clock_now_ns() - start_ns) / 1000;
}

/* Take those of the numbers that are not above the most. */
static void begin(struct curves *curves, const double *numbers, size_t count, const char *variable,
                  double most) {
    const char *stated = getenv(variable);
    most = stated != NULL ? strtod(stated, NULL) : most;
    while (curves->points < count && numbers[curves->points] <= most) {
        curves->numbers[curves->points] = numbers[curves->points];
        curves->points++;
    }
}

static void measure_tools(struct curves *curves) {
    *curves = (struct curves){.title = "registry", .what = "tools"};
    begin(curves, tool_counts, ARRAY_LENGTH(tool_counts), "BENCH_TOOLS", 65000);
    curves->count = 1 + ARRAY_LENGTH(measures);
    curves->curves[0].name = "register one";
    for (size_t k = 0; k < curves->points; k++) {
        tools_now = (unsigned)curves->numbers[k];
        struct toolrack *host = open_host();
        uint64_t start_ns = clock_now_ns();
        for (unsigned i = 0; i < tools_now; i++) {
            register_one(host, i);
        }
        curves->curves[0].us[k] = us_since(start_ns) / tools_now;
        for (size_t i = 0; i < ARRAY_LENGTH(measures); i++) {
            curves->curves[1 + i].name = measures[i].name;
            curves->curves[1 + i].us[k] = middle_us(host, measures[i].run);
        }
        toolrack_close(host);
    }
    curves_print(curves);
}

/* ------------------------------------------------------------------ the log */

#define BATCH    2048
#define ROWS_S   1000 /* rows in a second of the log */
#define FIRST_MS INT64_C(1700000000000)

static void add_rows(struct store *store, int64_t first) {
    static struct store_call calls[BATCH];
    static const struct store_calls_limits all;
    struct toolrack_error err;
    for (int64_t i = 0; i < BATCH; i++) {
        calls[i] = (struct store_call){.time_ms = FIRST_MS + (first + i) * 1000 / ROWS_S,
                                       .tool = "search_files",
                                       .version = "1.0.0",
                                       .plugin = "files bench",
                                       .caller = "bench",
                                       .duration_ns = 1000,
                                       .arguments = "{\"path\":\"/var/log\",\"limit\":20}",
                                       .result = "7"};
    }
    const struct store_statistics usage = {.tool = "search_files",
                                           .version = "1.0.0",
                                           .plugin = "files bench",
                                           .calls = BATCH,
                                           .first_ms = calls[0].time_ms,
                                           .last_ms = calls[BATCH - 1].time_ms};
    if (store_calls_add(store, calls, BATCH, &usage, 1, &all, &err) < 0) {
        give_up("add rows", &err);
    }
}

static void take_nothing(void *user, const struct store_call *call) {
    (void)user;
    BENCH_KEEP(call);
}

static double read_us(struct store *store, const struct store_calls_filter *filter) {
    double us[REPEATED];
    for (unsigned i = 0; i < REPEATED; i++) {
        struct toolrack_error err;
        uint64_t start_ns = clock_now_ns();
        if (store_calls_read(store, filter, take_nothing, NULL, &err) < 0) {
            give_up("read the log", &err);
        }
        us[i] = us_since(start_ns);
    }
    qsort(us, REPEATED, sizeof us[0], bench_compare);
    return us[REPEATED / 2];
}

static void measure_log(struct curves *curves) {
    static const char *const names[] = {"log: add a row", "log: the newest 100", "log: --since 1s",
                                        "log: --tool without match"};
    char state[] = "/tmp/toolrack-bench-XXXXXX";
    char command[64];
    struct toolrack_error err = {0};
    *curves = (struct curves){.title = "log", .what = "rows", .count = ARRAY_LENGTH(names)};
    begin(curves, row_counts, ARRAY_LENGTH(row_counts), "BENCH_ROWS", 1e6);
    struct store *store = store_open(mkdtemp(state), &err);
    if (store == NULL || err.code < 0) {
        give_up("open the store", &err);
    }
    int64_t rows = 0;
    for (size_t k = 0; k < curves->points; k++) {
        const int64_t before = rows;
        uint64_t start_ns = clock_now_ns();
        for (; rows < (int64_t)curves->numbers[k]; rows += BATCH) {
            add_rows(store, rows);
        }
        curves->curves[0].us[k] = us_since(start_ns) / (double)(rows - before);
        const struct store_calls_filter filters[] = {
                {.limit = 100},
                {.since_ms = FIRST_MS + (rows - ROWS_S) * 1000 / ROWS_S},
                {.tool = "never_called"}};
        for (size_t i = 0; i < ARRAY_LENGTH(filters); i++) {
            curves->curves[1 + i].us[k] = read_us(store, &filters[i]);
        }
        for (size_t i = 0; i < curves->count; i++) {
            curves->curves[i].name = names[i];
        }
    }
    store_close(store);
    (void)snprintf(command, sizeof command, "rm -r '%s'", state);
    if (system(command) != 0) {
        (void)fprintf(stderr, "bench-scale: %s is left\n", state);
    }
    curves_print(curves);
}

/* -------------------------------------------------------------- the workers */

static bool call_of_worker(struct toolrack *host, unsigned number) {
    char name[NAME_SIZE];
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    (void)snprintf(name, sizeof name, "bench_%04u", number);
    int code = toolrack_call(host, name, "{\"a\":1,\"b\":2}", NULL, &result, &err);
    if (code < 0) {
        (void)fprintf(stderr, "bench-scale: worker %u: %s\n", number, err.message);
    } else {
        toolrack_result_free(result);
    }
    return code == 0;
}

/* Call a tool of each of so many plugins; what one takes, or NAN if a call fails. */
static double call_workers(struct toolrack *host, unsigned count) {
    uint64_t start_ns = clock_now_ns();
    for (unsigned i = 0; i < count; i++) {
        if (!call_of_worker(host, i)) {
            return NAN;
        }
    }
    return us_since(start_ns) / count;
}

/* How many descriptors this process has, for each worker. */
static double descriptors_of(unsigned count) {
    DIR *dir = opendir("/proc/self/fd");
    double open_ones = 0;
    while (dir != NULL && readdir(dir) != NULL) {
        open_ones++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return open_ones / count;
}

static void measure_workers(struct curves *curves) {
    const char *dirs[] = {folder, NULL};
    struct rlimit limit;
    *curves = (struct curves){.title = "workers", .what = "workers", .count = 2};
    curves->curves[0].name = "first call: start a worker";
    curves->curves[1].name = "a call when all are there";
    begin(curves, worker_counts, ARRAY_LENGTH(worker_counts), "BENCH_WORKERS", 100);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    make_folder(SCAN_PLUGIN);
    double descriptors = 0;
    for (size_t k = 0; k < curves->points; k++) {
        struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
        struct toolrack_error err;
        struct toolrack *host;
        unsigned count = (unsigned)curves->numbers[k];
        options.config_file = "";
        options.state_dir = "";
        options.plugin_dirs = dirs;
        options.isolation = TOOLRACK_ISOLATION_PROCESS;
        options.worker_program = WORKER_PROGRAM;
        if (toolrack_open(&options, &host, &err) < 0) {
            give_up("open", &err);
        }
        curves->curves[0].us[k] = call_workers(host, count);
        curves->curves[1].us[k] = call_workers(host, count);
        descriptors = descriptors_of(count);
        toolrack_close(host);
    }
    remove_folder();
    curves_print(curves);
    printf("%-28s%14.1f\n", "descriptors a worker", descriptors);
}

int main(void) {
    static struct curves tools;
    static struct curves rows;
    static struct curves workers;
    const struct curves *const all[] = {&tools, &rows, &workers};
    const char *svg = getenv("BENCH_SVG");
    measure_tools(&tools);
    measure_log(&rows);
    measure_workers(&workers);
    if (svg != NULL) {
        curves_write(svg, all, ARRAY_LENGTH(all));
    }
    return 0;
}
