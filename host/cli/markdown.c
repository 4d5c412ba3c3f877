#include "cli/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "cli/markdown-block.h"

/* What a line that comes belongs to. */
enum part {
    PART_NONE,
    PART_TEXT, /* a paragraph, a table, a quote: up to an empty line */
    PART_ITEM, /* of a list: up to a line that is indented less than its text */
    PART_CODE  /* up to the closing fence; its lines are shown one by one */
};

struct markdown {
    bool color;
    bool has_text; /* something was shown */
    bool is_apart; /* an empty line stands before what comes */
    enum part part;
    size_t indent;     /* ITEM: columns before its text */
    char fence;        /* CODE: what closes it, */
    size_t fence_size; /* at least so often, */
    size_t fence_indent;
    struct buf line;  /* the incomplete line */
    struct buf block; /* the lines of the incomplete block */
};

/* ------------------------------------------------------------------ lines */

/* A line without its end. */
struct line {
    const char *text;
    size_t length;
    size_t at;     /* of its first character that is no white space; `length`: it is empty */
    size_t indent; /* columns before that */
};

#define TAB_WIDTH 4u

static bool is_among(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

static struct line line_of(const char *text, size_t length) {
    struct line line = {.text = text, .length = length};
    while (line.at < length && (text[line.at] == ' ' || text[line.at] == '\t')) {
        line.indent += text[line.at] == '\t' ? TAB_WIDTH - line.indent % TAB_WIDTH : 1;
        line.at++;
    }
    return line;
}

/* How often a character stands there. */
static size_t count_of(const struct line *line, size_t at, char c) {
    size_t end = at;
    while (end < line->length && line->text[end] == c) {
        end++;
    }
    return end - at;
}

static bool is_blank_behind(const struct line *line, size_t at) {
    while (at < line->length && is_among(line->text[at], " \t")) {
        at++;
    }
    return at == line->length;
}

/* Deeper white space is code, or belongs to an item. */
#define INDENT_MAX 3u

/* Whether it opens a fenced block of code. */
static bool is_fence(const struct line *line, char *ret_fence, size_t *ret_size) {
    if (line->indent > INDENT_MAX || line->at == line->length) {
        return false;
    }
    char fence = line->text[line->at];
    size_t size = count_of(line, line->at, fence);
    *ret_fence = fence;
    *ret_size = size;
    return size >= 3 &&
           (fence == '~' || (fence == '`' && memchr(line->text + line->at + size, '`',
                                                    line->length - line->at - size) == NULL));
}

static bool is_heading(const struct line *line) {
    size_t size = count_of(line, line->at, '#');
    size_t end = line->at + size;
    return line->indent <= INDENT_MAX && size >= 1 && size <= 6 &&
           (end == line->length || line->text[end] == ' ' || line->text[end] == '\t');
}

/* Three or more of one of these, perhaps with spaces between. */
static bool is_rule(const struct line *line) {
    size_t marks = 0;
    for (size_t i = line->at; i < line->length; i++) {
        char c = line->text[i];
        if (c != ' ' && c != '\t' && (c != line->text[line->at] || !is_among(c, "-*_"))) {
            return false;
        }
        marks += c != ' ' && c != '\t';
    }
    return line->indent <= INDENT_MAX && marks >= 3;
}

/* Whether it begins an item of a list; `ret_indent`: columns before the text of that. In a
 * paragraph only the first number of a list does, and no item that is empty. */
static bool is_item(const struct line *line, bool in_paragraph, size_t *ret_indent) {
    size_t end = line->at;
    bool is_first = true;
    if (line->indent > INDENT_MAX || line->at == line->length || is_rule(line)) {
        return false;
    }
    if (is_among(line->text[end], "-+*")) {
        end++;
    } else {
        while (end < line->length && ascii_is_digit(line->text[end])) {
            end++;
        }
        is_first = end - line->at == 1 && line->text[line->at] == '1';
        if (end == line->at || end - line->at > 9 || end == line->length ||
            !is_among(line->text[end], ".)")) {
            return false;
        }
        end++;
    }
    bool is_empty = is_blank_behind(line, end);
    if ((end < line->length && line->text[end] != ' ' && line->text[end] != '\t') ||
        (in_paragraph && (is_empty || !is_first))) {
        return false;
    }
    size_t spaces = count_of(line, end, ' ');
    *ret_indent = line->indent + (end - line->at) + (spaces >= 1 && spaces <= 4 ? spaces : 1);
    return true;
}

/* ----------------------------------------------------------------- blocks */

/* Show the block so far. */
static void flush(struct markdown *markdown, size_t columns, struct buf *out) {
    struct buf *block = &markdown->block;
    size_t length = block->length;
    size_t ends = 0; /* empty lines at the end of an item */
    while (length > 0 && block->data[length - 1] == '\n') {
        length--;
        ends++;
    }
    markdown->part = PART_NONE;
    if (length > 0) {
        size_t before = out->length;
        buf_add(out, "\n", markdown->has_text && markdown->is_apart);
        markdown_block(block->data, length, markdown->color, columns, out);
        markdown->has_text = markdown->has_text || out->length > before;
        markdown->is_apart = ends > 1;
    }
    buf_clear(block);
}

static void add_line(struct markdown *markdown, const struct line *line) {
    buf_add(&markdown->block, line->text, line->length);
    buf_add_char(&markdown->block, '\n');
}

static void take_code(struct markdown *markdown, const struct line *line, size_t columns,
                      struct buf *out) {
    size_t size = count_of(line, line->at, markdown->fence);
    if (line->indent <= INDENT_MAX && size >= markdown->fence_size &&
        is_blank_behind(line, line->at + size)) {
        markdown->part = PART_NONE;
        return;
    }
    size_t skip = 0;
    while (skip < markdown->fence_indent && skip < line->length && line->text[skip] == ' ') {
        skip++;
    }
    buf_add(out, "\n", markdown->has_text && markdown->is_apart);
    markdown_code(line->text + skip, line->length - skip, markdown->color, columns, out);
    markdown->has_text = true;
    markdown->is_apart = false;
}

/* A line that begins a block, or goes on with a paragraph. */
static void take_text(struct markdown *markdown, const struct line *line, size_t columns,
                      struct buf *out) {
    bool in_paragraph = markdown->part == PART_TEXT;
    size_t indent = 0;
    char fence = 0;
    size_t size = 0;
    if (is_fence(line, &fence, &size)) {
        flush(markdown, columns, out);
        markdown->part = PART_CODE;
        markdown->fence = fence;
        markdown->fence_size = size;
        markdown->fence_indent = line->indent;
    } else if (is_heading(line)) {
        flush(markdown, columns, out);
        add_line(markdown, line);
        flush(markdown, columns, out);
    } else if (is_item(line, in_paragraph, &indent)) {
        flush(markdown, columns, out);
        add_line(markdown, line);
        markdown->part = PART_ITEM;
        markdown->indent = indent;
    } else {
        add_line(markdown, line);
        markdown->part = PART_TEXT;
    }
}

/* Whether a line goes on with the item. */
static bool is_of_item(const struct markdown *markdown, const struct line *line) {
    const struct buf *block = &markdown->block;
    bool after_blank = block->length > 1 && block->data[block->length - 1] == '\n' &&
                       block->data[block->length - 2] == '\n';
    char fence;
    size_t size;
    size_t indent;
    return line->at == line->length || line->indent >= markdown->indent ||
           (!after_blank && !is_heading(line) && !is_rule(line) && line->text[line->at] != '>' &&
            !is_fence(line, &fence, &size) && !is_item(line, false, &indent));
}

static void take_line(struct markdown *markdown, size_t columns, struct buf *out) {
    struct buf *text = &markdown->line;
    size_t length = text->length;
    length -= length > 0 && text->data[length - 1] == '\r';
    struct line line = line_of(text->data != NULL ? text->data : "", length);
    bool is_empty = line.at == line.length;
    if (markdown->part == PART_CODE) {
        take_code(markdown, &line, columns, out);
    } else if (markdown->part == PART_ITEM && is_of_item(markdown, &line)) {
        add_line(markdown, &line);
    } else if (is_empty) {
        flush(markdown, columns, out);
        markdown->is_apart = true;
    } else {
        if (markdown->part == PART_ITEM) {
            flush(markdown, columns, out);
        }
        take_text(markdown, &line, columns, out);
    }
    if (markdown->block.length > MARKDOWN_BLOCK_MAX) {
        flush(markdown, columns, out);
    }
    buf_clear(text);
}

/* -------------------------------------------------------------------- API */

struct markdown *markdown_create(bool color) {
    struct markdown *markdown = calloc(1, sizeof *markdown);
    if (markdown != NULL) {
        markdown->color = color;
    }
    return markdown;
}

void markdown_destroy(struct markdown *markdown) {
    if (markdown != NULL) {
        buf_finish(&markdown->line);
        buf_finish(&markdown->block);
        free(markdown);
    }
}

void markdown_feed(struct markdown *markdown, const char *text, size_t length, size_t columns,
                   struct buf *out) {
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t piece = end != NULL ? (size_t)(end - text) : length;
        size_t room = MARKDOWN_BLOCK_MAX - markdown->line.length;
        bool is_line = end != NULL && piece <= room;
        piece = piece < room ? piece : room;
        buf_add(&markdown->line, text, piece);
        if (is_line || markdown->line.length == MARKDOWN_BLOCK_MAX) {
            take_line(markdown, columns, out);
        }
        piece += is_line;
        text += piece;
        length -= piece;
    }
    out->failed = out->failed || markdown->line.failed || markdown->block.failed;
}

void markdown_end(struct markdown *markdown, size_t columns, struct buf *out) {
    if (markdown->line.length > 0) {
        take_line(markdown, columns, out);
    }
    flush(markdown, columns, out);
    out->failed = out->failed || markdown->line.failed || markdown->block.failed;
    buf_clear(&markdown->line);
    markdown->has_text = markdown->is_apart = false;
}

const struct buf *markdown_pending(const struct markdown *markdown) {
    return markdown->line.length > 0    ? &markdown->line
           : markdown->block.length > 0 ? &markdown->block
                                        : NULL;
}
