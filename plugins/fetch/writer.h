/* writer.h - Markdown as it is written: text when it comes, and what goes before it then.
 *
 * What goes before text is kept back until there is some: the line breaks of the blocks around it,
 * one space, the marks of lists and quotes at the beginning of the line, and what opens emphasis
 * and links. So an element without text leaves nothing behind, and a mark never has a space inside.
 * Where a line ends within emphasis or a link, it is closed before and opened again behind. */
#pragma once

#include <stdbool.h>

#include "../shared/text.h"

#define WRITER_LEVELS_MAX 32
#define WRITER_MARKS_MAX  32

/* What begins each line: of a quote, a list's item, a heading. */
struct level {
    char first[16];
    char other[16];
    bool is_begun;
};

/* What is around a piece of text, in one line. */
struct mark {
    char opening[4];
    const char *url; /* of a link, whose end it is; owned by who pushes and pops it */
    bool is_open;
};

struct writer {
    struct text out;
    const char *base; /* what links are relative to */
    struct level levels[WRITER_LEVELS_MAX];
    unsigned level_count;
    struct mark marks[WRITER_MARKS_MAX];
    unsigned mark_count;
    unsigned breaks; /* line breaks before the next text */
    bool is_broken;  /* the first of them is one within a paragraph */
    bool has_space;
    bool is_at_start; /* of a line */
    unsigned cells;   /* how many cells of tables this is in: all is one line there */
    unsigned columns; /* of the row that is written now */
    bool is_first_row;

    /* What was found of the table, and of the numbered list, that was asked about last. */
    const void *table;
    bool is_layout;
    const void *list;
    unsigned child; /* of the list, which has `number` */
    long number;
};

/** Before the next text there are to be so many line breaks at least; in a cell a space does. */
void writer_break(struct writer *writer, unsigned breaks);

/** Write a text: its white space is as good as one space, and what would be a mark is escaped. */
void writer_text(struct writer *writer, const char *text);

/** Write all that is kept back, for what is written without writer_text(). */
void writer_before_text(struct writer *writer);

/** Write what a line begins with; of a line without text, only what has begun before. */
void writer_begin_line(struct writer *writer, bool has_text);

/** Close a mark, or all of them, if they are open; with more text they open again. */
void writer_close_mark(struct writer *writer, struct mark *mark);
void writer_end_marks(struct writer *writer);

bool writer_is_in_link(const struct writer *writer);

/** The absolute address of a link, to be freed; NULL: none that a reader could use. */
char *writer_resolve(const struct writer *writer, const char *url);
