#include "cli/table.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "cli/width.h"

#define GAP           2u /* spaces between two columns */
#define GAP_NARROW    1u
#define COLUMN_MIN    4u  /* a column is not made narrower than this */
#define TEXT_MIN      24u /* a text that gets less than this goes beneath its row */
#define BENEATH_SPACE 4u  /* indentation there */

void table_init(struct table *table, const char *const *headings, size_t columns) {
    assert(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns};
    for (size_t i = 0; i < columns; i++) {
        table_add(table, headings[i]);
        table_emphasize(table, STYLE_HEADING);
    }
}

void table_finish(struct table *table) {
    buf_finish(&table->text);
    buf_finish(&table->styles);
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
    buf_add_char(&table->styles, STYLE_PLAIN);
    if (table->text.failed || table->styles.failed) {
        return;
    }
    size_t width = width_of(table->text.data + start, table->text.length - start);
    size_t *widest = &table->width[table->cells % table->columns];
    *widest = width > *widest ? width : *widest;
    buf_add_char(&table->text, '\0');
    table->cells++;
}

void table_emphasize(struct table *table, enum style style) {
    assert(table->styles.failed || table->styles.length > 0);
    if (!table->styles.failed) {
        table->styles.data[table->styles.length - 1] = (char)style;
    }
}

/* ------------------------------------------------------------------ layout */

struct layout {
    size_t columns; /* side by side */
    size_t width[TABLE_COLUMNS_MAX];
    size_t gap;
    size_t beneath; /* columns for the last cell beneath its row; 0: it is not beneath */
};

static size_t whole_width(const struct layout *layout) {
    size_t sum = (layout->columns - 1) * layout->gap;
    for (size_t i = 0; i < layout->columns; i++) {
        sum += layout->width[i];
    }
    return sum;
}

/* Make the widest column narrower until the columns fit. */
static void narrow(struct layout *layout, size_t width) {
    layout->gap = GAP_NARROW;
    for (size_t sum = whole_width(layout); sum > width; sum--) {
        size_t *widest = &layout->width[0];
        for (size_t i = 1; i < layout->columns; i++) {
            widest = layout->width[i] > *widest ? &layout->width[i] : widest;
        }
        if (*widest <= COLUMN_MIN) {
            return;
        }
        (*widest)--;
    }
}

static struct layout lay_out(const struct table *table, size_t width) {
    struct layout layout = {.columns = table->columns, .gap = GAP};
    memcpy(layout.width, table->width, sizeof layout.width);
    if (width == 0 || whole_width(&layout) <= width) {
        return layout;
    }
    size_t *last = &layout.width[layout.columns - 1];
    size_t others = whole_width(&layout) - *last;
    if (*last > TEXT_MIN && others + TEXT_MIN <= width) {
        *last = width - others;
        return layout;
    }
    if (*last > TEXT_MIN && layout.columns > 1) {
        layout.columns--;
        layout.beneath = width > 2 * BENEATH_SPACE ? width - BENEATH_SPACE : BENEATH_SPACE;
    }
    if (whole_width(&layout) > width) {
        narrow(&layout, width);
    }
    return layout;
}

/* -------------------------------------------------------------------- rows */

/* What is left of a row's cells. */
struct row {
    const char *text[TABLE_COLUMNS_MAX];
    size_t length[TABLE_COLUMNS_MAX];
    const char *styles;
};

struct printer {
    const struct layout *layout;
    struct buf *out;
    struct styles *marks;
};

/* Append the next piece of a cell, at most `width` columns. @return its columns. */
static size_t add_piece(const struct printer *printer, struct row *row, size_t column,
                        size_t width) {
    struct buf *out = printer->out;
    size_t next = 0;
    size_t length = width_fit(row->text[column], row->length[column], width, &next);
    enum style style = (enum style)row->styles[column];
    size_t columns = width_of(row->text[column], length);
    if (style != STYLE_PLAIN) {
        style_begin(printer->marks, out->length, style);
    }
    buf_add(out, row->text[column], length);
    if (style != STYLE_PLAIN) {
        style_begin(printer->marks, out->length, STYLE_PLAIN);
    }
    row->text[column] += next;
    row->length[column] -= next;
    return columns;
}

/* Append one line of a row: the next piece of each cell. */
static void add_line(const struct printer *printer, struct row *row) {
    size_t space = 0; /* still to be added before the next piece */
    for (size_t i = 0; i < printer->layout->columns; i++) {
        size_t width = printer->layout->width[i];
        size_t used = 0;
        if (row->length[i] > 0) {
            buf_printf(printer->out, "%*s", (int)space, "");
            space = 0;
            used = add_piece(printer, row, i, width);
        }
        space += (width > used ? width - used : 0) + printer->layout->gap;
    }
    buf_add_char(printer->out, '\n');
}

static bool has_more(const struct row *row, size_t columns) {
    for (size_t i = 0; i < columns; i++) {
        if (row->length[i] > 0) {
            return true;
        }
    }
    return false;
}

static void add_beneath(const struct printer *printer, struct row *row) {
    size_t last = printer->layout->columns;
    if (strcmp(row->text[last], "-") == 0) {
        return;
    }
    while (row->length[last] > 0) {
        buf_printf(printer->out, "%*s", (int)BENEATH_SPACE, "");
        (void)add_piece(printer, row, last, printer->layout->beneath);
        buf_add_char(printer->out, '\n');
    }
}

void table_print(struct table *table, size_t width, struct buf *out, struct styles *styles) {
    bool failed = table->text.failed || table->styles.failed;
    assert(failed || table->cells % table->columns == 0);
    if (failed) {
        out->failed = true;
        return;
    }
    struct layout layout = lay_out(table, width);
    struct printer printer = {.layout = &layout, .out = out, .marks = styles};
    const char *cell = table->text.data;
    for (size_t at = 0; at < table->cells && !out->failed; at += table->columns) {
        struct row row = {.styles = table->styles.data + at};
        for (size_t i = 0; i < table->columns; i++) {
            row.text[i] = cell;
            row.length[i] = strlen(cell);
            cell += row.length[i] + 1;
        }
        do {
            add_line(&printer, &row);
        } while (has_more(&row, layout.columns));
        if (layout.beneath > 0) {
            add_beneath(&printer, &row);
        }
    }
}
