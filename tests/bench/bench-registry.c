/* What it costs to find a tool among 1,000 by its name, alone and from two threads, while another
 * thread changes the registry all the time; and what memory a listed tool takes.
 *
 * The floor is a table of open addressing that never changes, behind one atomic pointer. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/name.h"
#include "bench.h"
#include "registry/rcu.h"
#include "registry/registry.h"
#include "registry/snapshot-step.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define TOOLS            1000
#define SLOTS            2048
#define ASKED            4096 /* names in the order in which they are looked up */
#define LOOKUPS          1000000
#define WRITER_PAUSE_NS  1000000
#define LISTED           10000
#define LISTED_A_PLUGIN  1000
#define DESCRIPTION_SIZE 200
#define CALLS            10000000

static const char schema[] = TR_SCHEMA({
    "type" : "object",
    "properties" : {
        "path" : {"type" : "string", "minLength" : 1, "maxLength" : 4096},
        "limit" : {"type" : "integer", "minimum" : 1, "maximum" : 1000}
    },
    "required" : ["path"],
    "additionalProperties" : false
});

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-registry: %s: %s\n", what, err->message);
    exit(1);
}

static tr_status run(struct tr_call *call) {
    return call->api->reply_json(call, "true", 4);
}

/* ------------------------------------------------------------ the tools */

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct toolrack *host;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open", &err);
    }
    return host;
}

/* Register a plugin of `count` tools named after `word` and their number. */
static void register_plugin(struct toolrack *host, const char *word, unsigned first,
                            unsigned count) {
    static char names[LISTED_A_PLUGIN][NAME_LENGTH_MAX + 1];
    static struct tr_tool tools[LISTED_A_PLUGIN];
    static const struct tr_tool *table[LISTED_A_PLUGIN];
    static char description[DESCRIPTION_SIZE];
    char id[32];
    struct toolrack_error err;
    memset(description, 'x', sizeof description - 1);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s_%05u", word, first + i);
        tools[i] = (struct tr_tool){.size = sizeof tools[i],
                                    .name = names[i],
                                    .description = description,
                                    .schema = schema,
                                    .run = run};
        table[i] = &tools[i];
    }
    (void)snprintf(id, sizeof id, "%s_%u", word, first);
    struct tr_plugin plugin = {.magic = TR_MAGIC,
                               .size = sizeof plugin,
                               .abi_major = TR_ABI_MAJOR,
                               .id = id,
                               .version = "1.0.0",
                               .flags = TR_THREAD_SAFE,
                               .tool_count = count,
                               .tool_size = sizeof(struct tr_tool),
                               .tools = table};
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("register", &err);
    }
}

/* ------------------------------------------------------------ lookups */

struct floor_tool {
    char name[32];
    uint32_t hash;
};

struct floor_table {
    uint32_t mask;
    struct floor_tool *slots[SLOTS];
};

static struct floor_tool floor_tools[TOOLS];
static struct floor_table floor_table;
static _Atomic(struct floor_table *) floor_current;

static struct toolrack *host;
static _Atomic(struct snapshot *) snapshot; /* of the host's tools, as the registry holds one */
static const char *asked[ASKED];

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name != '\0') {
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    }
    return hash;
}

static struct floor_tool *floor_find(const char *name) {
    const struct floor_table *table = atomic_load_explicit(&floor_current, memory_order_acquire);
    uint32_t hash = hash_of(name);
    for (uint32_t i = hash & table->mask; table->slots[i] != NULL; i = (i + 1) & table->mask) {
        if (table->slots[i]->hash == hash && strcmp(table->slots[i]->name, name) == 0) {
            return table->slots[i];
        }
    }
    return NULL;
}

static void make_floor(void) {
    floor_table.mask = SLOTS - 1;
    for (unsigned i = 0; i < TOOLS; i++) {
        struct floor_tool *tool = &floor_tools[i];
        (void)snprintf(tool->name, sizeof tool->name, "search_files_%05u", i);
        tool->hash = hash_of(tool->name);
        uint32_t at = tool->hash & floor_table.mask;
        while (floor_table.slots[at] != NULL) {
            at = (at + 1) & floor_table.mask;
        }
        floor_table.slots[at] = tool;
    }
    atomic_store(&floor_current, &floor_table);
    uint32_t random = 1;
    for (unsigned i = 0; i < ASKED; i++) {
        random = random * 1664525u + 1013904223u;
        asked[i] = floor_tools[(random >> 8) % TOOLS].name;
    }
}

static void make_snapshot(void) {
    static struct toolrack_tool *tools[TOOLS];
    struct snapshot_step step;
    struct snapshot *empty = snapshot_create();
    for (unsigned i = 0; i < TOOLS; i++) { /* their names are in order */
        tools[i] = toolrack_get(host, floor_tools[i].name);
    }
    if (empty == NULL || !snapshot_step_make(&step, empty, NULL, 0, tools, TOOLS)) {
        exit(1);
    }
    atomic_store(&snapshot, step.next);
    snapshot_step_finish(&step, empty);
}

static void row_floor(long times) {
    for (long i = 0; i < times; i++) {
        BENCH_KEEP(floor_find(asked[i % ASKED]));
    }
}

