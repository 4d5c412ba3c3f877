#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../filesystem/place.h"
#include "../sqlite/rows.h"

/* Instructions of SQLite between two looks at whether the call was cancelled. */
#define STEPS_A_LOOK 20000

/* What a database in memory may have. */
#define DATABASE_SETTINGS "PRAGMA page_size=4096; PRAGMA max_page_count=98304; PRAGMA temp_store=2"

/* ------------------------------------------------------------ failing */

bool work_fail(struct work *work, tr_status code, const char *field, const char *format, ...) {
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!work->failed) {
        work->failed = true;
        (void)tr_fail(work->call, code, field, "%s", message);
    }
    return false;
}

bool work_fail_sqlite(struct work *work) {
    switch (sqlite3_errcode(work->database)) {
    case SQLITE_INTERRUPT: return work_fail(work, TR_CANCELLED, NULL, "cancelled");
    case SQLITE_NOMEM:
    case SQLITE_FULL:
        return work_fail(work, TR_LIMIT_EXCEEDED, NULL,
                         "the data take too much memory; filter or aggregate less of them");
    default: return work_fail(work, TR_FAILED, NULL, "%s", sqlite3_errmsg(work->database));
    }
}

/* ------------------------------------------------------------ beginning and end */

static bool is_cancelled(void *user) {
    return tr_cancelled(user);
}

static int look(void *user) {
    return tr_cancelled(user);
}

