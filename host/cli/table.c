#include "cli/table.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

#define GAP 2u /* spaces between two columns */

void table_init(struct table *table, const char *const *headings, size_t columns) {
    assert(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns};
    for (size_t i = 0; i < columns; i++) {
        table_add(table, headings[i]);
    }
}

void table_finish(struct table *table) {
    buf_finish(&table->text);
    free(table->uncut);
    *table = (struct table){0};
}

void table_add(struct table *table, const char *cell) {
    size_t start = table->text.length;
    if (cell != NULL) {
        text_add_line(&table->text, cell, strlen(cell));
    }
    if (table->text.length == start) {
        buf_add_char(&table->text, '-');
    }
    if (table->text.failed) {
        return;
    }
    size_t width = utf8_count(table->text.data + start, table->text.length - start);
    size_t *widest = &table->width[table->cells % table->columns];
    *widest = width > *widest ? width : *widest;
    buf_add_char(&table->text, '\0');
    table->cells++;
}

void table_keep_whole(struct table *table) {
    assert(table->cells % table->columns == 0);
    size_t *grown = reallocarray(table->uncut, table->uncut_count + 1, sizeof table->uncut[0]);
    if (grown == NULL) {
        table->text.failed = true;
        return;
    }
    table->uncut = grown;
    table->uncut[table->uncut_count++] = table->cells / table->columns - 1;
}

/* Characters left for the last column; SIZE_MAX: do not cut. */
static size_t last_width(const struct table *table, size_t width) {
    if (width == 0) {
        return SIZE_MAX;
    }
    size_t taken = 0;
    for (size_t i = 0; i + 1 < table->columns; i++) {
        taken += table->width[i] + GAP;
    }
    return width > taken + TABLE_LAST_WIDTH_MIN ? width - taken : TABLE_LAST_WIDTH_MIN;
}

void table_print(struct table *table, size_t width, struct buf *out) {
    assert(table->text.failed || table->cells % table->columns == 0);
    if (table->text.failed) {
        out->failed = true;
        return;
    }
    size_t last = last_width(table, width);
    size_t uncut = 0;
    const char *cell = table->text.data;
    for (size_t i = 0; i < table->cells; i++) {
        size_t length = strlen(cell);
        size_t column = i % table->columns;
        if (column + 1 < table->columns) {
            size_t pad = table->width[column] + GAP - utf8_count(cell, length);
            buf_add(out, cell, length);
            buf_printf(out, "%*s", (int)pad, "");
        } else {
            bool whole = uncut < table->uncut_count && table->uncut[uncut] == i / table->columns;
            uncut += whole;
            text_add_cut(out, cell, length, whole ? SIZE_MAX : last);
            buf_add_char(out, '\n');
        }
        cell += length + 1;
    }
}
