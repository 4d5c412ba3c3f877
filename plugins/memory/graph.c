#include "graph.h"

#include <assert.h>
#include <locale.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wctype.h>

/* Of the file: "trmg", and the form of its tables. */
#define APPLICATION_ID 0x74726d67
#define FORM           1

/* How long one wait for another writer takes. */
#define WAIT_NS 2000000

static char *database_path; /* owned; NULL: no folder is granted */
static sqlite3 *database;   /* NULL: not open */
static locale_t utf8_locale;
static struct tr_call *waiting; /* the call that waits for other writers */

/* Statements are compiled once: that took longer than most of them do. Known by the literal. */
#define STATEMENTS_MAX 24u
static struct {
    const char *sql;
    sqlite3_stmt *statement; /* owned; NULL: free */
} statements[STATEMENTS_MAX];

static bool fail(struct graph_fault *fault, tr_status code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static bool fail(struct graph_fault *fault, tr_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fault->code = code;
    (void)vsnprintf(fault->message, sizeof fault->message, format, args);
    va_end(args);
    return false;
}

static bool fail_sqlite(struct graph_fault *fault) {
    int code = sqlite3_errcode(database) & 0xff;
    if (code == SQLITE_BUSY) {
        return fail(fault, waiting != NULL && tr_cancelled(waiting) ? TR_CANCELLED : TR_FAILED,
                    "other processes keep the memory busy; try again");
    }
    return fail(fault, code == SQLITE_FULL || code == SQLITE_TOOBIG ? TR_LIMIT_EXCEEDED : TR_FAILED,
                "the memory in %s cannot be used: %s%s", database_path, sqlite3_errmsg(database),
                code == SQLITE_CORRUPT || code == SQLITE_NOTADB
                        ? "; move the file away, and a new one is begun"
                        : "");
}

void graph_set_folder(const char *folder) {
    free(database_path);
    if (folder == NULL || asprintf(&database_path, "%s/memory.db", folder) < 0) {
        database_path = NULL;
    }
}

/* ------------------------------------------------------------------- opening */

/* A text in small letters, which is kept for the next one: a search has each text of the graph. */
struct small {
    char *text; /* owned */
    size_t length;
    size_t room;
};

static bool make_small(struct small *ret, const unsigned char *text, size_t length) {
    /* The small letter of a character may be longer than it: U+023A has 2 bytes, U+2C65 has 3. */
    if (ret->room < length * 2 + 1) {
        char *grown = realloc(ret->text, length * 2 + 1);
        if (grown == NULL) {
            return false;
        }
        ret->text = grown;
        ret->room = length * 2 + 1;
    }
    char *small = ret->text;
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        unsigned char first = text[at];
        size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if (first < 0x80 || size == 1 || at + size > length) {
            small[to++] = (char)(first >= 'A' && first <= 'Z' ? first + 32 : first);
            at++;
            continue;
        }
        wint_t character = first & (0xffU >> (size + 1));
        for (size_t i = 1; i < size; i++) {
            character = character << 6 | (text[at + i] & 0x3fU);
        }
        at += size;
        character = towlower_l(character, utf8_locale);
        if (character < 0x80) {
            small[to++] = (char)character;
        } else if (character < 0x800) {
            small[to++] = (char)(0xc0 | character >> 6);
            small[to++] = (char)(0x80 | (character & 0x3f));
        } else if (character < 0x10000) {
            small[to++] = (char)(0xe0 | character >> 12);
            small[to++] = (char)(0x80 | (character >> 6 & 0x3f));
            small[to++] = (char)(0x80 | (character & 0x3f));
        } else {
            small[to++] = (char)(0xf0 | character >> 18);
            small[to++] = (char)(0x80 | (character >> 12 & 0x3f));
            small[to++] = (char)(0x80 | (character >> 6 & 0x3f));
            small[to++] = (char)(0x80 | (character & 0x3f));
        }
    }
    ret->length = to;
    return true;
}

static struct small searched; /* of the call: what is looked for */
static struct small looked_at;

