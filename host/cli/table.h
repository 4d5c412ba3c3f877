/* table.h - rows of cells in aligned columns. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define TABLE_COLUMNS_MAX 8

/* The last column is cut to the available width, but never to less than this. */
#define TABLE_LAST_WIDTH_MIN 16

struct table {
    size_t columns;
    size_t width[TABLE_COLUMNS_MAX]; /**< of the widest cell, in characters */
    struct buf text;                 /**< all cells in order, each with its final zero */
    size_t cells;
    size_t *uncut; /**< rows whose last cell is not cut, in rising order */
    size_t uncut_count;
};

/** A table with these headings. Release with table_finish(). */
void table_init(struct table *table, const char *const *headings, size_t columns);
void table_finish(struct table *table);

/** Append the next cell; NULL and "" are shown as "-". Cells come row by row. */
void table_add(struct table *table, const char *cell);

/** Do not cut the last cell of the row that was added last: half of a reason does not help. */
void table_keep_whole(struct table *table);

/** Append the table to `out`, at most `width` characters wide, as far as cutting the last column
 * achieves that; 0: any width. A failure marks `out` failed. */
void table_print(struct table *table, size_t width, struct buf *out);
