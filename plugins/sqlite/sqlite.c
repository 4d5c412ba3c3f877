/* sqlite - querying and changing SQLite databases in granted folders. */
#include <toolrack/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/base64.h"
#include "base/buf.h"
#include "db.h"
#include "rows.h"

/* Most tables that a schema tells. */
#define TABLES_MAX 500

static const char *sql_of(struct db *db) {
    const char *sql = tr_get_string(db->call, "sql", NULL);
    if (sql == NULL) {
        (void)db_fail(db, TR_INVALID_ARGUMENTS, "sql", "must not contain U+0000");
    }
    return sql;
}

static tr_status finish(struct db *db, struct buf *out) {
    tr_status status = db_close(db, TR_OK);
    if (!db->failed) {
        status = out->failed ? tr_fail(db->call, TR_LIMIT_EXCEEDED, NULL, "out of memory")
                             : tr_reply_json(db->call, out->data);
    }
    buf_finish(out);
    return status;
}

/* ------------------------------------------------------------ parameters */

static bool bind_bytes(struct db *db, sqlite3_stmt *statement, int at, yyjson_val *text,
                       const char *field) {
    size_t length = yyjson_get_len(text);
    size_t size = 0;
    void *bytes = malloc(base64_decoded_size_max(length) + 1);
    const char *why = bytes == NULL ? "out of memory"
                                    : base64_decode(yyjson_get_str(text), length, bytes, &size);
    if (why != NULL) {
        free(bytes);
        return db_fail(db, TR_INVALID_ARGUMENTS, field, "not base64: %s", why);
    }
    return sqlite3_bind_blob64(statement, at, bytes, size, free) == SQLITE_OK || db_fail_sqlite(db);
}

static bool bind(struct db *db, sqlite3_stmt *statement, int at, yyjson_val *value,
                 const char *field) {
    yyjson_val *bytes = yyjson_obj_get(value, "base64");
    int code = SQLITE_OK;
    if (yyjson_is_str(bytes)) {
        return bind_bytes(db, statement, at, bytes, field);
    }
    if (yyjson_is_str(value)) {
        code = sqlite3_bind_text64(statement, at, yyjson_get_str(value), yyjson_get_len(value),
                                   SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if (yyjson_is_sint(value) ||
               (yyjson_is_uint(value) && yyjson_get_uint(value) <= (uint64_t)INT64_MAX)) {
        code = sqlite3_bind_int64(statement, at, yyjson_get_sint(value));
    } else if (yyjson_is_num(value)) {
        code = sqlite3_bind_double(statement, at, yyjson_get_num(value));
    } else if (yyjson_is_bool(value)) {
        code = sqlite3_bind_int(statement, at, yyjson_get_bool(value));
    } else if (!yyjson_is_null(value)) {
        return db_fail(db, TR_INVALID_ARGUMENTS, field,
                       "must be text, a number, true, false, null or {\"base64\": ...}");
    }
    return code == SQLITE_OK || db_fail_sqlite(db);
}

/* An array is for ?, an object for :name; each placeholder must have its value. */
static bool bind_parameters(struct db *db, sqlite3_stmt *statement, yyjson_val *parameters) {
    int count = sqlite3_bind_parameter_count(statement);
    if (yyjson_is_arr(parameters) && yyjson_arr_size(parameters) != (size_t)count) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "parameters",
                       "has %zu values, and the statement %d placeholders",
                       yyjson_arr_size(parameters), count);
    }
    for (int i = 1; i <= count; i++) {
        char field[128];
        const char *name = sqlite3_bind_parameter_name(statement, i);
        yyjson_val *value = yyjson_is_arr(parameters)
                                    ? yyjson_arr_get(parameters, (size_t)i - 1)
                                    : yyjson_obj_get(parameters, name == NULL ? "" : name + 1);
        (void)snprintf(field, sizeof field, "parameters/%.100s", name == NULL ? "" : name + 1);
        if (yyjson_is_arr(parameters)) {
            (void)snprintf(field, sizeof field, "parameters/%d", i - 1);
        }
        if (value == NULL) {
            return db_fail(db, TR_INVALID_ARGUMENTS, "parameters",
                           "has no value for the placeholder %.60s",
                           name == NULL ? "?, which takes an array" : name);
        }
        if (!bind(db, statement, i, value, field)) {
            return false;
        }
    }
    return true;
}

