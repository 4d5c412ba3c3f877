/* rows.h - the rows of a statement as JSON, within limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/buf.h"

/* Of one reply, and of one cell. */
#define ROWS_BYTES_MAX ((size_t)4 << 20)
#define ROWS_CELL_MAX  ((size_t)1 << 20)

struct rows {
    struct buf *out;   /**< borrowed */
    uint64_t rows_max; /**< as many are written, and then `truncated` is set */
    uint64_t count;
    bool truncated;
    int wide_column;     /**< -1, or the column with a cell beyond ROWS_CELL_MAX */
    uint64_t wide_bytes; /**< and how many it has */
};

/** Append `"columns":[...],"rows":[[...],...]` for a statement that was not stepped yet; names may
 * be NULL for those of the statement. A blob, and text that is no UTF-8, is an object `{"base64":
 * ...}`.
 * @return SQLITE_DONE; SQLITE_ROW where truncated; SQLITE_TOOBIG with wide_column; else what
 *         sqlite3_step() said. [call-thread] */
int rows_write(sqlite3_stmt *statement, const char *const *names, struct rows *rows);
