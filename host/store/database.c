#include "store/database.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

/* ------------------------------------------------------------------ values */

struct value value_cut_text(const char *text, size_t size_max) {
    struct value value = value_text(text);
    if (value.size > size_max) {
        value.size = utf8_cut(text, size_max);
    }
    return value;
}

void value_copy_bytes(const struct value *value, void *ret_bytes, size_t size) {
    memset(ret_bytes, 0, size);
    if (value->kind == VALUE_BYTES && value->size > 0) {
        memcpy(ret_bytes, value->data, value->size < size ? value->size : size);
    }
}

int database_check_texts(const struct text_limit *limits, struct toolrack_error *err) {
    for (; limits->what != NULL; limits++) {
        if (limits->text != NULL &&
            strnlen(limits->text, limits->size_max + 1) > limits->size_max) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "the %s is longer than the %zu bytes that are kept; shorten it",
                             limits->what, limits->size_max);
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ errors */

int database_failed(struct store *store, const char *what, struct toolrack_error *err) {
    int status = sqlite3_errcode(store->db);
    if (store->db == NULL || status == SQLITE_NOMEM) {
        return error_oom(err);
    }
    const char *reason = sqlite3_errmsg(store->db);
    const char *advice = "";
    switch (status) {
    case SQLITE_FULL:
        reason = "the disk is full";
        advice = "; make room and do it again";
        break;
    case SQLITE_BUSY:
        return error_set(err, TOOLRACK_E_IO,
                         "cannot %s %s: another process has been writing to it for %d s; do it "
                         "again when that has ended",
                         what, store->path, STORE_BUSY_MS / 1000);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY: advice = "; let this user write to the file and its folder"; break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        advice = "; it is left as it is, move it away to start with an empty one";
        break;
    default: break;
    }
    return error_set(err, TOOLRACK_E_IO, "cannot %s %s: %s%s", what, store->path, reason, advice);
}

/* The same for a statement. A file that is damaged in one place is not written to at all: writing
 * could destroy data that can still be rescued. */
static int statement_failed(struct store *store, const char *what, struct toolrack_error *err) {
    store->damaged = store->damaged || sqlite3_errcode(store->db) == SQLITE_CORRUPT;
    return database_failed(store, what, err);
}

/* ------------------------------------------------------------ run statements */

static bool bind_values(sqlite3_stmt *statement, const struct value *values) {
    int status = SQLITE_OK;
    for (int at = 1; status == SQLITE_OK && values->kind != VALUE_END; at++, values++) {
        switch (values->kind) {
        case VALUE_NUMBER: status = sqlite3_bind_int64(statement, at, values->number); break;
        case VALUE_TEXT:
            status = sqlite3_bind_text64(statement, at, values->data, values->size, SQLITE_STATIC,
                                         SQLITE_UTF8);
            break;
        case VALUE_BYTES:
            status = sqlite3_bind_blob64(statement, at, values->data, values->size, SQLITE_STATIC);
            break;
        case VALUE_NULL:
        case VALUE_END: status = sqlite3_bind_null(statement, at); break;
        }
    }
    return status == SQLITE_OK;
}

int database_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement,
                     struct toolrack_error *err) {
    return sqlite3_prepare_v2(store->db, sql, -1, ret_statement, NULL) == SQLITE_OK
                   ? 0
                   : statement_failed(store, "write to", err);
}

int database_run_prepared(struct store *store, sqlite3_stmt *statement, const struct value *values,
                          struct toolrack_error *err) {
    int code = 0;
    if (!bind_values(statement, values) || sqlite3_step(statement) != SQLITE_DONE) {
        code = statement_failed(store, "write to", err);
    }
    (void)sqlite3_reset(statement);
    return code;
}