static bool bind_arguments(struct db *db, sqlite3_stmt *statement) {
    const char *json = tr_get_json(db->call, "parameters", "[]");
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    bool bound = doc == NULL ? db_fail(db, TR_FAILED, NULL, "out of memory")
                             : bind_parameters(db, statement, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return bound;
}

/* The only statement of the text. */
static bool prepare_one(struct db *db, const char *sql, sqlite3_stmt **ret) {
    const char *tail = "";
    sqlite3_stmt *next = NULL;
    if (!db_prepare(db, sql, ret, &tail)) {
        return false;
    }
    if (*ret == NULL) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "sql", "has no statement");
    }
    bool more = sqlite3_prepare_v2(db->sqlite, tail, -1, &next, NULL) != SQLITE_OK || next != NULL;
    (void)sqlite3_finalize(next);
    return !more || db_fail(db, TR_INVALID_ARGUMENTS, "sql", "must be one statement");
}

/* ------------------------------------------------------------ sqlite_query */

static bool write_result(struct db *db, sqlite3_stmt *statement, struct buf *out) {
    struct rows rows = {.out = out, .rows_max = tr_get_u64(db->call, "limit", 100)};
    buf_add_char(out, '{');
    int code = rows_write(statement, NULL, &rows);
    buf_printf(out, ",\"count\":%llu,\"truncated\":%s}", (unsigned long long)rows.count,
               rows.truncated ? "true" : "false");
    if (code == SQLITE_TOOBIG && rows.wide_column >= 0) {
        return db_fail(db, TR_LIMIT_EXCEEDED, "sql",
                       "a cell of column \"%.60s\" has %llu bytes; at most %zu are given: select "
                       "a part by substr(), or length()",
                       sqlite3_column_name(statement, rows.wide_column),
                       (unsigned long long)rows.wide_bytes, ROWS_CELL_MAX);
    }
    return code == SQLITE_DONE || code == SQLITE_ROW || db_fail_sqlite(db);
}

static bool query(struct db *db, struct buf *out) {
    const char *sql = sql_of(db);
    sqlite3_stmt *statement = NULL;
    bool fine = sql != NULL && prepare_one(db, sql, &statement);
    if (fine && (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)) {
        fine = db_fail(db, TR_INVALID_ARGUMENTS, "sql", "must be a statement that gives rows");
    }
    fine = fine && bind_arguments(db, statement) && write_result(db, statement, out);
    (void)sqlite3_finalize(statement);
    return fine;
}

static tr_status sqlite_query(struct tr_call *call) {
    struct db db;
    struct buf out = BUF_INIT;
    (void)(db_open(&db, call, DB_READS) && query(&db, &out));
    return finish(&db, &out);
}

/* ------------------------------------------------------------ sqlite_execute */

static bool step_all(struct db *db, sqlite3_stmt *statement) {
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    }
    return code == SQLITE_DONE || db_fail_sqlite(db);
}

/* BEGIN, COMMIT and ROLLBACK are ours alone. */
static bool control(struct db *db, const char *sql) {
    db_restrict(db, false);
    bool done = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK || db_fail_sqlite(db);
    db_restrict(db, true);
    return done;
}

static bool run_statements(struct db *db, const char *sql, uint64_t *ret_count) {
    bool has_parameters = tr_count(db->call, "parameters") > 0;
    sqlite3_stmt *statement = NULL;
    *ret_count = 0;
    while (*sql != '\0') {
        const char *tail = "";
        bool fine = db_prepare(db, sql, &statement, &tail);
        if (fine && statement != NULL) {
            ++*ret_count;
            fine = (!has_parameters || *ret_count == 1 ||
                    db_fail(db, TR_INVALID_ARGUMENTS, "parameters",
                            "are for one statement, and there are several")) &&
                   bind_arguments(db, statement) && step_all(db, statement);
        }
        (void)sqlite3_finalize(statement);
        if (!fine) {
            return false;
        }
        sql = tail;
    }
    return *ret_count > 0 || db_fail(db, TR_INVALID_ARGUMENTS, "sql", "has no statement");
}

