/* markdown-block.c - what libmd4c finds in a block, as lines.
 *
 * The text of a paragraph or a cell is gathered without escape sequences: it is escaped when it is
 * added, and marks beside it say which style begins where, so that it is broken by its width and no
 * text can pass for a sequence. */
#include "cli/markdown-block.h"

#include <md4c.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"
#include "cli/style.h"
#include "cli/width.h"

/* Deepest spans, and lists and quotes, of which the style and the indent are kept. */
#define DEPTH_MAX     16u
#define RULE_WIDTH    40u
#define COLUMNS_MIN   8u /* of a text beside its indent */
#define CODE_INDENT   "    "
#define QUOTE_INDENT  "\xe2\x94\x82 "
#define TABLE_BETWEEN "  "

/* ---------------------------------------------------------------- library */

static struct { __typeof__(&md_parse) parse; } md4c;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const char *const functions[] = {"md_parse"};
    static const struct library library = {.name = "libmd4c",
                                           .file = "libmd4c.so.0",
                                           .package = "libmd4c0",
                                           .oldest = "0.4.8",
                                           .who_needs_it = "Markdown on a terminal needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    struct toolrack_error err;
    (void)library_load(&library, &md4c, &err); /* without it the text is shown as written */
}

/* ------------------------------------------------------------------- text */

/* A text that is gathered. */
struct rich {
    struct buf text;
    struct styles styles;
};

static void rich_clear(struct rich *rich) {
    buf_clear(&rich->text);
    style_clear(&rich->styles);
}

static void rich_finish(struct rich *rich) {
    buf_finish(&rich->text);
    style_clear(&rich->styles);
}

/* A list or a quote. */
struct container {
    size_t indent; /* bytes of the prefix before it */
    unsigned number;
    char mark;     /* behind a number; 0: the list is not numbered, or it is a quote */
    bool is_tight; /* no empty lines stand between its parts */
};

struct cell {
    char *text; /* owned */
    struct styles styles;
    MD_ALIGN align;
};

struct block {
    bool color;
    size_t columns;
    struct buf *out;
    struct buf first;  /* what stands before the next line */
    struct buf prefix; /* and before those behind it */
    struct rich rich;
    enum style styles[DEPTH_MAX];
    unsigned depth; /* of spans */
    struct container containers[DEPTH_MAX];
    unsigned nesting; /* of lists and quotes */
    bool in_code;
    bool has_gap; /* an empty line stands before what comes */
    struct cell *cells;
    size_t cell_count;
    size_t cell_room;
    size_t row_width; /* cells of a row */
    bool no_memory;
};

/* Let a style begin in the text; without colour there is none. */
static void set_style(struct block *block, enum style style) {
    struct styles *styles = &block->rich.styles;
    enum style now = styles->count > 0 ? styles->marks[styles->count - 1].style : STYLE_PLAIN;
    style_begin(block->color && style != now ? styles : NULL, block->rich.text.length, style);
}

static enum style style_now(const struct block *block) {
    unsigned depth = block->depth < DEPTH_MAX ? block->depth : DEPTH_MAX;
    return depth > 0 ? block->styles[depth - 1] : STYLE_PLAIN;
}

static void push_style(struct block *block, enum style style) {
    if (block->depth < DEPTH_MAX) {
        block->styles[block->depth] = style;
    }
    block->depth++;
    set_style(block, style_now(block));
}

static void pop_style(struct block *block) {
    block->depth--;
    set_style(block, style_now(block));
}