/* holds(text): whether what is looked for is in it, in capitals or not. */
static void holds(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    const unsigned char *text = sqlite3_value_text(values[0]);
    if (!make_small(&looked_at, text, (size_t)sqlite3_value_bytes(values[0]))) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_result_int(context, memmem(looked_at.text, looked_at.length, searched.text,
                                       searched.length) != NULL);
}

/* Another process writes: wait a little, as long as the call may. */
static int wait_for_others(void *user, int times) {
    static const struct timespec pause = {.tv_nsec = WAIT_NS};
    (void)user;
    (void)times;
    if (waiting == NULL || tr_cancelled(waiting)) {
        return 0;
    }
    (void)nanosleep(&pause, NULL);
    return 1;
}

/* Where waiting could block another connection for ever, as for the first change of the journal's
 * mode, SQLite says that the file is busy and does not ask the handler. Nothing is held here then,
 * so it is tried again. */
static bool run(const char *sql, struct graph_fault *fault) {
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    while ((code & 0xff) == SQLITE_BUSY && sqlite3_get_autocommit(database) != 0 &&
           wait_for_others(NULL, 0)) {
        code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    }
    return code == SQLITE_OK ? true : fail_sqlite(fault);
}

static bool read_number(const char *sql, int *ret, struct graph_fault *fault) {
    sqlite3_stmt *statement = NULL;
    bool is_read = sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
                   sqlite3_step(statement) == SQLITE_ROW;
    if (is_read) {
        *ret = sqlite3_column_int(statement, 0);
    } else {
        (void)fail_sqlite(fault);
    }
    (void)sqlite3_finalize(statement);
    return is_read;
}

/* Make the tables of a new file; refuse one that another program, or a later plugin, has made. */
static bool prepare(struct graph_fault *fault) {
    int form = 0;
    int application = 0;
    int tables = 0;
    if (!read_number("PRAGMA user_version", &form, fault) ||
        !read_number("PRAGMA application_id", &application, fault)) {
        return false;
    }
    if (form == FORM && application == APPLICATION_ID) {
        return true;
    }
    if (!run("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE", fault) ||
        !read_number("SELECT count(*) FROM sqlite_master", &tables, fault) ||
        !read_number("PRAGMA user_version", &form, fault)) {
        return false;
    }
    if (tables > 0) { /* another process was first, or it is no memory */
        (void)sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
        return form == FORM ? true
                            : fail(fault, TR_FAILED,
                                   "%s is of another program or a later version; move it away, and "
                                   "a new one is begun",
                                   database_path);
    }
    return run("CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
               " type TEXT NOT NULL) STRICT;"
               "CREATE TABLE observations (id INTEGER PRIMARY KEY, entity INTEGER NOT NULL"
               " REFERENCES entities ON DELETE CASCADE, text TEXT NOT NULL) STRICT;"
               "CREATE INDEX observations_entity ON observations (entity);"
               "CREATE TABLE relations (id INTEGER PRIMARY KEY, source TEXT NOT NULL,"
               " target TEXT NOT NULL, type TEXT NOT NULL, UNIQUE (source, target, type)) STRICT;"
               "CREATE INDEX relations_target ON relations (target);"
               "PRAGMA user_version = 1; PRAGMA application_id = 0x74726d67; COMMIT",
               fault);
}

static bool open_database(struct graph_fault *fault) {
    if (database != NULL) {
        return true;
    }
    if (database_path == NULL) {
        return fail(fault, TR_FAILED,
                    "Permission denied: the plugin has no folder for its memory; it needs "
                    "write:${data}");
    }
    if (sqlite3_open_v2(database_path, &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                SQLITE_OPEN_NOFOLLOW,
                        NULL) != SQLITE_OK) {
        (void)fail_sqlite(fault);
        graph_close();
        return false;
    }
    (void)sqlite3_busy_handler(database, wait_for_others, NULL);
    utf8_locale = utf8_locale != NULL ? utf8_locale : newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    bool is_ready =
            utf8_locale != NULL &&
            sqlite3_create_function(database, "holds", 1, SQLITE_UTF8, NULL, holds, NULL, NULL) ==
                    SQLITE_OK &&
            run("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;"
                "PRAGMA temp_store = MEMORY",
                fault) &&
            prepare(fault) &&
            run("CREATE TEMP TABLE hit (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT", fault);
    if (!is_ready) {
        if (utf8_locale == NULL) {
            (void)fail(fault, TR_FAILED, "the C library has no locale C.UTF-8");
        }
        graph_close();
    }
    return is_ready;
}