static bool execute(struct db *db, struct buf *out) {
    uint64_t count;
    const char *sql = sql_of(db);
    if (sql == NULL || !control(db, "BEGIN IMMEDIATE")) {
        return false;
    }
    bool fine = run_statements(db, sql, &count) && control(db, "COMMIT");
    if (!fine) {
        return false; /* closing rolls back */
    }
    buf_printf(out, "{\"statements\":%llu,\"changes\":%lld,\"last_insert_rowid\":%lld}",
               (unsigned long long)count, (long long)sqlite3_total_changes64(db->sqlite),
               (long long)sqlite3_last_insert_rowid(db->sqlite));
    return true;
}

static tr_status sqlite_execute(struct tr_call *call) {
    struct db db;
    struct buf out = BUF_INIT;
    bool creates = tr_get_bool(call, "create", false);
    (void)(db_open(&db, call, creates ? DB_CREATES : DB_WRITES) && execute(&db, &out));
    return finish(&db, &out);
}

/* ------------------------------------------------------------ sqlite_explain */

static bool explain(struct db *db, struct buf *out) {
    const char *sql = sql_of(db);
    struct buf text = BUF_INIT;
    sqlite3_stmt *statement = NULL;
    if (sql == NULL) {
        return false;
    }
    buf_add_text(&text, "EXPLAIN QUERY PLAN ");
    buf_add_text(&text, sql);
    bool fine = !text.failed && prepare_one(db, text.data, &statement);
    int code = SQLITE_DONE;
    buf_add_text(out, "{\"plan\":[");
    for (bool first = true; fine && (code = sqlite3_step(statement)) == SQLITE_ROW; first = false) {
        const char *detail = (const char *)sqlite3_column_text(statement, 3);
        buf_printf(out, "%s{\"id\":%d,\"parent\":%d,\"detail\":", first ? "" : ",",
                   sqlite3_column_int(statement, 0), sqlite3_column_int(statement, 1));
        buf_add_json_string(out, detail == NULL ? "" : detail, detail == NULL ? 0 : strlen(detail));
        buf_add_char(out, '}');
    }
    buf_add_text(out, "]}");
    fine = fine && (code == SQLITE_DONE || db_fail_sqlite(db));
    (void)sqlite3_finalize(statement);
    buf_finish(&text);
    return fine;
}

static tr_status sqlite_explain(struct tr_call *call) {
    struct db db;
    struct buf out = BUF_INIT;
    (void)(db_open(&db, call, DB_EXPLAINS) && explain(&db, &out));
    return finish(&db, &out);
}

/* ------------------------------------------------------------ sqlite_schema */

static void add_text(struct buf *out, sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    if (text == NULL) {
        buf_add_text(out, "null");
    } else {
        buf_add_json_string(out, text, strlen(text));
    }
}

/* How one row of a list of a table is written. */
typedef void write_row(sqlite3_stmt *statement, struct buf *out);

static void write_column(sqlite3_stmt *statement, struct buf *out) {
    buf_add_text(out, "{\"name\":");
    add_text(out, statement, 0);
    buf_add_text(out, ",\"type\":");
    add_text(out, statement, 1);
    buf_printf(out, ",\"not_null\":%s,\"primary_key\":%s,\"default\":",
               sqlite3_column_int(statement, 2) != 0 ? "true" : "false",
               sqlite3_column_int(statement, 4) != 0 ? "true" : "false");
    add_text(out, statement, 3);
    buf_add_char(out, '}');
}

static void write_reference(sqlite3_stmt *statement, struct buf *out) {
    buf_add_text(out, "{\"column\":");
    add_text(out, statement, 0);
    buf_add_text(out, ",\"table\":");
    add_text(out, statement, 1);
    buf_add_text(out, ",\"to\":");
    add_text(out, statement, 2);
    buf_add_char(out, '}');
}

static void write_index(sqlite3_stmt *statement, struct buf *out) {
    buf_add_text(out, "{\"name\":");
    add_text(out, statement, 0);
    buf_printf(out, ",\"unique\":%s,\"columns\":",
               sqlite3_column_int(statement, 1) != 0 ? "true" : "false");
    buf_add_text(out, (const char *)sqlite3_column_text(statement, 2));
    buf_add_char(out, '}');
}