/* Append a part of a text with what styles begin in it. */
static void add_styled(const char *text, size_t from, size_t to, const struct styles *styles,
                       struct buf *out) {
    enum style now = STYLE_PLAIN;
    size_t next = 0;
    for (; next < styles->count && styles->marks[next].at <= from; next++) {
        now = styles->marks[next].style;
    }
    if (from == to) {
        return;
    }
    buf_add_text(out, now != STYLE_PLAIN ? style_sequence(now) : "");
    for (size_t at = from; at < to;) {
        size_t end =
                next < styles->count && styles->marks[next].at < to ? styles->marks[next].at : to;
        buf_add(out, text + at, end - at);
        at = end;
        for (; at < to && next < styles->count && styles->marks[next].at <= at; next++) {
            now = styles->marks[next].style;
        }
        buf_add_text(out, at < to ? style_sequence(now) : "");
    }
    buf_add_text(out, now != STYLE_PLAIN ? style_sequence(STYLE_PLAIN) : "");
}

/* An empty line, where one is to stand. */
static void add_gap(struct block *block) {
    size_t length = block->prefix.length;
    while (length > 0 && block->prefix.data[length - 1] == ' ') {
        length--;
    }
    if (block->has_gap) {
        buf_add(block->out, block->prefix.data, length);
        buf_add_char(block->out, '\n');
    }
    block->has_gap = false;
}

/* Append one line in pieces that fit. `is_exact`: no space is left out where it is broken. */
static void add_wrapped(struct block *block, const char *text, size_t from, size_t to,
                        const struct styles *styles, bool is_exact) {
    struct buf *out = block->out;
    add_gap(block);
    do {
        size_t taken =
                width_of(block->first.data != NULL ? block->first.data : "", block->first.length);
        size_t room = block->columns > taken + COLUMNS_MIN ? block->columns - taken : COLUMNS_MIN;
        size_t next = 0;
        size_t piece = 0;
        if (from < to && is_exact) {
            piece = next = width_cut(text + from, to - from, room);
        } else if (from < to) {
            piece = width_fit(text + from, to - from, room, &next);
        }
        buf_add(out, block->first.data, block->first.length);
        add_styled(text, from, from + piece, styles, out);
        buf_add_char(out, '\n');
        from += next;
        buf_clear(&block->first);
        buf_add(&block->first, block->prefix.data, block->prefix.length);
    } while (from < to);
}

/* Append the gathered text. */
static void flush(struct block *block) {
    const struct rich *rich = &block->rich;
    if (rich->text.length > 0 && !rich->text.failed) {
        for (size_t at = 0; at <= rich->text.length;) {
            const char *end = memchr(rich->text.data + at, '\n', rich->text.length - at);
            size_t to = end != NULL ? (size_t)(end - rich->text.data) : rich->text.length;
            add_wrapped(block, rich->text.data, at, to, &rich->styles, false);
            at = to + 1;
        }
    }
    block->no_memory = block->no_memory || rich->text.failed;
    rich_clear(&block->rich);
}

static void add_text(struct block *block, const char *text, size_t length) {
    size_t before = block->rich.text.length;
    text_add_escaped(&block->rich.text, text, length);
    for (size_t i = before; !block->rich.text.failed && i < block->rich.text.length; i++) {
        if (block->rich.text.data[i] == '\t' || block->rich.text.data[i] == '\n') {
            block->rich.text.data[i] = ' ';
        }
    }
}

/* Append what an entity stands for; one that is not known, as it is written. */
static void add_entity(struct block *block, const char *text, size_t length) {
    static const struct {
        const char *name;
        const char *text;
    } known[] = {{"&amp;", "&"},
                 {"&lt;", "<"},
                 {"&gt;", ">"},
                 {"&quot;", "\""},
                 {"&apos;", "'"},
                 {"&nbsp;", "\xc2\xa0"},
                 {"&mdash;", "\xe2\x80\x94"},
                 {"&ndash;", "\xe2\x80\x93"},
                 {"&hellip;", "\xe2\x80\xa6"}};
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (strlen(known[i].name) == length && memcmp(known[i].name, text, length) == 0) {
            add_text(block, known[i].text, strlen(known[i].text));
            return;
        }
    }
    add_text(block, text, length);
}

/* ------------------------------------------------------------------ tables */

