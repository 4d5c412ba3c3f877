/* What it costs to find the tools that fit a text among 4,000 and among 65,000, to change one tool
 * in the index, and the memory of a tool. The floor is SQLite's full-text index over the same
 * names and descriptions. */
#include <sqlite3.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "choose/index.h"
#include "choose/match.h"

#define FEW      4000u
#define MANY     65000u
#define HITS     10u
#define SEARCHES 100
#define CHANGES  1000

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

static void add(struct index *index, unsigned i) {
    struct texts texts;
    make(i, &texts);
    const struct index_document document = {
            .name = texts.name,
            .description = texts.description,
            .schema_json = "{\"type\":\"object\",\"properties\":{\"number\":{\"type\":\"integer\","
                           "\"description\":\"Which one\"},\"limit\":{\"type\":\"integer\"}}}"};
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
    index_destroy(few);
    index_destroy(many);
    (void)sqlite3_close(database);
    return 0;
}