bool work_begin(struct work *work, struct tr_call *call) {
    *work = (struct work){.call = call, .sql = BUF_INIT};
    const char *text = tr_arguments(call);
    work->doc = yyjson_read(text, strlen(text), 0);
    work->arguments = yyjson_doc_get_root(work->doc);
    if (work->doc == NULL ||
        sqlite3_open_v2(":memory:", &work->database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        return work_fail(work, TR_FAILED, NULL, "out of memory");
    }
    sqlite3_progress_handler(work->database, STEPS_A_LOOK, look, call);
    return sqlite3_exec(work->database, DATABASE_SETTINGS, NULL, NULL, NULL) == SQLITE_OK ||
           work_fail_sqlite(work);
}

tr_status work_finish(struct work *work, tr_status status) {
    sheet_finish(&work->left);
    sheet_finish(&work->right);
    buf_finish(&work->sql);
    (void)sqlite3_close(work->database);
    yyjson_doc_free(work->doc);
    return work->failed ? TR_FAILED : status;
}

/* ------------------------------------------------------------ sources */

/* A file may become shorter meanwhile. */
static bool read_all(int fd, size_t size, char *ret, size_t *ret_length) {
    size_t length = 0;
    while (length < size) {
        ssize_t got = read(fd, ret + length, size - length);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        length += got > 0 ? (size_t)got : 0;
    }
    *ret_length = length;
    return true;
}

/* The text of a file in a granted folder, to be freed; NULL: the call has been failed. */
static char *read_file(struct work *work, const char *path, const char *field, size_t *ret_length) {
    struct place place;
    struct place_fault fault;
    struct stat status;
    if (place_root_count() == 0) {
        (void)work_fail(work, TR_INVALID_ARGUMENTS, field,
                        "no folder is granted: an administrator names one as "
                        "\"paths\": {\"workspace\": ...} and allows the plugin to read; or give "
                        "the text itself");
        return NULL;
    }
    if (!place_find(path, &place, &fault)) {
        (void)work_fail(work, fault.code, field, "%s", fault.message);
        return NULL;
    }
    int fd = place_open_file(&place);
    if (fd < 0 || fstat(fd, &status) < 0) {
        place_say(&fault, "cannot read", path, errno);
        (void)work_fail(work, fault.code, field, "%s", fault.message);
        return NULL;
    }
    char *text = NULL;
    if ((uint64_t)status.st_size > SHEET_BYTES_MAX) {
        (void)work_fail(work, TR_LIMIT_EXCEEDED, field, "the file is larger than %zu MiB",
                        SHEET_BYTES_MAX >> 20);
    } else {
        text = malloc((size_t)status.st_size + 1);
        if (text == NULL || !read_all(fd, (size_t)status.st_size, text, ret_length)) {
            (void)work_fail(work, TR_FAILED, field, "the file cannot be read");
            free(text);
            text = NULL;
        }
    }
    (void)close(fd);
    return text;
}

/* One character of a member, or what is there without it. */
static bool take_char(struct work *work, yyjson_val *source, const char *prefix, const char *name,
                      char otherwise, char *ret) {
    char field[32];
    const char *said = yyjson_get_str(yyjson_obj_get(source, name));
    *ret = said == NULL ? otherwise : said[0];
    if (said != NULL && (strlen(said) != 1 || strchr("\r\n", said[0]) != NULL)) {
        (void)snprintf(field, sizeof field, "%s%s", prefix, name);
        return work_fail(work, TR_INVALID_ARGUMENTS, field,
                         "must be one ASCII character and no line break");
    }
    return true;
}

static bool set_dialect(struct work *work, struct sheet *sheet, yyjson_val *source,
                        const char *field) {
    yyjson_val *header = yyjson_obj_get(source, "header");
    sheet->has_header = header == NULL || yyjson_get_bool(header);
    bool comma = yyjson_equals_str(yyjson_obj_get(source, "decimal"), ",");
    sheet->decimal = comma ? ',' : '.';
    const char *thousands = yyjson_get_str(yyjson_obj_get(source, "thousands"));
    sheet->thousands = thousands != NULL ? thousands[0] : '\0';
    const char *types = yyjson_get_str(yyjson_obj_get(source, "types"));
    sheet->keep_text = types != NULL && strcmp(types, "text") == 0;
    char name[32];
    if (!take_char(work, source, field, "delimiter", '\0', &sheet->delimiter) ||
        !take_char(work, source, field, "quote", '"', &sheet->quote)) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%sthousands", field);
    if (sheet->thousands == sheet->decimal) {
        return work_fail(work, TR_INVALID_ARGUMENTS, name,
                         "must not be what is before the decimals too; state decimal");
    }
    (void)snprintf(name, sizeof name, "%squote", field);
    return sheet->delimiter != sheet->quote ||
           work_fail(work, TR_INVALID_ARGUMENTS, name, "must not be the delimiter too");
}

bool work_load(struct work *work, struct sheet *sheet, char table, yyjson_val *source,
               const char *field) {
    char name[32];
    yyjson_val *text = yyjson_obj_get(source, "text");
    yyjson_val *path = yyjson_obj_get(source, "path");
    text = yyjson_is_null(text) ? NULL : text;
    path = yyjson_is_null(path) ? NULL : path;
    (void)snprintf(name, sizeof name, "%s%s", field, path != NULL ? "path" : "text");
    if ((text == NULL) == (path == NULL)) {
        return work_fail(work, TR_INVALID_ARGUMENTS, name,
                         "give either text or path, the file that has it");
    }
    if (path != NULL && strlen(yyjson_get_str(path)) != yyjson_get_len(path)) {
        return work_fail(work, TR_INVALID_ARGUMENTS, name, "must not contain U+0000");
    }
    sheet->table = table;
    if (!set_dialect(work, sheet, source, field)) {
        return false;
    }
    size_t length = yyjson_get_len(text);
    char *file = path == NULL ? NULL : read_file(work, yyjson_get_str(path), name, &length);
    if (path != NULL && file == NULL) {
        return false;
    }
    bool loaded = sheet_load(sheet, work->database, path == NULL ? yyjson_get_str(text) : file,
                             length, is_cancelled, work->call);
    free(file);
    return loaded || work_fail(work, TR_INVALID_ARGUMENTS, name, "%s", sheet->message);
}

bool work_find_column(struct work *work, const struct sheet *sheet, const char *name,
                      const char *field, size_t *ret) {
    *ret = name == NULL ? SIZE_MAX : sheet_find(sheet, name);
    if (*ret == SIZE_MAX) {
        char names[400];
        sheet_list(sheet, names, sizeof names);
        return work_fail(work, TR_INVALID_ARGUMENTS, field, "no column \"%.64s\"; there are: %s",
                         name == NULL ? "" : name, names);
    }
    return true;
}

/* ------------------------------------------------------------ conditions */

bool work_add_value(struct work *work, yyjson_val *value) {
    if (work->value_count == WORK_VALUES_MAX) {
        return work_fail(work, TR_LIMIT_EXCEEDED, "where", "has more than %u values",
                         WORK_VALUES_MAX);
    }
    work->values[work->value_count++] = value;
    buf_printf(&work->sql, "?%zu", work->value_count);
    return true;
}

struct condition {
    struct work *work;
    const struct sheet *sheet;
    size_t column;
    yyjson_val *value;
    const char *field;
};

static void add_text_of(const struct condition *condition) {
    buf_printf(&condition->work->sql, "%c.c%zu", condition->sheet->table, condition->column);
}

static bool add_comparison(const struct condition *condition, const char *operator) {
    sheet_add_column(condition->sheet, condition->column, &condition->work->sql);
    buf_add_text(&condition->work->sql, operator);
    return work_add_value(condition->work, condition->value);
}

static bool add_in(const struct condition *condition) {
    size_t i;
    size_t count;
    yyjson_val *item;
    struct work *work = condition->work;
    if (!yyjson_is_arr(condition->value)) {
        return work_fail(work, TR_INVALID_ARGUMENTS, condition->field,
                         "of \"in\" must be an array of values");
    }
    sheet_add_column(condition->sheet, condition->column, &work->sql);
    buf_add_text(&work->sql, " IN (");
    yyjson_arr_foreach (condition->value, i, count, item) {
        if (i > 0) {
            buf_add_char(&work->sql, ',');
        }
        if (!work_add_value(work, item)) {
            return false;
        }
    }
    buf_add_char(&work->sql, ')');
    return true;
}

/* A part of the text of a cell: the whole cell, its beginning or its end, whatever it is read as.
 */
static bool add_part(const struct condition *condition, const char *before, const char *between,
                     const char *after) {
    struct buf *sql = &condition->work->sql;
    if (!yyjson_is_str(condition->value)) {
        return work_fail(condition->work, TR_INVALID_ARGUMENTS, condition->field, "must be text");
    }
    buf_add_text(sql, before);
    add_text_of(condition);
    buf_add_text(sql, between);
    if (!work_add_value(condition->work, condition->value)) {
        return false;
    }
    buf_add_text(sql, after);
    if (after[strlen(after) - 1] == '=') {
        buf_printf(sql, "?%zu", condition->work->value_count);
    }
    return true;
}

static bool add_operator(const struct condition *condition, const char *name) {
    static const struct {
        const char *name;
        const char *sql;
    } comparisons[] = {{"eq", " IS "}, {"ne", " IS NOT "}, {"lt", " < "},
                       {"le", " <= "}, {"gt", " > "},      {"ge", " >= "}};
    bool empty = strcmp(name, "empty") == 0;
    if (empty || strcmp(name, "not_empty") == 0) {
        add_text_of(condition);
        buf_add_text(&condition->work->sql, empty ? " IS NULL" : " IS NOT NULL");
        return true;
    }
    if (condition->value == NULL) {
        return work_fail(condition->work, TR_INVALID_ARGUMENTS, condition->field,
                         "must be given for \"%.32s\"", name);
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strcmp(comparisons[i].name, name) == 0) {
            return yyjson_is_ctn(condition->value)
                           ? work_fail(condition->work, TR_INVALID_ARGUMENTS, condition->field,
                                       "must be text, a number, true, false or null")
                           : add_comparison(condition, comparisons[i].sql);
        }
    }
    return strcmp(name, "in") == 0            ? add_in(condition)
           : strcmp(name, "contains") == 0    ? add_part(condition, "instr(", ",", ")>0")
           : strcmp(name, "starts_with") == 0 ? add_part(condition, "substr(", ",1,length(", "))=")
                                              : add_part(condition, "substr(", ",-length(", "))=");
}