static void keep_cell(struct block *block, MD_ALIGN align) {
    if (block->cell_count == block->cell_room) {
        size_t room = block->cell_room > 0 ? 2 * block->cell_room : 16;
        struct cell *grown = reallocarray(block->cells, room, sizeof *grown);
        if (grown == NULL) {
            block->no_memory = true;
            rich_clear(&block->rich);
            return;
        }
        block->cells = grown;
        block->cell_room = room;
    }
    struct rich *rich = &block->rich;
    buf_add(&rich->text, "", 0);
    struct cell cell = {.align = align, .styles = rich->styles, .text = buf_steal(&rich->text)};
    rich->styles = (struct styles){0};
    block->no_memory = block->no_memory || cell.text == NULL;
    block->cells[block->cell_count++] = cell;
}

static size_t cell_width(const struct cell *cell) {
    return cell->text != NULL ? width_of(cell->text, strlen(cell->text)) : 0;
}

static void add_spaces(struct buf *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        buf_add_char(out, ' ');
    }
}

static void add_cell(const struct cell *cell, size_t width, bool is_last, struct buf *out) {
    size_t spaces = width - cell_width(cell);
    size_t before = cell->align == MD_ALIGN_RIGHT    ? spaces
                    : cell->align == MD_ALIGN_CENTER ? spaces / 2
                                                     : 0;
    add_spaces(out, before);
    add_styled(cell->text, 0, strlen(cell->text), &cell->styles, out);
    add_spaces(out, is_last ? 0 : spaces - before);
}

/* The columns beside each other, with a line under the first row. */
static void add_grid(struct block *block, const size_t *widths) {
    struct buf *out = block->out;
    add_gap(block);
    for (size_t i = 0; i < block->cell_count; i += block->row_width) {
        buf_add(out, block->first.data, block->first.length);
        for (size_t k = 0; k < block->row_width && i + k < block->cell_count; k++) {
            buf_add_text(out, k > 0 ? TABLE_BETWEEN : "");
            add_cell(&block->cells[i + k], widths[k], k + 1 == block->row_width, out);
        }
        buf_add_char(out, '\n');
        buf_clear(&block->first);
        buf_add(&block->first, block->prefix.data, block->prefix.length);
        for (size_t k = 0; i == 0 && k < block->row_width; k++) {
            if (k == 0) {
                buf_add(out, block->first.data, block->first.length);
            }
            buf_add_text(out, k > 0 ? TABLE_BETWEEN : "");
            for (size_t c = 0; c < widths[k]; c++) {
                buf_add_text(out, "\xe2\x94\x80");
            }
            buf_add_text(out, k + 1 == block->row_width ? "\n" : "");
        }
    }
}

/* Each row as lines "heading: value", where the columns do not fit beside each other. */
static void add_records(struct block *block) {
    for (size_t i = block->row_width; i < block->cell_count; i++) {
        const struct cell *heading = &block->cells[i % block->row_width];
        const struct cell *cell = &block->cells[i];
        block->has_gap = block->has_gap || (i % block->row_width == 0 && i > block->row_width);
        buf_add_text(&block->rich.text, heading->text);
        buf_add_text(&block->rich.text, heading->text[0] != '\0' ? ": " : "");
        for (size_t k = 0; block->color && k < cell->styles.count; k++) {
            style_begin(&block->rich.styles, block->rich.text.length + cell->styles.marks[k].at,
                        cell->styles.marks[k].style);
        }
        buf_add_text(&block->rich.text, cell->text);
        flush(block);
    }
}