static const struct {
    const char *name;
    const char *sql;
    write_row *write;
} lists[] = {
        {"columns",
         "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo(?1) "
         "WHERE hidden <> 1",
         write_column},
        {"foreign_keys", "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1)",
         write_reference},
        {"indexes",
         "SELECT l.name, l.\"unique\", (SELECT json_group_array(i.name) FROM "
         "pragma_index_info(l.name) AS i) FROM pragma_index_list(?1) AS l ORDER BY l.name",
         write_index},
};

/* A view that refers to what is gone has no columns, which is no reason to tell nothing. */
static void write_list(struct db *db, size_t list, const char *table, struct buf *out) {
    sqlite3_stmt *statement = NULL;
    buf_printf(out, ",\"%s\":[", lists[list].name);
    if (sqlite3_prepare_v2(db->sqlite, lists[list].sql, -1, &statement, NULL) == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
        for (bool first = true; sqlite3_step(statement) == SQLITE_ROW; first = false) {
            buf_add_text(out, first ? "" : ",");
            lists[list].write(statement, out);
        }
    }
    (void)sqlite3_finalize(statement);
    buf_add_char(out, ']');
}

static void write_table(struct db *db, sqlite3_stmt *statement, struct buf *out) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    buf_add_text(out, "{\"name\":");
    add_text(out, statement, 0);
    buf_add_text(out, ",\"kind\":");
    add_text(out, statement, 1);
    for (size_t i = 0; name != NULL && i < sizeof lists / sizeof lists[0]; i++) {
        write_list(db, i, name, out);
    }
    buf_add_text(out, ",\"sql\":");
    add_text(out, statement, 2);
    buf_add_char(out, '}');
}

static bool write_schema(struct db *db, struct buf *out) {
    const char *table = tr_get_string(db->call, "table", NULL);
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_ROW;
    int count = 0;
    if (sqlite3_prepare_v2(db->sqlite,
                           "SELECT name, type, sql FROM sqlite_schema WHERE type IN ('table', "
                           "'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND (?1 IS NULL OR "
                           "name = ?1 COLLATE NOCASE) ORDER BY name",
                           -1, &statement, NULL) != SQLITE_OK) {
        return db_fail_sqlite(db);
    }
    (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    buf_add_text(out, "{\"tables\":[");
    while (count < TABLES_MAX && out->length < ROWS_BYTES_MAX &&
           (code = sqlite3_step(statement)) == SQLITE_ROW) {
        buf_add_text(out, count++ > 0 ? "," : "");
        write_table(db, statement, out);
    }
    bool more = code == SQLITE_ROW && sqlite3_step(statement) == SQLITE_ROW;
    buf_printf(out, "],\"truncated\":%s}", more ? "true" : "false");
    (void)sqlite3_finalize(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        return db_fail_sqlite(db);
    }
    return count > 0 || table == NULL ||
           db_fail(db, TR_INVALID_ARGUMENTS, "table", "no table or view \"%.60s\"", table);
}

static tr_status sqlite_schema(struct tr_call *call) {
    struct db db;
    struct buf out = BUF_INIT;
    (void)(db_open(&db, call, DB_READS) && write_schema(&db, &out));
    return finish(&db, &out);
}

/* clang-format off */
#define PATH \
    "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,\"description\":\"The database file, in a granted folder; :memory: is an empty database for this call\"}"
#define SQL(what) \
    "\"sql\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":100000,\"description\":\"" what "\"}"
#define PARAMETERS \
    "\"parameters\":{\"type\":[\"array\",\"object\"],\"items\":{},\"default\":[],\"description\":\"Values of the placeholders: an array for ?, an object for :name; bytes are {\\\"base64\\\": ...}. Put values here and not into the SQL\"}"
#define TIMEOUT \
    "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20000,\"default\":5000,\"description\":\"How long it may run, in milliseconds\"}"
#define OBJECT(members, required) "{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "],\"additionalProperties\":false}"

TR_JSON_TOOL(sqlite_query,
    ("Run one SQL query (select) on an SQLite database and get its rows. It cannot change anything. See sqlite_schema first "
     "for the tables. The result can be drawn by the chart tools.",
     .title = "Query SQLite", .category = "data", .tags = "sqlite,sql,database,query,select,table",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .deadline_ms = 25000,
     .result_schema = TR_SCHEMA({
         "type": "object",
         "properties": {
             "columns": {"type": "array", "items": {"type": "string"}, "description": "Names of the columns"},
             "rows": {"type": "array", "items": {"type": "array", "items": {}}, "description": "The rows; a blob is {\"base64\": ...}"},
             "count": {"type": "integer", "description": "Rows in this result"},
             "truncated": {"type": "boolean", "description": "There are more, which limit or the size of the result cut off"}
         },
         "required": ["columns", "rows", "count", "truncated"]
     }),
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"path": ":memory:", "sql": "SELECT date('2025-01-31', '+1 month') AS day, ? * 2 AS twice", "parameters": [21]}),
                            TR_SCHEMA({"columns": ["day", "twice"], "rows": [["2025-03-03", 42]], "count": 1, "truncated": false})))),
    OBJECT(PATH "," SQL("One statement that reads, such as SELECT") "," PARAMETERS ","
        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,\"default\":100,\"description\":\"How many rows at most\"},"
        TIMEOUT, "\"path\",\"sql\""))

