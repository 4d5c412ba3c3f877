/* Rows of the store that are kept as bytes (start.cache), from any bytes: those of a statement are
 * found and are sound, or are not found. The checksum of the file is not in the way here. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/kept-rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* What every reader of rows does: it knows the columns by the statement. */
#define COLUMNS 8u

static unsigned read_rows(const struct rows *rows) {
    unsigned sum = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct value *row = rows_at(rows, i);
        for (size_t column = 0; column < COLUMNS; column++) {
            if (row[column].kind == VALUE_TEXT || row[column].kind == VALUE_BYTES) {
                for (size_t at = 0; at < row[column].size; at++) {
                    sum += (unsigned char)((const char *)row[column].data)[at];
                }
                require(((const char *)row[column].data)[row[column].size] == 0);
            }
        }
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct value none[] = {{.kind = VALUE_END}};
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    CLEANUP(buf_finish) struct buf again = BUF_INIT;
    buf_add(&bytes, data, size); /* in memory of its own */
    require(!bytes.failed);
    if (!kept_rows_find(bytes.data, bytes.length, "s", none, &rows)) {
        return 0;
    }
    volatile unsigned sum = read_rows(&rows);
    (void)sum;
    /* What was found can be kept and found again. */
    CLEANUP(rows_finish) struct rows same = ROWS_INIT;
    require(kept_rows_add(&again, "s", none, &rows) && !again.failed);
    require(kept_rows_find(again.data, again.length, "s", none, &same));
    require(same.count == rows.count && same.columns == rows.columns);
    require(!kept_rows_add(&again, "s", none, &rows));
    return 0;
}