static void free_small(struct small *small) {
    free(small->text);
    *small = (struct small){0};
}

void graph_close(void) {
    for (size_t i = 0; i < STATEMENTS_MAX; i++) {
        (void)sqlite3_finalize(statements[i].statement);
        statements[i].statement = NULL;
    }
    free_small(&searched);
    free_small(&looked_at);
    (void)sqlite3_close_v2(database);
    database = NULL;
    if (utf8_locale != NULL) {
        freelocale(utf8_locale);
        utf8_locale = NULL;
    }
}

bool graph_begin(struct tr_call *call, bool writes, struct graph_fault *fault) {
    waiting = call;
    return open_database(fault) && run(writes ? "BEGIN IMMEDIATE" : "BEGIN", fault);
}

bool graph_end(bool success, struct graph_fault *fault) {
    bool is_done = success && run("COMMIT", fault);
    if (!is_done && database != NULL && sqlite3_get_autocommit(database) == 0) {
        (void)sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    }
    waiting = NULL;
    return is_done;
}

/* ---------------------------------------------------------------- statements */

/* A statement with up to three texts, which are borrowed until finish(). */
struct query {
    sqlite3_stmt *statement;
    struct graph_fault *fault;
    bool failed;
};

/* `sql` is a literal. A statement has one user at a time. */
static struct query prepare_query(const char *sql, struct graph_fault *fault) {
    struct query query = {.fault = fault};
    size_t at = 0;
    while (statements[at].statement != NULL && statements[at].sql != sql) {
        at++;
        assert(at < STATEMENTS_MAX);
    }
    if (statements[at].statement == NULL &&
        sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statements[at].statement,
                           NULL) != SQLITE_OK) {
        query.failed = true;
        (void)fail_sqlite(fault);
    }
    statements[at].sql = sql;
    query.statement = statements[at].statement;
    return query;
}

static void bind_text(struct query *query, int number, const char *text, size_t length) {
    if (!query->failed && sqlite3_bind_text64(query->statement, number, text, length, SQLITE_STATIC,
                                              SQLITE_UTF8) != SQLITE_OK) {
        query->failed = true;
        (void)fail_sqlite(query->fault);
    }
}

static void bind_value(struct query *query, int number, yyjson_val *value) {
    bind_text(query, number, yyjson_get_str(value), yyjson_get_len(value));
}

/* Whether there is a row more. */
static bool step(struct query *query) {
    int code = query->failed ? SQLITE_ERROR : sqlite3_step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE && !query->failed) {
        query->failed = true;
        (void)fail_sqlite(query->fault);
    }
    return code == SQLITE_ROW;
}

/* Run it as a change, and be ready for other texts. How many rows it changed. */
static int change(struct query *query) {
    (void)step(query);
    int changed = query->failed ? 0 : sqlite3_changes(database);
    (void)sqlite3_reset(query->statement);
    return changed;
}

static bool finish(struct query *query) {
    if (query->statement != NULL) {
        (void)sqlite3_reset(query->statement);
        (void)sqlite3_clear_bindings(query->statement);
    }
    return !query->failed;
}

static yyjson_mut_val *column(struct query *query, int number, yyjson_mut_doc *doc) {
    return yyjson_mut_strncpy(doc, (const char *)sqlite3_column_text(query->statement, number),
                              (size_t)sqlite3_column_bytes(query->statement, number));
}

static bool add_member(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                       yyjson_mut_val *value) {
    return yyjson_mut_obj_add(object, yyjson_mut_str(doc, key), value);
}