bool work_add_where(struct work *work, const struct sheet *sheet) {
    size_t i;
    size_t count;
    yyjson_val *item;
    yyjson_val *where = yyjson_obj_get(work->arguments, "where");
    bool any = yyjson_equals_str(yyjson_obj_get(work->arguments, "match"), "any");
    yyjson_arr_foreach (where, i, count, item) {
        char field[48];
        struct condition condition = {.work = work,
                                      .sheet = sheet,
                                      .value = yyjson_obj_get(item, "value"),
                                      .field = field};
        (void)snprintf(field, sizeof field, "where/%zu/column", i);
        buf_add_text(&work->sql, i == 0 ? " WHERE (" : any ? ") OR (" : ") AND (");
        if (!work_find_column(work, sheet, yyjson_get_str(yyjson_obj_get(item, "column")), field,
                              &condition.column)) {
            return false;
        }
        (void)snprintf(field, sizeof field, "where/%zu/value", i);
        const char *name = yyjson_get_str(yyjson_obj_get(item, "op"));
        if (!add_operator(&condition, name == NULL ? "eq" : name)) {
            return false;
        }
    }
    if (yyjson_arr_size(where) > 0) {
        buf_add_char(&work->sql, ')');
    }
    return true;
}

void work_add_offset(struct work *work) {
    uint64_t offset = yyjson_get_uint(yyjson_obj_get(work->arguments, "offset"));
    if (offset > 0) {
        buf_printf(&work->sql, " LIMIT -1 OFFSET %llu", (unsigned long long)offset);
    }
}

