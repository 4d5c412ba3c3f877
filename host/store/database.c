#include "store/database.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>

#include "base/utf8.h"

/* SQLite's MAX_PATHNAME is 512, with its ending for a journal. */
#define PATH_SIZE_MAX 500
/* Random bytes of an id. */
#define ID_BYTES_MAX  16

/* --------------------------------------------------------------------- ids */

int database_random_id(const char *of, char *ret_id, size_t size, struct toolrack_error *err) {
    unsigned char bytes[ID_BYTES_MAX];
    size_t count = (size - 1) / 2;
    assert(count <= sizeof bytes);
    if (getrandom(bytes, count, 0) != (ssize_t)count) {
        return error_set(err, TOOLRACK_E_IO, "cannot get random bytes for the id of %s: %s", of,
                         strerror(errno));
    }
    (void)sodium_bin2hex(ret_id, size, bytes, count);
    return 0;
}

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

static int errno_of_file(struct store *store, int pointer) {
    sqlite3_file *file = NULL;
    int number = 0;
    if (sqlite.file_control(store->db, "main", pointer, (void *)&file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL ||
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number) != SQLITE_OK) {
        return 0;
    }
    return number;
}

/* The reason of the system, where SQLite only says that a file could not be written: a statement
 * that commits leaves it with the file, or with its log. */
static int system_errno(struct store *store) {
    int status = sqlite.errcode(store->db);
    if (status != SQLITE_IOERR && status != SQLITE_CANTOPEN) {
        return 0;
    }
    int number = sqlite.system_errno(store->db);
    number = number != 0 ? number : errno_of_file(store, SQLITE_FCNTL_JOURNAL_POINTER);
    return number != 0 ? number : errno_of_file(store, SQLITE_FCNTL_FILE_POINTER);
}

bool database_has_no_room(struct store *store) {
    int number = system_errno(store);
    return sqlite.errcode(store->db) == SQLITE_FULL || number == ENOSPC || number == EDQUOT ||
           number == EFBIG;
}

static void explain(struct store *store, const char **ret_reason, const char **ret_advice) {
    int status = sqlite.errcode(store->db);
    *ret_reason = sqlite.errmsg(store->db);
    *ret_advice = "";
    if (system_errno(store) == EFBIG) {
        *ret_reason = "a file may not grow so far";
        *ret_advice = "; raise the limit of file sizes (ulimit -f) and do it again";
    } else if (database_has_no_room(store)) {
        *ret_reason = "the disk is full";
        *ret_advice = "; make room and do it again";
    } else if (status == SQLITE_CANTOPEN && strlen(store->path) > PATH_SIZE_MAX) {
        *ret_reason = "the path is longer than SQLite takes";
        *ret_advice = "; choose a state folder with a shorter one";
    } else if (status == SQLITE_CANTOPEN || status == SQLITE_READONLY) {
        *ret_advice = "; let this user write to the file and its folder";
    } else if (status == SQLITE_CORRUPT || status == SQLITE_NOTADB) {
        *ret_advice = "; it is left as it is, move it away to start with an empty one";
    }
}

int database_failed(struct store *store, const char *what, struct toolrack_error *err) {
    const char *reason;
    const char *advice;
    int status = sqlite.errcode(store->db);
    if (store->db == NULL || status == SQLITE_NOMEM) {
        return error_oom(err);
    }
    if (status == SQLITE_BUSY) {
        return error_set(err, TOOLRACK_E_IO,
                         "cannot %s %s: another process has been writing to it for %d s; do it "
                         "again when that has ended",
                         what, store->path, STORE_BUSY_MS / 1000);
    }
    explain(store, &reason, &advice);
    return error_set(err, TOOLRACK_E_IO, "cannot %s %s: %s%s", what, store->path, reason, advice);
}

/* The same for a statement. A file that is damaged in one place is not written to at all: writing
 * could destroy data that can still be rescued. */