/* ------------------------------------------------------------------- changes */

static void insert_observations(struct query *insert, yyjson_val *name, yyjson_val *texts) {
    size_t at;
    size_t count;
    yyjson_val *text;
    bind_value(insert, 1, name);
    yyjson_arr_foreach (texts, at, count, text) {
        bind_value(insert, 2, text);
        (void)change(insert);
    }
}

#define INSERT_OBSERVATION \
    "INSERT INTO observations (entity, text) SELECT id, ?2 FROM entities WHERE name = ?1"

bool graph_create_entities(yyjson_val *entities, yyjson_mut_doc *doc, yyjson_mut_val *made,
                           struct graph_fault *fault) {
    struct query entity = prepare_query(
            "INSERT INTO entities (name, type) VALUES (?1, ?2) ON CONFLICT DO NOTHING", fault);
    struct query observation = prepare_query(INSERT_OBSERVATION, fault);
    size_t at;
    size_t count;
    yyjson_val *one;
    yyjson_arr_foreach (entities, at, count, one) {
        yyjson_val *name = yyjson_obj_get(one, "name");
        yyjson_val *type = yyjson_obj_get(one, "entityType");
        yyjson_val *texts = yyjson_obj_get(one, "observations");
        bind_value(&entity, 1, name);
        bind_value(&entity, 2, type);
        if (change(&entity) > 0) {
            insert_observations(&observation, name, texts);
            yyjson_mut_val *copy = yyjson_mut_arr_add_obj(doc, made);
            (void)add_member(doc, copy, "name", yyjson_val_mut_copy(doc, name));
            (void)add_member(doc, copy, "entityType", yyjson_val_mut_copy(doc, type));
            (void)add_member(doc, copy, "observations", yyjson_val_mut_copy(doc, texts));
        }
    }
    bool is_done = finish(&entity);
    return finish(&observation) && is_done;
}

static void bind_relation(struct query *query, yyjson_val *relation) {
    bind_value(query, 1, yyjson_obj_get(relation, "from"));
    bind_value(query, 2, yyjson_obj_get(relation, "to"));
    bind_value(query, 3, yyjson_obj_get(relation, "relationType"));
}

bool graph_create_relations(yyjson_val *relations, yyjson_mut_doc *doc, yyjson_mut_val *made,
                            struct graph_fault *fault) {
    struct query insert = prepare_query("INSERT INTO relations (source, target, type)"
                                        " VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                                        fault);
    size_t at;
    size_t count;
    yyjson_val *one;
    yyjson_arr_foreach (relations, at, count, one) {
        bind_relation(&insert, one);
        if (change(&insert) > 0) {
            yyjson_mut_val *copy = yyjson_mut_arr_add_obj(doc, made);
            static const char *const keys[] = {"from", "to", "relationType"};
            for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                (void)add_member(doc, copy, keys[i],
                                 yyjson_val_mut_copy(doc, yyjson_obj_get(one, keys[i])));
            }
        }
    }
    return finish(&insert);
}

/* The texts that an entity did not have before are added; all of them are in `ret_new`. */
static bool add_new(yyjson_val *name, yyjson_val *texts, yyjson_mut_doc *doc,
                    yyjson_mut_val *ret_new, struct graph_fault *fault) {
    struct query find = prepare_query("SELECT EXISTS (SELECT 1 FROM observations JOIN entities ON"
                                      " entity = entities.id WHERE name = ?1 AND text = ?2)",
                                      fault);
    struct query insert = prepare_query(INSERT_OBSERVATION, fault);
    size_t at;
    size_t count;
    yyjson_val *text;
    bind_value(&find, 1, name);
    yyjson_arr_foreach (texts, at, count, text) {
        bind_value(&find, 2, text);
        bool is_known = step(&find) && sqlite3_column_int(find.statement, 0) != 0;
        (void)sqlite3_reset(find.statement);
        if (!is_known) {
            (void)yyjson_mut_arr_append(ret_new, yyjson_val_mut_copy(doc, text));
        }
    }
    bind_value(&insert, 1, name);
    size_t made_at;
    size_t made_count;
    yyjson_mut_val *made;
    yyjson_mut_arr_foreach(ret_new, made_at, made_count, made) {
        bind_text(&insert, 2, yyjson_mut_get_str(made), yyjson_mut_get_len(made));
        (void)change(&insert);
    }
    bool is_done = finish(&find);
    return finish(&insert) && is_done;
}

