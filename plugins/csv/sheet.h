/* sheet.h - CSV texts as tables of a database in memory.
 *
 * A sheet is a table whose columns are c0, c1 ...: no name of a caller becomes a part of SQL. Cells
 * are kept as text; a column in which every cell is a number is read as one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/buf.h"

#define SHEET_BYTES_MAX   ((size_t)64 << 20)
#define SHEET_COLUMNS_MAX 512u
#define SHEET_ROWS_MAX    1000000u
#define SHEET_MESSAGE_MAX 400u
#define SHEET_CELL_SHOWN  40u

/* What a column is read as; EMPTY only while it is being read. */
enum sheet_type { SHEET_EMPTY, SHEET_INTEGER, SHEET_NUMBER, SHEET_TEXT };

struct sheet {
    char table;     /**< its name in SQL, one letter */
    char delimiter; /**< 0: found by looking at the first line */
    char quote;
    char decimal;   /**< '.' or ',' */
    char thousands; /**< what is between groups of three digits; 0: nothing */
    bool has_header;
    bool keep_text; /**< no column is read as numbers */

    size_t columns;
    char *names[SHEET_COLUMNS_MAX]; /**< owned */
    enum sheet_type types[SHEET_COLUMNS_MAX];
    /** Of a column of text, the first cell that made it one, with its row; row 0: none did. */
    struct sheet_cell {
        uint64_t row;
        char text[SHEET_CELL_SHOWN];
    } odd_cells[SHEET_COLUMNS_MAX];
    uint64_t rows;
    char message[SHEET_MESSAGE_MAX]; /**< why it failed */
};

/** Read a text into a new table. The members above `columns` are set by the caller, the others are
 * zero.
 * @param cancelled  asked now and then; NULL: never
 * @return false with a message; the sheet is to be finished all the same. [call-thread] */
bool sheet_load(struct sheet *sheet, sqlite3 *database, const char *text, size_t length,
                bool (*cancelled)(void *user), void *user);
void sheet_finish(struct sheet *sheet);

/** Index of a column by name; SIZE_MAX: none has it. [call-thread] */
size_t sheet_find(const struct sheet *sheet, const char *name);
/** The names with commas, cut where there are many, for a message. [call-thread] */
void sheet_list(const struct sheet *sheet, char *ret, size_t room);
/** Append what a column is in SQL: its text, or that as a number.
 * @param table  before its name; "": none. [call-thread] */
void sheet_add_column_of(const struct sheet *sheet, const char *table, size_t column,
                         struct buf *sql);
void sheet_add_column(const struct sheet *sheet, size_t column, struct buf *sql);
