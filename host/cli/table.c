#include "cli/table.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/width.h"

#define GAP           2u /* spaces between two columns */
#define GAP_NARROW    1u
#define TEXT_MIN      24u /* a text that gets less than this goes beneath its row */
#define BENEATH_SPACE 4u  /* indentation there */
#define CELL_MAX      80u /* columns of a word, and of a cell on a line of any width */
#define ELLIPSIS      "\xe2\x80\xa6"

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

/* Append a text; what is too wide ends with an ellipsis. */
static void add_cut(struct buf *out, const char *text, size_t length) {
    size_t next = 0;
    bool is_cut = width_of(text, length) > CELL_MAX;
    buf_add(out, text, is_cut ? width_fit(text, length, CELL_MAX - 1, &next) : length);
    buf_add_text(out, is_cut ? ELLIPSIS : "");
}

/* Append a line, its words cut: one endless word of somebody's would widen the column for all. */
static void add_words(struct buf *out, const char *cell) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, cell, strlen(cell));
    out->failed = out->failed || line.failed;
    for (const char *at = line.data; !line.failed && at != NULL && at < line.data + line.length;) {
        const char *end = line.data + line.length;
        const char *space = memchr(at, ' ', (size_t)(end - at));
        add_cut(out, at, (size_t)((space != NULL ? space : end) - at));
        buf_add_text(out, space != NULL ? " " : "");
        at = space != NULL ? space + 1 : end;
    }
}

void table_add(struct table *table, const char *cell) {
    size_t start = table->text.length;
    bool is_last = table->cells % table->columns == table->columns - 1;
    if (cell != NULL && is_last) {
        text_add_line(&table->text, cell, strlen(cell));
    } else if (cell != NULL) {
        add_words(&table->text, cell);
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
    size_t word = width_of_word(table->text.data + start, table->text.length - start);
    size_t *longest = &table->word[table->cells % table->columns];
    *longest = word > *longest ? word : *longest;
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
    size_t columns; /* side by side; the others are beneath */
    size_t width[TABLE_COLUMNS_MAX];
    size_t gap;
    size_t beneath; /* columns for a cell beneath its row */
    bool is_text;   /* the last column is a long text, which needs no heading beneath */
    bool cuts;      /* a cell that is too wide is cut, not wrapped */
};

static size_t whole_width(const struct layout *layout) {
    size_t sum = (layout->columns - 1) * layout->gap;
    for (size_t i = 0; i < layout->columns; i++) {
        sum += layout->width[i];
    }
    return sum;
}

/* Make the widest columns narrower until the columns fit, or until all are as narrow as their
 * longest words. */
static bool narrow(const struct table *table, struct layout *layout, size_t width) {
    for (size_t sum = whole_width(layout); sum > width; sum--) {
        size_t *widest = NULL;
        for (size_t i = 0; i < layout->columns; i++) {
            if (layout->width[i] > table->word[i] &&
                (widest == NULL || layout->width[i] > *widest)) {
                widest = &layout->width[i];
            }
        }
        if (widest == NULL) {
            return false;
        }
        (*widest)--;
    }
    return true;
}

/* Put the last columns beneath until the others fit. */
static void make_fit(const struct table *table, struct layout *layout, size_t width) {
    layout->gap = GAP_NARROW;
    while (!narrow(table, layout, width) && layout->columns > 1) {
        layout->columns--;
        memcpy(layout->width, table->width, sizeof layout->width);
    }
    if (whole_width(layout) > width) {
        layout->width[0] = width;
    }
}

static struct layout lay_out(const struct table *table, size_t width) {
    struct layout layout = {.columns = table->columns,
                            .gap = GAP,
                            .cuts = width == 0,
                            .beneath = width > 2 * BENEATH_SPACE ? width - BENEATH_SPACE
                                                                 : BENEATH_SPACE};
    memcpy(layout.width, table->width, sizeof layout.width);
    for (size_t i = 0; width == 0 && i + 1 < layout.columns; i++) {
        layout.width[i] = layout.width[i] < CELL_MAX ? layout.width[i] : CELL_MAX;
    }
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
        layout.is_text = true;
    }
    if (whole_width(&layout) > width) {
        make_fit(table, &layout, width);
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
    size_t columns; /* of the table */
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
    if (printer->layout->cuts && next < row->length[column]) {
        size_t start = out->length;
        add_cut(out, row->text[column], row->length[column]);
        columns = out->failed ? 0 : width_of(out->data + start, out->length - start);
        next = row->length[column];
    } else {
        buf_add(out, row->text[column], length);
    }
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

/* Append a cell on lines of its own. */
static void add_cell_beneath(const struct printer *printer, struct row *row, size_t column,
                             const char *heading) {
    size_t indent = BENEATH_SPACE;
    size_t label = heading != NULL ? width_of(heading, strlen(heading)) + 1 : 0;
    size_t width = printer->layout->beneath;
    if (strcmp(row->text[column], "-") == 0) {
        return;
    }
    /* A word without room beside its heading stands below it. */
    bool fits = width_of_word(row->text[column], row->length[column]) + label <= width;
    buf_printf(printer->out, "%*s", (int)indent, "");
    if (label > 0) {
        style_begin(printer->marks, printer->out->length, STYLE_HEADING);
        buf_add_text(printer->out, heading);
        style_begin(printer->marks, printer->out->length, STYLE_PLAIN);
        buf_add_char(printer->out, fits ? ' ' : '\n');
        buf_printf(printer->out, "%*s", fits ? 0 : (int)indent, "");
    }
    if (fits) {
        indent += label;
        width -= label;
    }
    while (row->length[column] > 0) {
        (void)add_piece(printer, row, column, width);
        buf_printf(printer->out, "\n%*s", row->length[column] > 0 ? (int)indent : 0, "");
    }
}

/* The headings are told with their cells, but for that of a long text. */
static void add_beneath(const struct printer *printer, struct row *row,
                        const char *const *headings) {
    size_t last = printer->columns - 1;
    for (size_t i = printer->layout->columns; i <= last; i++) {
        bool is_text = i == last && printer->layout->is_text;
        if (is_text || row->text[i] != headings[i]) {
            add_cell_beneath(printer, row, i, is_text ? NULL : headings[i]);
        }
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
    struct printer printer = {
            .layout = &layout, .columns = table->columns, .out = out, .marks = styles};
    const char *cell = table->text.data;
    const char *headings[TABLE_COLUMNS_MAX];
    for (size_t at = 0; at < table->cells && !out->failed; at += table->columns) {
        struct row row = {.styles = table->styles.data + at};
        for (size_t i = 0; i < table->columns; i++) {
            row.text[i] = cell;
            row.length[i] = strlen(cell);
            headings[i] = at == 0 ? cell : headings[i];
            cell += row.length[i] + 1;
        }
        do {
            add_line(&printer, &row);
        } while (has_more(&row, layout.columns));
        add_beneath(&printer, &row, headings);
    }
}
