/* table.h - rows of cells in aligned columns. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "cli/style.h"

#define TABLE_COLUMNS_MAX 10

struct table {
    size_t columns;
    size_t width[TABLE_COLUMNS_MAX]; /**< of the widest cell, in columns of a terminal */
    size_t word[TABLE_COLUMNS_MAX];  /**< of the longest word */
    struct buf text;                 /**< all cells in order, each with its final zero */
    struct buf styles;               /**< a byte for each cell */
    size_t cells;
};

/** A table with these headings. Release with table_finish(). */
void table_init(struct table *table, const char *const *headings, size_t columns);
void table_finish(struct table *table);

/** Append the next cell; NULL and "" are shown as "-". Cells come row by row. */
void table_add(struct table *table, const char *cell);

/** Emphasize the cell that was added last. */
void table_emphasize(struct table *table, enum style style);

/** Append the table to `out`, at most `width` columns of a terminal wide; 0: any width, and a line
 * for each row. In a table that is too wide a long text of the last column is wrapped, or put
 * beneath its row; then the widest columns are wrapped, between words; and columns for whose
 * longest words there is no room are put beneath their row, each with its heading. Only a word that
 * is longer than a line is cut. Before the last column no word is wider than 80, and of any width
 * no cell: what is cut ends in an ellipsis. A failure marks `out` failed.
 * @param styles  receives the styles; may be NULL */
void table_print(struct table *table, size_t width, struct buf *out, struct styles *styles);