/* ------------------------------------------------------------ running */

static void bind(sqlite3_stmt *statement, int at, yyjson_val *value) {
    if (yyjson_is_str(value)) {
        (void)sqlite3_bind_text64(statement, at, yyjson_get_str(value), yyjson_get_len(value),
                                  SQLITE_STATIC, SQLITE_UTF8);
    } else if (yyjson_is_int(value)) {
        (void)sqlite3_bind_int64(statement, at, yyjson_get_sint(value));
    } else if (yyjson_is_num(value)) {
        (void)sqlite3_bind_double(statement, at, yyjson_get_num(value));
    } else if (yyjson_is_bool(value)) {
        (void)sqlite3_bind_text(statement, at, yyjson_get_bool(value) ? "true" : "false", -1,
                                SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_null(statement, at);
    }
}

static sqlite3_stmt *prepare(struct work *work, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (work->sql.failed ||
        sqlite3_prepare_v2(work->database, sql, -1, &statement, NULL) != SQLITE_OK) {
        (void)work_fail_sqlite(work);
        return NULL;
    }
    for (size_t i = 0; i < work->value_count; i++) {
        bind(statement, (int)i + 1, work->values[i]);
    }
    return statement;
}

bool work_rows(struct work *work, const char *const *names, struct buf *out) {
    yyjson_val *limit = yyjson_obj_get(work->arguments, "limit");
    struct rows rows = {.out = out, .rows_max = limit == NULL ? 100 : yyjson_get_uint(limit)};
    sqlite3_stmt *statement = prepare(work, work->sql.data);
    if (statement == NULL) {
        return false;
    }
    int code = rows_write(statement, names, &rows);
    if (code != SQLITE_DONE && code != SQLITE_ROW) {
        (void)(code == SQLITE_TOOBIG && rows.wide_column >= 0
                       ? work_fail(
                                 work, TR_LIMIT_EXCEEDED, NULL,
                                 "a cell of column \"%.64s\" has %llu bytes; at most %zu are given",
                                 names[rows.wide_column], (unsigned long long)rows.wide_bytes,
                                 ROWS_CELL_MAX)
                       : work_fail_sqlite(work));
    }
    (void)sqlite3_finalize(statement);
    buf_printf(out, ",\"count\":%llu,\"truncated\":%s", (unsigned long long)rows.count,
               rows.truncated ? "true" : "false");
    return !work->failed;
}

bool work_count(struct work *work, const char *sql, uint64_t *ret) {
    sqlite3_stmt *statement = prepare(work, sql);
    if (statement == NULL) {
        return false;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *ret = (uint64_t)sqlite3_column_int64(statement, 0);
    } else {
        (void)work_fail_sqlite(work);
    }
    (void)sqlite3_finalize(statement);
    return !work->failed;
}