sqlite3_stmt *database_keep(struct store *store, const char *sql) {
    struct kept_statement *kept = store->kept;
    while (kept->sql != sql && kept->sql != NULL) {
        kept++;
        assert(kept < store->kept + STORE_KEPT_MAX);
    }
    if (kept->sql == NULL) {
        if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &kept->statement,
                               NULL) != SQLITE_OK) {
            return NULL;
        }
        kept->sql = sql;
    }
    return kept->statement;
}

int database_run(struct store *store, const char *sql, const struct value *values,
                 struct toolrack_error *err) {
    sqlite3_stmt *statement = database_keep(store, sql);
    if (statement == NULL) {
        return statement_failed(store, "write to", err);
    }
    int code = database_run_prepared(store, statement, values, err);
    (void)sqlite3_clear_bindings(statement);
    return code;
}

/* --------------------------------------------------------------- read rows */

void rows_finish(struct rows *rows) {
    arena_finish(&rows->arena);
    free(rows->values);
    *rows = ROWS_INIT;
}

static bool copy_column(struct arena *arena, sqlite3_stmt *statement, int column,
                        struct value *ret_value) {
    *ret_value = (struct value){.kind = VALUE_NULL};
    const void *data = NULL;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        *ret_value = value_number(sqlite3_column_int64(statement, column));
        return true;
    case SQLITE_TEXT:
        ret_value->kind = VALUE_TEXT;
        data = sqlite3_column_text(statement, column);
        break;
    case SQLITE_BLOB:
        ret_value->kind = VALUE_BYTES;
        data = sqlite3_column_blob(statement, column);
        break;
    default: return true;
    }
    ret_value->size = (size_t)sqlite3_column_bytes(statement, column);
    /* An empty blob is a null pointer; so is a text after an out-of-memory failure. */
    if (data == NULL && ret_value->size > 0) {
        return false;
    }
    ret_value->data = arena_copy(arena, data != NULL ? data : "", ret_value->size);
    return ret_value->data != NULL;
}

static bool copy_row(struct rows *rows, sqlite3_stmt *statement) {
    if (rows->count == rows->room) {
        size_t room = rows->room == 0 ? 16 : rows->room * 2;
        struct value *values = realloc(rows->values, room * rows->columns * sizeof *values);
        if (values == NULL) {
            return false;
        }
        rows->values = values;
        rows->room = room;
    }
    struct value *row = &rows->values[rows->count * rows->columns];
    for (size_t i = 0; i < rows->columns; i++) {
        if (!copy_column(&rows->arena, statement, (int)i, &row[i])) {
            return false;
        }
    }
    rows->count++;
    return true;
}

static int run_query(struct store *store, sqlite3_stmt *statement, const struct value *values,
                     struct rows *ret_rows, struct toolrack_error *err) {
    if (!bind_values(statement, values)) {
        return statement_failed(store, "read", err);
    }
    ret_rows->columns = (size_t)sqlite3_column_count(statement);
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!copy_row(ret_rows, statement)) {
            ret_rows->count = 0;
            return error_oom(err);
        }
    }
    if (status != SQLITE_DONE) {
        ret_rows->count = 0;
        return statement_failed(store, "read", err);
    }
    return 0;
}

int database_read_inside(struct store *store, const char *sql, const struct value *values,
                         struct rows *ret_rows, struct toolrack_error *err) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK
                       ? run_query(store, statement, values, ret_rows, err)
                       : statement_failed(store, "read", err);
    (void)sqlite3_finalize(statement);
    return code;
}

int database_run_kept(struct store *store, const char *sql, const struct value *values,
                      struct rows *ret_rows, struct toolrack_error *err) {
    sqlite3_stmt *statement = database_keep(store, sql);
    if (statement == NULL) {
        return statement_failed(store, "read", err);
    }
    int code = run_query(store, statement, values, ret_rows, err);
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return code;
}

void database_drop_kept(struct store *store) {
    for (size_t i = 0; i < STORE_KEPT_MAX; i++) {
        (void)sqlite3_finalize(store->kept[i].statement);
        store->kept[i] = (struct kept_statement){0};
    }
}