bool graph_add_observations(yyjson_val *observations, yyjson_mut_doc *doc, yyjson_mut_val *made,
                            struct graph_fault *fault) {
    size_t at;
    size_t count;
    yyjson_val *one;
    bool is_done = true;
    yyjson_arr_foreach (observations, at, count, one) {
        yyjson_val *name = yyjson_obj_get(one, "entityName");
        struct query find = prepare_query("SELECT 1 FROM entities WHERE name = ?1", fault);
        bind_value(&find, 1, name);
        bool is_there = step(&find);
        is_done = finish(&find);
        if (is_done && !is_there) {
            is_done = fail(fault, TR_INVALID_ARGUMENTS,
                           "Entity with name %.300s not found; create it with create_entities",
                           yyjson_get_str(name));
        }
        if (!is_done) {
            return false;
        }
        yyjson_mut_val *copy = yyjson_mut_arr_add_obj(doc, made);
        yyjson_mut_val *added = yyjson_mut_arr(doc);
        (void)add_member(doc, copy, "entityName", yyjson_val_mut_copy(doc, name));
        (void)add_member(doc, copy, "addedObservations", added);
        if (!add_new(name, yyjson_obj_get(one, "contents"), doc, added, fault)) {
            return false;
        }
    }
    return is_done;
}

bool graph_delete_entities(yyjson_val *names, struct graph_fault *fault) {
    struct query relations =
            prepare_query("DELETE FROM relations WHERE source = ?1 OR target = ?1", fault);
    struct query entities = prepare_query("DELETE FROM entities WHERE name = ?1", fault);
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_arr_foreach (names, at, count, name) {
        bind_value(&relations, 1, name);
        bind_value(&entities, 1, name);
        (void)change(&relations);
        (void)change(&entities);
    }
    bool is_done = finish(&relations);
    return finish(&entities) && is_done;
}

bool graph_delete_observations(yyjson_val *deletions, struct graph_fault *fault) {
    struct query query = prepare_query("DELETE FROM observations WHERE text = ?2 AND entity ="
                                       " (SELECT id FROM entities WHERE name = ?1)",
                                       fault);
    size_t at;
    size_t count;
    yyjson_val *one;
    yyjson_arr_foreach (deletions, at, count, one) {
        size_t text_at;
        size_t text_count;
        yyjson_val *text;
        bind_value(&query, 1, yyjson_obj_get(one, "entityName"));
        yyjson_arr_foreach (yyjson_obj_get(one, "observations"), text_at, text_count, text) {
            bind_value(&query, 2, text);
            (void)change(&query);
        }
    }
    return finish(&query);
}

bool graph_delete_relations(yyjson_val *relations, struct graph_fault *fault) {
    struct query query = prepare_query(
            "DELETE FROM relations WHERE source = ?1 AND target = ?2 AND type = ?3", fault);
    size_t at;
    size_t count;
    yyjson_val *one;
    yyjson_arr_foreach (relations, at, count, one) {
        bind_relation(&query, one);
        (void)change(&query);
    }
    return finish(&query);
}

/* ------------------------------------------------------------------- reading */

/* Name by name: json_each() would cut off one at U+0000. */
static bool choose_named(const char *names, size_t length, struct graph_fault *fault) {
    yyjson_doc *doc = yyjson_read(names, length, 0);
    if (doc == NULL) {
        return fail(fault, TR_LIMIT_EXCEEDED, "out of memory");
    }
    struct query fill = prepare_query("INSERT OR IGNORE INTO hit SELECT id, name FROM entities"
                                      " WHERE name = ?1",
                                      fault);
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, name) {
        bind_value(&fill, 1, name);
        (void)change(&fill);
    }
    bool is_done = finish(&fill);
    yyjson_doc_free(doc);
    return is_done;
}