static void add_table(struct block *block) {
    CLEANUP(freep) size_t *widths = calloc(block->row_width + 1, sizeof *widths);
    size_t whole =
            width_of(block->first.data != NULL ? block->first.data : "", block->first.length);
    for (size_t i = 0; widths != NULL && i < block->cell_count; i++) {
        size_t width = cell_width(&block->cells[i]);
        size_t *widest = &widths[i % block->row_width];
        *widest = width > *widest ? width : *widest;
    }
    for (size_t i = 0; widths != NULL && i < block->row_width; i++) {
        whole += widths[i] + (i > 0 ? strlen(TABLE_BETWEEN) : 0);
    }
    if (widths == NULL || block->no_memory) {
        block->no_memory = true;
    } else if (whole <= block->columns || block->cell_count <= block->row_width) {
        add_grid(block, widths);
    } else {
        add_records(block);
    }
}

static void free_table(struct block *block) {
    for (size_t i = 0; i < block->cell_count; i++) {
        free(block->cells[i].text);
        style_clear(&block->cells[i].styles);
    }
    free(block->cells);
    block->cells = NULL;
    block->cell_count = block->cell_room = 0;
}

/* ------------------------------------------------------------- containers */

/* Nested deeper, they are shown as the one around. */
static void enter_container(struct block *block, bool is_tight, unsigned number, char mark) {
    if (block->nesting < DEPTH_MAX) {
        block->containers[block->nesting] = (struct container){.indent = block->prefix.length,
                                                               .number = number,
                                                               .mark = mark,
                                                               .is_tight = is_tight};
    }
    block->nesting++;
}

static struct container *container_now(struct block *block) {
    unsigned nesting = block->nesting < DEPTH_MAX ? block->nesting : DEPTH_MAX;
    return &block->containers[nesting > 0 ? nesting - 1 : 0];
}

static void add_indent(struct block *block, const char *first, const char *rest) {
    buf_add_text(&block->first, first);
    buf_add_text(&block->prefix, rest);
}

/* What is before the next line is what is before each. */
static void set_indent(struct block *block, size_t length) {
    buf_truncate(&block->prefix, length);
    buf_clear(&block->first);
    buf_add(&block->first, block->prefix.data, block->prefix.length);
}

static void enter_item(struct block *block, const MD_BLOCK_LI_DETAIL *detail) {
    struct container *list = container_now(block);
    CLEANUP(buf_finish) struct buf mark = BUF_INIT;
    CLEANUP(buf_finish) struct buf spaces = BUF_INIT;
    if (block->nesting > DEPTH_MAX) {
        return;
    }
    if (list->mark != 0) {
        buf_printf(&mark, "%u%c ", list->number++, list->mark);
    } else {
        buf_add_text(&mark, "\xe2\x80\xa2 ");
    }
    add_spaces(&spaces, mark.failed ? 0 : width_of(mark.data, mark.length));
    if (mark.failed || spaces.failed) {
        block->no_memory = true;
        return;
    }
    add_indent(block, mark.data, spaces.data);
    if (detail->is_task) {
        add_text(block, detail->task_mark == ' ' ? "[ ] " : "[x] ", 4);
    }
}

static void leave_item(struct block *block) {
    struct container *list = container_now(block);
    flush(block);
    if (block->nesting <= DEPTH_MAX) {
        set_indent(block, list->indent);
    }
}

