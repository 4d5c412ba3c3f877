#include "rows.h"

#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

static void add_bytes(struct buf *out, const void *bytes, size_t size) {
    buf_add_text(out, "{\"base64\":\"");
    base64_encode(out, bytes, size);
    buf_add_text(out, "\"}");
}

static bool add_cell(sqlite3_stmt *statement, int column, struct rows *rows) {
    struct buf *out = rows->out;
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_INTEGER) {
        buf_add_json_int(out, sqlite3_column_int64(statement, column));
        return true;
    }
    if (type == SQLITE_FLOAT) {
        buf_add_json_double(out, sqlite3_column_double(statement, column));
        return true;
    }
    if (type == SQLITE_NULL) {
        buf_add_text(out, "null");
        return true;
    }
    const void *bytes = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, column)
                                            : sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    if (size > ROWS_CELL_MAX) {
        rows->wide_column = column;
        rows->wide_bytes = size;
        return false;
    }
    if (bytes == NULL && size > 0) {
        out->failed = true; /* no memory to convert it */
        return true;
    }
    if (type == SQLITE_TEXT && utf8_valid(bytes == NULL ? "" : bytes, size)) {
        buf_add_json_string(out, bytes == NULL ? "" : bytes, size);
    } else {
        add_bytes(out, bytes == NULL ? "" : bytes, size);
    }
    return true;
}

static void add_names(sqlite3_stmt *statement, const char *const *names, struct buf *out) {
    int count = sqlite3_column_count(statement);
    buf_add_text(out, "\"columns\":[");
    for (int i = 0; i < count; i++) {
        const char *name = names != NULL ? names[i] : sqlite3_column_name(statement, i);
        name = name == NULL || !utf8_valid(name, strlen(name)) ? "" : name;
        if (i > 0) {
            buf_add_char(out, ',');
        }
        buf_add_json_string(out, name, strlen(name));
    }
    buf_add_text(out, "],\"rows\":[");
}

/* A row that does not fit any more is taken back. */
static bool add_row(sqlite3_stmt *statement, struct rows *rows) {
    size_t length = rows->out->length;
    int count = sqlite3_data_count(statement);
    buf_add_text(rows->out, rows->count > 0 ? ",[" : "[");
    for (int i = 0; i < count; i++) {
        if (i > 0) {
            buf_add_char(rows->out, ',');
        }
        if (!add_cell(statement, i, rows)) {
            return false;
        }
    }
    buf_add_char(rows->out, ']');
    if (rows->out->length > ROWS_BYTES_MAX && rows->count > 0) {
        buf_truncate(rows->out, length);
        rows->truncated = true;
    } else {
        rows->count++;
    }
    return true;
}

int rows_write(sqlite3_stmt *statement, const char *const *names, struct rows *rows) {
    int code = SQLITE_ROW;
    rows->count = 0;
    rows->truncated = false;
    rows->wide_column = -1;
    add_names(statement, names, rows->out);
    while (!rows->truncated && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (rows->count == rows->rows_max) {
            rows->truncated = true;
        } else if (!add_row(statement, rows)) {
            code = SQLITE_TOOBIG;
            break;
        }
        if (rows->out->failed) {
            code = SQLITE_NOMEM;
            break;
        }
    }
    buf_add_char(rows->out, ']');
    return code;
}
