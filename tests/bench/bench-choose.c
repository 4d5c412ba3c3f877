/* What it costs to select one of 4,000 and of 65,000 tools for a sentence, with its arguments, and
 * to search among them, also while tools come and go; to change one tool in the index; and the
 * memory of a tool. The floor is SQLite's full-text index over the same names and descriptions. */
#include <malloc.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench.h"
#include "choose/index.h"
#include "choose/match.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define FEW      4000u
#define MANY     65000u
#define HITS     10u
#define SEARCHES 100
#define CHANGES  1000

#define A_PLUGIN      1000u /* tools of one plugin */
#define SELECTS       2000u
#define PAUSE_US      2000u
#define FIRST_VISITOR 70000u

static const char *const verbs[] = {"get",  "list", "create",  "delete", "update",
                                    "send", "find", "convert", "read",   "start"};
static const char *const nouns[] = {"user",    "file",   "message",  "report",  "invoice", "order",
                                    "weather", "image",  "calendar", "account", "server",  "route",
                                    "price",   "ticket", "language", "record"};
static const char *const asked[] = {
        "convert the image of the invoice",
        "Send the weather report to my account, then delete the old file.",
        "which tickets are in the calendar",
        "查询订单的价格",
};

static struct index *few;
static struct index *many;
static sqlite3 *database;

static void die(const char *what) {
    (void)fprintf(stderr, "bench-choose: %s\n", what);
    exit(1);
}

struct texts {
    char name[64];
    char description[256];
};

static const char *of(const char *const *words, size_t count, unsigned number) {
    return words[number % count];
}

static void make(unsigned i, struct texts *ret) {
    const char *verb = of(verbs, ARRAY_LENGTH(verbs), i);
    const char *noun = of(nouns, ARRAY_LENGTH(nouns), i / 10);
    (void)snprintf(ret->name, sizeof ret->name, "%s_%s_of_%s%u", verb, noun,
                   of(nouns, ARRAY_LENGTH(nouns), i / 160), i / 400);
    (void)snprintf(ret->description, sizeof ret->description,
                   "%s the %s of a %s by its number or its name, with the %s that belongs to area "
                   "%u, and tell when it was changed",
                   verb, noun, of(nouns, ARRAY_LENGTH(nouns), i / 7),
                   of(nouns, ARRAY_LENGTH(nouns), i / 11), i % 997);
}

static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"number\":{\"type\":\"integer\","
        "\"description\":\"Which one\"},\"limit\":{\"type\":\"integer\"}}}";

static void add(struct index *index, unsigned i) {
    struct texts texts;
    make(i, &texts);
    const struct index_document document = {
            .name = texts.name, .description = texts.description, .schema_json = schema};
    if (index_add(index, i, &document, NULL) < 0) {
        die("no memory");
    }
}

static struct index *fill(unsigned count) {
    struct index *index = index_create();
    for (unsigned i = 0; index != NULL && i < count; i++) {
        add(index, i);
    }
    return index;
}

static void search(struct index *index, long times) {
    static struct match_hit hits[HITS];
    for (long i = 0; i < times; i++) {
        const char *text = asked[(size_t)i % ARRAY_LENGTH(asked)];
        const struct match_query query = {.text = text, .length = strlen(text)};
        size_t count = 0;
        if (match_find(index, &query, hits, HITS, &count, NULL) < 0 || count == 0) {
            die("nothing is found");
        }
        BENCH_KEEP(count);
    }
}

static void search_few(long times) {
    search(few, times);
}

static void search_many(long times) {
    search(many, times);
}

static void change_many(long times) {
    for (long i = 0; i < times; i++) {
        add(many, (unsigned)(i * 61) % MANY);
    }
}

/* ------------------------------------------------------------------- floor */

static void fill_database(void) {
    sqlite3_stmt *insert;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_exec(database,
                     "CREATE VIRTUAL TABLE tools USING fts5(name, description, "
                     "tokenize='porter'); BEGIN",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "INSERT INTO tools VALUES (?, ?)", -1, &insert, NULL) !=
                SQLITE_OK) {
        die(sqlite3_errmsg(database));
    }
    for (unsigned i = 0; i < FEW; i++) {
        struct texts texts;
        make(i, &texts);
        (void)sqlite3_bind_text(insert, 1, texts.name, -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_text(insert, 2, texts.description, -1, SQLITE_TRANSIENT);
        (void)sqlite3_step(insert);
        (void)sqlite3_reset(insert);
    }
    (void)sqlite3_finalize(insert);
    (void)sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
}

static void search_database(long times) {
    sqlite3_stmt *select;
    if (sqlite3_prepare_v2(
                database,
                "SELECT rowid FROM tools WHERE tools MATCH 'send OR weather OR report OR "
                "account OR delete OR file' ORDER BY bm25(tools) LIMIT 10",
                -1, &select, NULL) != SQLITE_OK) {
        die(sqlite3_errmsg(database));
    }
    for (long i = 0; i < times; i++) {
        while (sqlite3_step(select) == SQLITE_ROW) {
            BENCH_KEEP(sqlite3_column_int64(select, 0));
        }
        (void)sqlite3_reset(select);
    }
    (void)sqlite3_finalize(select);
}

/* ------------------------------------------------------------- through the API */

static tr_status run(struct tr_call *call) {
    return tr_reply_text(call, "");
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    if (toolrack_open(&options, &host, NULL) < 0) {
        die("no host");
    }
    return host;
}