/* --------------------------------------------------------------- callbacks */

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user) {
    struct block *block = user;
    if (type != MD_BLOCK_DOC && type != MD_BLOCK_TH && type != MD_BLOCK_TD &&
        block->rich.text.length > 0) {
        flush(block); /* the text of an item, before what is in it */
    }
    switch (type) {
    case MD_BLOCK_QUOTE:
        add_gap(block);
        enter_container(block, false, 0, 0);
        if (block->nesting <= DEPTH_MAX) {
            add_indent(block, QUOTE_INDENT, QUOTE_INDENT);
        }
        break;
    case MD_BLOCK_UL:
        enter_container(block, ((const MD_BLOCK_UL_DETAIL *)detail)->is_tight, 0, 0);
        break;
    case MD_BLOCK_OL: {
        const MD_BLOCK_OL_DETAIL *list = detail;
        enter_container(block, list->is_tight, list->start, list->mark_delimiter);
        break;
    }
    case MD_BLOCK_LI: enter_item(block, detail); break;
    case MD_BLOCK_H:
        push_style(block, STYLE_HEADING);
        for (unsigned i = 0; !block->color && i < ((const MD_BLOCK_H_DETAIL *)detail)->level; i++) {
            add_text(block, "#", 1);
        }
        add_text(block, " ", !block->color);
        break;
    case MD_BLOCK_CODE: block->in_code = true; break;
    case MD_BLOCK_HR:
        for (size_t i = 0; i < RULE_WIDTH && i < block->columns; i++) {
            buf_add_text(&block->rich.text, "\xe2\x94\x80");
        }
        flush(block);
        break;
    case MD_BLOCK_TABLE:
        block->row_width = ((const MD_BLOCK_TABLE_DETAIL *)detail)->col_count;
        break;
    case MD_BLOCK_TH: push_style(block, STYLE_HEADING); break;
    default: break;
    }
    return block->no_memory ? -1 : 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user) {
    struct block *block = user;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush(block);
        if (block->nesting <= DEPTH_MAX) {
            set_indent(block, container_now(block)->indent);
        }
        block->nesting--;
        block->has_gap = true;
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        block->nesting--;
        block->has_gap = block->nesting == 0 || !container_now(block)->is_tight;
        break;
    case MD_BLOCK_LI: leave_item(block); break;
    case MD_BLOCK_H:
        pop_style(block);
        flush(block);
        block->has_gap = true;
        break;
    case MD_BLOCK_P:
    case MD_BLOCK_HTML:
        flush(block);
        block->has_gap = true;
        break;
    case MD_BLOCK_CODE:
        block->in_code = false;
        block->has_gap = true;
        break;
    case MD_BLOCK_TH:
        pop_style(block);
        keep_cell(block, ((const MD_BLOCK_TD_DETAIL *)detail)->align);
        break;
    case MD_BLOCK_TD: keep_cell(block, ((const MD_BLOCK_TD_DETAIL *)detail)->align); break;
    case MD_BLOCK_TABLE:
        add_table(block);
        free_table(block);
        block->has_gap = true;
        break;
    default: break;
    }
    return block->no_memory ? -1 : 0;
}

/* Without styles a span keeps its marks. */
static const char *mark_of(MD_SPANTYPE type) {
    switch (type) {
    case MD_SPAN_EM: return "*";
    case MD_SPAN_STRONG: return "**";
    case MD_SPAN_CODE: return "`";
    default: return "";
    }
}

static void add_mark(struct block *block, MD_SPANTYPE type) {
    const char *mark = type == MD_SPAN_DEL ? "~~" : block->color ? "" : mark_of(type);
    add_text(block, mark, strlen(mark));
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user) {
    struct block *block = user;
    (void)detail;
    push_style(block, type == MD_SPAN_EM       ? STYLE_EMPHASIS
                      : type == MD_SPAN_STRONG ? STYLE_HEADING
                      : type == MD_SPAN_CODE   ? STYLE_CODE
                                               : style_now(block));
    add_mark(block, type);
    return 0;
}