static int statement_failed(struct store *store, const char *what, struct toolrack_error *err) {
    store->damaged = store->damaged || sqlite.errcode(store->db) == SQLITE_CORRUPT;
    return database_failed(store, what, err);
}

/* ------------------------------------------------------------ run statements */

static bool bind_values(sqlite3_stmt *statement, const struct value *values) {
    int status = SQLITE_OK;
    for (int at = 1; status == SQLITE_OK && values->kind != VALUE_END; at++, values++) {
        switch (values->kind) {
        case VALUE_NUMBER: status = sqlite.bind_int64(statement, at, values->number); break;
        case VALUE_TEXT:
            status = sqlite.bind_text64(statement, at, values->data, values->size, SQLITE_STATIC,
                                        SQLITE_UTF8);
            break;
        case VALUE_BYTES:
            status = sqlite.bind_blob64(statement, at, values->data, values->size, SQLITE_STATIC);
            break;
        case VALUE_ROWS:
            status = sqlite.bind_pointer(statement, at, (void *)(uintptr_t)values->data,
                                         DATABASE_GIVEN, NULL);
            break;
        case VALUE_NULL:
        case VALUE_END: status = sqlite.bind_null(statement, at); break;
        }
    }
    return status == SQLITE_OK;
}

int database_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement,
                     struct toolrack_error *err) {
    return sqlite.prepare_v2(store->db, sql, -1, ret_statement, NULL) == SQLITE_OK
                   ? 0
                   : statement_failed(store, "write to", err);
}

int database_run_prepared(struct store *store, sqlite3_stmt *statement, const struct value *values,
                          struct toolrack_error *err) {
    int code = 0;
    if (!bind_values(statement, values) || sqlite.step(statement) != SQLITE_DONE) {
        code = statement_failed(store, "write to", err);
    }
    (void)sqlite.reset(statement);
    return code;
}

sqlite3_stmt *database_keep(struct store *store, const char *sql) {
    struct kept_statement *kept = store->kept;
    while (kept->sql != sql && kept->sql != NULL) {
        kept++;
        assert(kept < store->kept + STORE_KEPT_MAX);
    }
    if (kept->sql == NULL) {
        if (sqlite.prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &kept->statement,
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
    (void)sqlite.clear_bindings(statement);
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
    switch (sqlite.column_type(statement, column)) {
    case SQLITE_INTEGER:
        *ret_value = value_number(sqlite.column_int64(statement, column));
        return true;
    case SQLITE_TEXT:
        ret_value->kind = VALUE_TEXT;
        data = sqlite.column_text(statement, column);
        break;
    case SQLITE_BLOB:
        ret_value->kind = VALUE_BYTES;
        data = sqlite.column_blob(statement, column);
        break;
    default: return true;
    }
    ret_value->size = (size_t)sqlite.column_bytes(statement, column);
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
    ret_rows->columns = (size_t)sqlite.column_count(statement);
    int status;
    while ((status = sqlite.step(statement)) == SQLITE_ROW) {
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
    int code = sqlite.prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK
                       ? run_query(store, statement, values, ret_rows, err)
                       : statement_failed(store, "read", err);
    (void)sqlite.finalize(statement);
    return code;
}

int database_run_kept(struct store *store, const char *sql, const struct value *values,
                      struct rows *ret_rows, struct toolrack_error *err) {
    sqlite3_stmt *statement = database_keep(store, sql);
    if (statement == NULL) {
        return statement_failed(store, "read", err);
    }
    int code = run_query(store, statement, values, ret_rows, err);
    (void)sqlite.reset(statement);
    (void)sqlite.clear_bindings(statement);
    return code;
}

void database_drop_kept(struct store *store) {
    for (size_t i = 0; i < STORE_KEPT_MAX; i++) {
        (void)sqlite.finalize(store->kept[i].statement);
        store->kept[i] = (struct kept_statement){0};
    }
}