/* Register the tools [first, first + count), A_PLUGIN at most, as one plugin. */
static void register_tools(struct toolrack *host, unsigned first, unsigned count) {
    static struct texts texts[A_PLUGIN];
    static struct tr_tool tools[A_PLUGIN];
    static const struct tr_tool *table[A_PLUGIN];
    char id[32];
    for (unsigned i = 0; i < count; i++) {
        make(first + i, &texts[i]);
        tools[i] = (struct tr_tool){.size = sizeof tools[i],
                                    .name = texts[i].name,
                                    .description = texts[i].description,
                                    .schema = schema,
                                    .run = run};
        table[i] = &tools[i];
    }
    (void)snprintf(id, sizeof id, "tools%u", first);
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .id = id,
                                     .version = "1.0.0",
                                     .tool_count = count,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = table,
                                     .flags = TR_THREAD_SAFE};
    struct toolrack_error err;
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        die(err.message);
    }
}

/* The i-th sentence: a thing to do, of one of many kinds, and now and then one in Chinese. */
static void say(unsigned i, char *ret, size_t size) {
    if (i % 5 == 4) {
        (void)snprintf(ret, size, "查询编号为 %u 的订单的价格，并发送给 anna@example.org", i);
    } else {
        (void)snprintf(
                ret, size, "Please %s the %s of %s %u and send the %s to bob@example.org by 5 pm",
                of(verbs, ARRAY_LENGTH(verbs), i / 3), of(nouns, ARRAY_LENGTH(nouns), i),
                of(nouns, ARRAY_LENGTH(nouns), i / 7), i, of(nouns, ARRAY_LENGTH(nouns), i / 11));
    }
}

typedef int question(struct toolrack *host, const struct toolrack_select_options *options,
                     struct toolrack_text **ret, struct toolrack_error *err);

static uint64_t ask(struct toolrack *host, question *asks, unsigned i) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    char sentence[256];
    say(i, sentence, sizeof sentence);
    options.text = sentence;
    uint64_t start = clock_now_ns();
    if (asks(host, &options, &text, &err) < 0) {
        die(err.message);
    }
    uint64_t took = clock_now_ns() - start;
    toolrack_text_unref(text);
    return took;
}

/* Ask for many sentences, and print the middle and the worst hundredth. Returns the middle. */
static double measure(const char *name, struct toolrack *host, question *asks, double floor_ns,
                      const char *goal) {
    static double ns[SELECTS];
    for (unsigned i = 0; i < SELECTS; i++) {
        ns[i] = (double)ask(host, asks, i);
    }
    qsort(ns, SELECTS, sizeof ns[0], bench_compare);
    double middle = ns[SELECTS / 2];
    (void)printf("%-44s %10.1f ns  p99 %.1f ns  %.2f x floor: FTS5 among 4000%s%s\n", name, middle,
                 ns[SELECTS * 99 / 100], middle / floor_ns, goal != NULL ? "  goal " : "",
                 goal != NULL ? goal : "");
    return middle;
}

static atomic_bool changing;

/* Tools come and go all the time. */
static void *change_tools(void *host) {
    for (unsigned i = 0; atomic_load(&changing); i++) {
        struct texts texts;
        make(FIRST_VISITOR + i % 8, &texts);
        register_tools(host, FIRST_VISITOR + i % 8, 1);
        (void)usleep(PAUSE_US);
        (void)toolrack_unregister_name(host, texts.name, NULL);
    }
    return NULL;
}

static void measure_while_changing(struct toolrack *host, double floor_ns) {
    pthread_t thread;
    atomic_store(&changing, true);
    if (pthread_create(&thread, NULL, change_tools, host) != 0) {
        die("no thread");
    }
    (void)measure("select among 4000 while tools come and go", host, toolrack_select, floor_ns,
                  NULL);
    atomic_store(&changing, false);
    (void)pthread_join(thread, NULL);
}

static void measure_host(unsigned count, double floor_ns, const char *goal) {
    char name[64];
    struct toolrack *host = open_host();
    for (unsigned first = 0; first < count; first += A_PLUGIN) {
        register_tools(host, first, A_PLUGIN);
    }
    size_t before = mallinfo2().uordblks;
    double first = (double)ask(host, toolrack_search, 0);
    (void)printf("%-44s %10.1f ns\n",
                 count == FEW ? "put a tool of 4000 into the index"
                              : "put a tool of 65000 into the index",
                 first / count);
    (void)snprintf(name, sizeof name, "search among %u", count);
    (void)measure(name, host, toolrack_search, floor_ns, NULL);
    (void)snprintf(name, sizeof name, "select among %u", count);
    (void)measure(name, host, toolrack_select, floor_ns, goal);
    if (count == FEW) {
        measure_while_changing(host, floor_ns);
    }
    (void)printf("memory of a tool of %u, all that is kept\t%zu\tbytes\n", count,
                 (mallinfo2().uordblks - before) / count);
    toolrack_close(host);
}

int main(void) {
    static struct bench_row rows[] = {
            {.name = "find among 4000", .run = search_few, .times = SEARCHES},
            {.name = "find among 65000", .run = search_many, .times = SEARCHES / 10},
            {.name = "change a tool of 65000", .run = change_many, .times = CHANGES},
            {.name = "floor: FTS5 among 4000", .run = search_database, .times = SEARCHES},
    };
    few = fill(FEW);
    many = fill(MANY);
    fill_database();
    bench_run(rows, ARRAY_LENGTH(rows));
    bench_print(&rows[0], &rows[3], "2 ms");
    bench_print(&rows[1], NULL, "20 ms");
    bench_print(&rows[2], NULL, "1 ms");
    bench_print(&rows[3], NULL, NULL);
    (void)printf("memory of a tool of 65000\t%zu\tbytes\n", index_memory(many) / MANY);
    measure_host(FEW, bench_median(&rows[3]), "p50 2 ms, p99 6 ms");
    measure_host(MANY, bench_median(&rows[3]), "20 ms");
    index_destroy(few);
    index_destroy(many);
    (void)sqlite3_close(database);
    return 0;
}