/* The address stands behind the text, unless the text is the address. */
static void add_address(struct block *block, const MD_ATTRIBUTE *address) {
    const struct buf *text = &block->rich.text;
    bool is_told = address->size == 0 || (text->length >= address->size && !text->failed &&
                                          memcmp(text->data + text->length - address->size,
                                                 address->text, address->size) == 0);
    if (!is_told) {
        add_text(block, " (", 2);
        add_text(block, address->text, address->size);
        add_text(block, ")", 1);
    }
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user) {
    struct block *block = user;
    add_mark(block, type);
    pop_style(block);
    if (type == MD_SPAN_A) {
        add_address(block, &((const MD_SPAN_A_DETAIL *)detail)->href);
    } else if (type == MD_SPAN_IMG) {
        add_address(block, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
    }
    return 0;
}

/* Append the gathered text as a line of code. */
static void add_code_line(struct block *block) {
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    CLEANUP(style_clear) struct styles styles = {0};
    const struct buf *line = &block->rich.text;
    size_t before = block->prefix.length;
    style_begin(block->color ? &styles : NULL, 0, STYLE_CODE);
    text_add_escaped(&escaped, line->data != NULL ? line->data : "", line->length);
    buf_add(&escaped, "", 0);
    add_indent(block, CODE_INDENT, CODE_INDENT);
    if (!escaped.failed && !line->failed) {
        add_wrapped(block, escaped.data, 0, escaped.length, &styles, true);
    }
    block->no_memory = block->no_memory || escaped.failed || line->failed;
    set_indent(block, before);
    rich_clear(&block->rich);
}

/* Code comes in pieces that end with a line or within one. */
static void take_code(struct block *block, const char *text, size_t length) {
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t piece = end != NULL ? (size_t)(end - text) : length;
        for (size_t i = 0; i < piece; i++) { /* the width of a tab is not known */
            buf_add_text(&block->rich.text, text[i] == '\t' ? "    " : "");
            buf_add(&block->rich.text, text + i, text[i] != '\t');
        }
        if (end != NULL) {
            add_code_line(block);
        }
        piece += end != NULL;
        text += piece;
        length -= piece;
    }
}

static int take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE length, void *user) {
    struct block *block = user;
    if (block->in_code) {
        take_code(block, text, length);
        return block->no_memory ? -1 : 0;
    }
    switch (type) {
    case MD_TEXT_NULLCHAR: add_text(block, "\xef\xbf\xbd", 3); break;
    case MD_TEXT_BR: buf_add_char(&block->rich.text, '\n'); break;
    case MD_TEXT_SOFTBR: add_text(block, " ", 1); break;
    case MD_TEXT_ENTITY: add_entity(block, text, length); break;
    default: add_text(block, text, length); break;
    }
    return 0;
}

/* --------------------------------------------------------------------- API */

static void block_finish(struct block *block) {
    free_table(block);
    rich_finish(&block->rich);
    buf_finish(&block->first);
    buf_finish(&block->prefix);
}

/* As it is written, in lines that fit. */
static void add_plain(const char *text, size_t length, size_t columns, struct buf *out) {
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    text_add_escaped(&escaped, text, length);
    buf_add(&escaped, "", 0);
    out->failed = out->failed || escaped.failed;
    for (size_t at = 0; !escaped.failed && at <= escaped.length;) {
        const char *end = memchr(escaped.data + at, '\n', escaped.length - at);
        size_t line = end != NULL ? (size_t)(end - escaped.data) - at : escaped.length - at;
        width_wrap(out, "", "", escaped.data + at, line, columns, false);
        at += line + 1;
    }
}

void markdown_block(const char *text, size_t length, bool color, size_t columns, struct buf *out) {
    static const MD_PARSER parser = {.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH |
                                              MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS,
                                     .enter_block = enter_block,
                                     .leave_block = leave_block,
                                     .enter_span = enter_span,
                                     .leave_span = leave_span,
                                     .text = take_text};
    CLEANUP(block_finish) struct block block = {.color = color, .columns = columns, .out = out};
    size_t before = out->length;
    (void)pthread_once(&once, load);
    if (md4c.parse == NULL || md4c.parse(text, (MD_SIZE)length, &parser, &block) != 0) {
        buf_truncate(out, before);
        add_plain(text, length, columns, out);
    }
}

void markdown_code(const char *text, size_t length, bool color, size_t columns, struct buf *out) {
    CLEANUP(block_finish) struct block block = {.color = color, .columns = columns, .out = out};
    take_code(&block, text, length);
    take_code(&block, "\n", 1);
    out->failed = out->failed || block.no_memory;
}