/* Fill the table `hit` with the chosen entities. It is asked three times: for their parts, and for
 * relations from them and to them. As an expression of each question a search of 500 entities took
 * 950 us with all else that belongs to its call; so it takes 230. */
static bool choose(enum graph_choice choice, const char *text, size_t length,
                   struct graph_fault *fault) {
    struct query clear = prepare_query("DELETE FROM hit", fault);
    (void)change(&clear);
    bool is_done = finish(&clear);
    if (choice == GRAPH_SEARCH && !make_small(&searched, (const unsigned char *)text, length)) {
        return fail(fault, TR_LIMIT_EXCEEDED, "out of memory");
    }
    if (choice == GRAPH_NAMED) {
        return is_done && choose_named(text, length, fault);
    }
    struct query fill = prepare_query("INSERT INTO hit SELECT id, name FROM entities WHERE"
                                      " holds(name) OR holds(type) OR EXISTS (SELECT 1 FROM"
                                      " observations WHERE entity = entities.id AND holds(text))",
                                      fault);
    (void)change(&fill);
    return finish(&fill) && is_done;
}

bool graph_read(enum graph_choice choice, const char *text, size_t length, yyjson_mut_doc *doc,
                yyjson_mut_val *graph, struct graph_fault *fault) {
    yyjson_mut_val *entities = yyjson_mut_arr(doc);
    yyjson_mut_val *relations = yyjson_mut_arr(doc);
    yyjson_mut_val *texts = NULL;
    sqlite3_int64 last = 0;
    bool is_made = add_member(doc, graph, "entities", entities) &&
                   add_member(doc, graph, "relations", relations);
    if (choice != GRAPH_ALL && !choose(choice, text, length, fault)) {
        return false;
    }
    struct query query = prepare_query(
            choice == GRAPH_ALL
                    ? "SELECT entities.id, name, type, text FROM entities LEFT JOIN observations"
                      " ON entity = entities.id ORDER BY entities.id, observations.id"
                    : "SELECT hit.id, hit.name, type, text FROM hit JOIN entities ON entities.id ="
                      " hit.id LEFT JOIN observations ON entity = hit.id ORDER BY hit.id,"
                      " observations.id",
            fault);
    while (is_made && step(&query)) {
        sqlite3_int64 id = sqlite3_column_int64(query.statement, 0);
        if (texts == NULL || id != last) {
            yyjson_mut_val *entity = yyjson_mut_arr_add_obj(doc, entities);
            texts = yyjson_mut_arr(doc);
            is_made = add_member(doc, entity, "name", column(&query, 1, doc)) &&
                      add_member(doc, entity, "entityType", column(&query, 2, doc)) &&
                      add_member(doc, entity, "observations", texts);
            last = id;
        }
        if (sqlite3_column_type(query.statement, 3) != SQLITE_NULL) {
            is_made = is_made && yyjson_mut_arr_append(texts, column(&query, 3, doc));
        }
    }
    bool is_read = finish(&query);
    query = prepare_query(
            choice == GRAPH_ALL
                    ? "SELECT source, target, type FROM relations ORDER BY id"
                    : "SELECT source, target, type FROM relations WHERE source IN (SELECT"
                      " name FROM hit) OR target IN (SELECT name FROM hit) ORDER BY id",
            fault);
    while (is_made && step(&query)) {
        yyjson_mut_val *relation = yyjson_mut_arr_add_obj(doc, relations);
        is_made = add_member(doc, relation, "from", column(&query, 0, doc)) &&
                  add_member(doc, relation, "to", column(&query, 1, doc)) &&
                  add_member(doc, relation, "relationType", column(&query, 2, doc));
    }
    is_read = finish(&query) && is_read;
    return !is_read || is_made ? is_read : fail(fault, TR_LIMIT_EXCEEDED, "out of memory");
}