TR_JSON_TOOL(sqlite_execute,
    ("Change an SQLite database: insert, update or delete rows, create or drop tables. All statements of a call are done, or none. "
     "Use sqlite_query to read.",
     .title = "Change SQLite", .category = "data", .tags = "sqlite,sql,database,insert,update,delete,create,row,table",
     .flags = TR_DESTRUCTIVE, .permission = TR_CONFIRM, .deadline_ms = 25000,
     .result_schema = TR_SCHEMA({
         "type": "object",
         "properties": {
             "statements": {"type": "integer", "description": "How many statements were run"},
             "changes": {"type": "integer", "description": "Rows that were inserted, updated or deleted"},
             "last_insert_rowid": {"type": "integer", "description": "Of the row inserted last; 0 if none was"}
         },
         "required": ["statements", "changes", "last_insert_rowid"]
     })),
    OBJECT(PATH "," SQL("One or several statements") "," PARAMETERS ","
        "\"create\":{\"type\":\"boolean\",\"default\":false,\"description\":\"Make the file if it is not there\"},"
        TIMEOUT, "\"path\",\"sql\""))

TR_JSON_TOOL(sqlite_schema,
    ("List the tables and views of an SQLite database with their columns, foreign keys and indexes. Use it before "
     "writing SQL.",
     .title = "Schema of SQLite", .category = "data", .tags = "sqlite,sql,database,schema,tables,columns",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     .result_schema = TR_SCHEMA({
         "type": "object",
         "properties": {
             "tables": {"type": "array", "items": {"type": "object"}, "description": "Tables and views by name"},
             "truncated": {"type": "boolean", "description": "There are more"}
         },
         "required": ["tables", "truncated"]
     }),
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"path": ":memory:"}), TR_SCHEMA({"tables": [], "truncated": false})))),
    OBJECT(PATH ",\"table\":{\"type\":\"string\",\"description\":\"Only this table or view\"}", "\"path\""))

TR_JSON_TOOL(sqlite_explain,
    ("Tell how SQLite would run a statement, without running it: which tables are scanned, which indexes are used.",
     .title = "Explain SQL", .category = "data", .tags = "sqlite,sql,database,explain,plan,index,slow,extra",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     .result_schema = TR_SCHEMA({
         "type": "object",
         "properties": {
             "plan": {"type": "array", "items": {"type": "object"}, "description": "The steps, each below its parent"}
         },
         "required": ["plan"]
     }),
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"path": ":memory:", "sql": "SELECT name FROM sqlite_schema"}), NULL))),
    OBJECT(PATH "," SQL("One statement"), "\"path\",\"sql\""))

TR_PLUGIN(("sqlite", .description = "Queries and changes SQLite databases", .vendor = "toolrack", .license = "MIT",
           .open = db_set_up, .close = db_tear_down,
           TR_CAPABILITIES(TR_READS("${workspace}"), TR_WRITES("${workspace}"))),
          "1.0.0", sqlite_query, sqlite_execute, sqlite_schema, sqlite_explain)