static void row_lookup(long times) {
    for (long i = 0; i < times; i++) {
        const char *name = asked[i % ASKED];
        rcu_read_begin();
        const struct snapshot *current = atomic_load_explicit(&snapshot, memory_order_acquire);
        BENCH_KEEP(snapshot_find(current, name, strlen(name))->call);
        rcu_read_end();
    }
}

static void row_get(long times) {
    for (long i = 0; i < times; i++) {
        toolrack_tool_unref(toolrack_get(host, asked[i % ASKED]));
    }
}

/* ------------------------------------------------------------ two readers */

static atomic_bool writing;
static atomic_long changes;

/* One tool's priority, over and over: each time a new snapshot of all of them is published. */
static void *write_for_ever(void *unused) {
    const struct timespec pause = {.tv_nsec = WRITER_PAUSE_NS};
    (void)unused;
    while (atomic_load(&writing)) {
        struct toolrack_error err;
        int priority = (int)(atomic_fetch_add(&changes, 1) % 100);
        if (toolrack_set_priority(host, floor_tools[0].name, priority, NULL, &err) < 0) {
            die("priority", &err);
        }
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static pthread_barrier_t start_line;

static void *read_on_a_thread(void *argument) {
    const struct bench_row *row = argument;
    (void)pthread_barrier_wait(&start_line);
    row->run(LOOKUPS);
    return NULL;
}

/* Lookups in a nanosecond by `count` threads at once. */
static double throughput(struct bench_row *row, unsigned count) {
    pthread_t threads[2];
    (void)pthread_barrier_init(&start_line, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_create(&threads[i], NULL, read_on_a_thread, row);
    }
    (void)pthread_barrier_wait(&start_line);
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    uint64_t time = clock_now_ns() - start;
    (void)pthread_barrier_destroy(&start_line);
    return (double)count * LOOKUPS / (double)time;
}

/* How much more two threads get done than one: the median of rounds. */
static void show_scaling(struct bench_row *rows, size_t count) {
    static double scaling[8][BENCH_ROUNDS];
    pthread_t writer;
    uint64_t start = clock_now_ns();
    atomic_store(&writing, true);
    (void)pthread_create(&writer, NULL, write_for_ever, NULL);
    for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            double one = throughput(&rows[i], 1);
            scaling[i][round] = throughput(&rows[i], 2) / one;
        }
    }
    atomic_store(&writing, false);
    (void)pthread_join(writer, NULL);
    double seconds = (double)(clock_now_ns() - start) / CLOCK_NS_PER_S;
    printf("two readers while the registry changes %.0f times a second:\n",
           (double)atomic_load(&changes) / seconds);
    for (size_t i = 0; i < count; i++) {
        qsort(scaling[i], BENCH_ROUNDS, sizeof scaling[i][0], bench_compare);
        printf("%-44s %10.2f x one  [%.2f .. %.2f]%s\n", rows[i].name, scaling[i][BENCH_ROUNDS / 2],
               scaling[i][0], scaling[i][BENCH_ROUNDS - 1], i == 1 ? "  goal 1.8" : "");
    }
}

/* ------------------------------------------------------------ memory */

static size_t allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* What a listed tool takes beyond its name, description and schema. */
static void show_memory_of_tools(void) {
    struct toolrack *many = open_host();
    size_t before = allocated();
    for (unsigned i = 0; i < LISTED; i += LISTED_A_PLUGIN) {
        register_plugin(many, "list", i, LISTED_A_PLUGIN);
    }
    size_t strings = sizeof "list_00000" + DESCRIPTION_SIZE + sizeof schema;
    printf("%-44s %10.1f bytes beside %zu of its own  goal 1024\n", "a listed tool, of 10,000",
           (double)(allocated() - before) / LISTED - (double)strings, strings);
    toolrack_close(many);
}

static void show_memory_of_calls(void) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    size_t before = 0;
    for (long i = -1000; i < CALLS; i++) {
        struct toolrack_error err;
        struct toolrack_result *result;
        if (i == 0) {
            before = allocated();
        }
        if (toolrack_call(host, floor_tools[i & 511].name, "{\"path\":\"/tmp\"}", &options, &result,
                          &err) < 0) {
            die("call", &err);
        }
        toolrack_result_free(result);
    }
    printf("%-44s %10ld bytes  goal 0\n", "growth over 10 million calls",
           (long)(allocated() - before));
}

int main(void) {
    make_floor();
    host = open_host();
    register_plugin(host, "search_files", 0, TOOLS);
    make_snapshot();
    struct bench_row rows[] = {
            {.name = "table behind an atomic pointer", .run = row_floor, .times = LOOKUPS},
            {.name = "lookup", .run = row_lookup, .times = LOOKUPS},
            {.name = "toolrack_get() and unref", .run = row_get, .times = LOOKUPS},
    };
    bench_run(rows, 3);
    bench_print(&rows[0], NULL, NULL);
    bench_print(&rows[1], &rows[0], "1.3");
    bench_print(&rows[2], &rows[0], NULL);
    show_scaling(rows, 3);
    show_memory_of_tools();
    show_memory_of_calls();
    snapshot_destroy(atomic_load(&snapshot));
    toolrack_close(host);
    return 0;
}
