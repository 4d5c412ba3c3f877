/* Rows in memory as a table of SQLite's: a virtual table that is in no file. A statement that adds
 * a thousand rows then runs once, where it would begin, find the place for its row and end a
 * thousand times. */
#include <stdlib.h>

#include "store/database.h"

/* Columns of the table; the rows themselves are in one behind them. */
#define COLUMNS                                                                         \
    "c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, " \
    "c19"
#define ROWS_AT DATABASE_GIVEN_COLUMNS
_Static_assert(ROWS_AT == 19, "COLUMNS names each");

struct reading {
    sqlite3_vtab_cursor base;
    const struct given_rows *rows;
    size_t at;
    struct value values[DATABASE_GIVEN_COLUMNS]; /* of the row at `at` */
};

static int make_table(sqlite3 *db, void *user, int count, const char *const *arguments,
                      sqlite3_vtab **ret_table, char **ret_why) {
    (void)user;
    (void)count;
    (void)arguments;
    (void)ret_why;
    /* Nothing that a file contains may use it. */
    (void)sqlite.vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    int status = sqlite.declare_vtab(db, "CREATE TABLE given (" COLUMNS ", rows HIDDEN)");
    if (status == SQLITE_OK) {
        *ret_table = calloc(1, sizeof **ret_table);
        status = *ret_table != NULL ? SQLITE_OK : SQLITE_NOMEM;
    }
    return status;
}

static int drop_table(sqlite3_vtab *table) {
    free(table);
    return SQLITE_OK;
}

/* The rows are a parameter: given(?1). */
static int plan(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn == ROWS_AT && info->aConstraint[i].usable &&
            info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
            info->aConstraintUsage[i].argvIndex = 1;
            info->aConstraintUsage[i].omit = 1;
            return SQLITE_OK;
        }
    }
    return SQLITE_CONSTRAINT;
}

static int open_reading(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor) {
    (void)table;
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) {
        return SQLITE_NOMEM;
    }
    *ret_cursor = &reading->base;
    return SQLITE_OK;
}

static int close_reading(sqlite3_vtab_cursor *cursor) {
    free(cursor);
    return SQLITE_OK;
}

static int move_to(struct reading *reading, size_t row) {
    reading->at = row;
    if (row < reading->rows->count) {
        reading->rows->read(reading->rows->user, row, reading->values);
    }
    return SQLITE_OK;
}

static int start(sqlite3_vtab_cursor *cursor, int plan_number, const char *plan_text, int count,
                 sqlite3_value **values) {
    static const struct given_rows none = {0};
    struct reading *reading = (struct reading *)cursor;
    (void)plan_number;
    (void)plan_text;
    const void *rows = count == 1 ? sqlite.value_pointer(values[0], DATABASE_GIVEN) : NULL;
    reading->rows = rows != NULL ? rows : &none;
    return move_to(reading, 0);
}

static int next(sqlite3_vtab_cursor *cursor) {
    struct reading *reading = (struct reading *)cursor;
    return move_to(reading, reading->at + 1);
}

static int is_at_end(sqlite3_vtab_cursor *cursor) {
    const struct reading *reading = (const struct reading *)cursor;
    return reading->at >= reading->rows->count;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int i) {
    const struct value *value = &((const struct reading *)cursor)->values[i];
    if (i >= ROWS_AT) {
        return SQLITE_OK;
    }
    switch (value->kind) {
    case VALUE_NUMBER: sqlite.result_int64(context, value->number); break;
    case VALUE_TEXT:
        sqlite.result_text64(context, value->data, value->size, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case VALUE_BYTES: sqlite.result_blob64(context, value->data, value->size, SQLITE_STATIC); break;
    case VALUE_ROWS:
    case VALUE_NULL:
    case VALUE_END: break;
    }
    return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret) {
    *ret = (sqlite3_int64)((const struct reading *)cursor)->at;
    return SQLITE_OK;
}

int database_add_given(sqlite3 *db) {
    static const sqlite3_module module = {.xConnect = make_table,
                                          .xBestIndex = plan,
                                          .xDisconnect = drop_table,
                                          .xOpen = open_reading,
                                          .xClose = close_reading,
                                          .xFilter = start,
                                          .xNext = next,
                                          .xEof = is_at_end,
                                          .xColumn = column,
                                          .xRowid = row_number};
    return sqlite.create_module(db, "given", &module, NULL);
}
