#include "markdown.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "look.h"
#include "page.h"
#include "writer.h"

#define OUTPUT_MAX   ((size_t)32 << 20)
#define STOP_CHECK   1024
#define MAIN_LEAST   200 /* bytes of text that make a main part worth more than the page */
#define LANGUAGE_MAX 24

/* -------------------------------------------------------------- images */

static void write_image(struct writer *writer, const GumboNode *node) {
    const char *alternative = page_attribute(node, "alt");
    const char *source = page_attribute(node, "src");
    if (alternative == NULL || alternative[strspn(alternative, " \t\r\n")] == '\0') {
        return; /* decoration */
    }
    char *url = source != NULL ? writer_resolve(writer, source) : NULL;
    if (url == NULL || writer_is_in_link(writer)) {
        writer_text(writer, alternative);
        free(url);
        return;
    }
    struct mark mark = {.opening = "![", .url = url};
    if (writer->mark_count < WRITER_MARKS_MAX) {
        writer->marks[writer->mark_count++] = mark;
        writer_text(writer, alternative);
        writer_close_mark(writer, &writer->marks[writer->mark_count - 1]);
        writer->mark_count--;
    }
    free(url);
}

/* -------------------------------------------------------------------- code */

/* All text below a node. */
static void gather(const GumboNode *root, struct text *ret) {
    struct page_walk walk;
    struct page_step *step;
    bool enters;
    page_walk_init(&walk, root);
    while (page_walk_next(&walk, &enters, &step)) {
        const GumboNode *node = step->node;
        if (enters && (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE ||
                       node->type == GUMBO_NODE_CDATA)) {
            text_add_string(ret, node->v.text.text);
        } else if (enters && node->type == GUMBO_NODE_ELEMENT &&
                   node->v.element.tag == GUMBO_TAG_BR) {
            text_add_string(ret, "\n");
        }
    }
    ret->failed = ret->failed || walk.failed;
    page_walk_finish(&walk);
}

/* The longest run of backticks in a text: what encloses it must be longer. */
static size_t longest_ticks(const char *text) {
    size_t longest = 0;
    while (*text != '\0') {
        size_t run = strspn(text, "`");
        longest = run > longest ? run : longest;
        text += run > 0 ? run : 1;
    }
    return longest;
}

static void write_ticks(struct writer *writer, size_t count) {
    for (size_t i = 0; i < count; i++) {
        text_add_string(&writer->out, "`");
    }
}

static void write_code(struct writer *writer, const GumboNode *node) {
    struct text code = {.max = OUTPUT_MAX};
    gather(node, &code);
    char *at = code.data != NULL ? code.data : (char[]){""};
    size_t made = 0;
    for (const char *from = at; *from != '\0'; from++) { /* one line */
        bool is_space = strchr(" \t\r\n\f", *from) != NULL;
        if (!is_space || (made > 0 && at[made - 1] != ' ')) {
            at[made++] = is_space ? ' ' : *from;
        }
    }
    made -= made > 0 && at[made - 1] == ' ';
    at[made] = '\0';
    if (made > 0) {
        size_t ticks = longest_ticks(at) + 1;
        bool is_apart = at[0] == '`' || at[made - 1] == '`';
        writer_before_text(writer);
        writer->is_at_start = false;
        write_ticks(writer, ticks);
        text_add_string(&writer->out, is_apart ? " " : "");
        for (size_t i = 0; i < made; i++) {
            text_add_string(&writer->out, at[i] == '|' && writer->cells > 0 ? "\\" : "");
            text_add(&writer->out, at + i, 1);
        }
        text_add_string(&writer->out, is_apart ? " " : "");
        write_ticks(writer, ticks);
    }
    writer->out.failed = writer->out.failed || code.failed;
    text_finish(&code);
}

/* The language that a class such as "language-c" names, of the block or of the code in it. */
static void write_language(struct writer *writer, const GumboNode *node) {
    const GumboVector *children = page_children(node);
    const GumboNode *inner = children->length == 1 ? children->data[0] : node;
    const char *classes = page_attribute(node, "class");
    classes = classes != NULL ? classes : page_attribute(inner, "class");
    const char *at = classes != NULL ? strstr(classes, "language-") : NULL;
    size_t skipped = strlen("language-");
    if (at == NULL) {
        at = classes != NULL ? strstr(classes, "lang-") : NULL;
        skipped = strlen("lang-");
    }
    for (size_t i = 0; at != NULL && i < LANGUAGE_MAX; i++) {
        char c = at[skipped + i];
        if (!isalnum((unsigned char)c) && (c == '\0' || strchr("+#-_.", c) == NULL)) {
            break;
        }
        text_add(&writer->out, &c, 1);
    }
}

static void write_pre(struct writer *writer, const GumboNode *node) {
    struct text code = {.max = OUTPUT_MAX};
    gather(node, &code);
    const char *at = code.data != NULL ? code.data : "";
    size_t length = strlen(at);
    while (length > 0 && strchr(" \t\r\n", at[length - 1]) != NULL) {
        length--;
    }
    at += *at == '\n';
    length -= length > 0 && at != code.data;
    if (length > 0 && at[strspn(at, " \t\r\n")] != '\0') {
        size_t ticks = longest_ticks(at) + 1;
        ticks = ticks < 3 ? 3 : ticks;
        writer_break(writer, 2);
        writer_before_text(writer);
        write_ticks(writer, ticks);
        write_language(writer, node);
        for (const char *line = at; line <= at + length;) {
            size_t count = 0;
            while (line + count < at + length && line[count] != '\n') {
                count++;
            }
            text_add_string(&writer->out, "\n");
            writer_begin_line(writer, count > 0);
            text_add(&writer->out, line, count);
            line += count + 1;
        }
        text_add_string(&writer->out, "\n");
        writer_begin_line(writer, true);
        write_ticks(writer, ticks);
        writer->is_at_start = false;
        writer_break(writer, 2);
    }
    writer->out.failed = writer->out.failed || code.failed;
    text_finish(&code);
}

/* ---------------------------------------------------------------- elements */

/* What entering an element did, and leaving it undoes. */
enum entry {
    ENTRY_PLAIN,
    ENTRY_BLOCK,
    ENTRY_LINE, /* a block that is apart by one line break only */
    ENTRY_LEVEL,
    ENTRY_LEVEL_LINE,
    ENTRY_MARK,
    ENTRY_LINK,
    ENTRY_ROW,
    ENTRY_CELL,
};

static bool is_left_out(const GumboNode *node) {
    switch (node->v.element.tag) {
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_NOSCRIPT:
    case GUMBO_TAG_TEMPLATE:
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_OBJECT:
    case GUMBO_TAG_EMBED:
    case GUMBO_TAG_CANVAS:
    case GUMBO_TAG_AUDIO:
    case GUMBO_TAG_VIDEO:
    case GUMBO_TAG_SVG:
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_ASIDE:
    case GUMBO_TAG_BUTTON:
    case GUMBO_TAG_SELECT:
    case GUMBO_TAG_INPUT:
    case GUMBO_TAG_TEXTAREA:
    case GUMBO_TAG_DATALIST: return true;
    default: return look_hides(node);
    }
}

static enum entry push_level(struct writer *writer, unsigned breaks, const char *first,
                             const char *other) {
    writer_break(writer, breaks);
    if (writer->level_count == WRITER_LEVELS_MAX || writer->cells > 0) {
        return breaks > 1 ? ENTRY_BLOCK : ENTRY_LINE;
    }
    struct level *level = &writer->levels[writer->level_count++];
    *level = (struct level){0};
    (void)snprintf(level->first, sizeof level->first, "%s", first);
    (void)snprintf(level->other, sizeof level->other, "%s", other);
    return breaks > 1 ? ENTRY_LEVEL : ENTRY_LEVEL_LINE;
}

static enum entry push_mark(struct writer *writer, const char *opening) {
    for (unsigned i = 0; i < writer->mark_count; i++) {
        if (strcmp(writer->marks[i].opening, opening) == 0) {
            return ENTRY_PLAIN; /* bold in bold is bold */
        }
    }
    if (writer->mark_count == WRITER_MARKS_MAX) {
        return ENTRY_PLAIN;
    }
    struct mark *mark = &writer->marks[writer->mark_count++];
    *mark = (struct mark){0};
    (void)snprintf(mark->opening, sizeof mark->opening, "%s", opening);
    return ENTRY_MARK;
}

static enum entry enter_link(struct writer *writer, const GumboNode *node) {
    const char *target = page_attribute(node, "href");
    char *url =
            target == NULL || writer_is_in_link(writer) || writer->mark_count == WRITER_MARKS_MAX
                    ? NULL
                    : writer_resolve(writer, target);
    if (url == NULL) {
        return ENTRY_PLAIN;
    }
    writer->marks[writer->mark_count++] = (struct mark){.opening = "[", .url = url};
    return ENTRY_LINK;
}

/* The number of a list's item: that of the list's start, and one more for each item before. */
static enum entry enter_item(struct writer *writer, const GumboNode *node) {
    const GumboNode *list = node->parent;
    bool is_ordered =
            list != NULL && list->type == GUMBO_NODE_ELEMENT && list->v.element.tag == GUMBO_TAG_OL;
    if (!is_ordered) {
        return push_level(writer, 1, "- ", "  ");
    }
    const GumboVector *items = page_children(list);
    if (writer->list != list) {
        const char *start = page_attribute(list, "start");
        long number = start != NULL ? strtol(start, NULL, 10) : 1;
        writer->list = list;
        writer->child = 0;
        writer->number = number < 0 || number > 999999 ? 1 : number;
    }
    for (; writer->child < items->length && items->data[writer->child] != node; writer->child++) {
        const GumboNode *item = items->data[writer->child];
        bool is_item = item->type == GUMBO_NODE_ELEMENT && item->v.element.tag == GUMBO_TAG_LI;
        writer->number += is_item;
    }
    long number = writer->number;
    char first[16];
    char other[16];
    int length = snprintf(first, sizeof first, "%ld. ", number);
    (void)snprintf(other, sizeof other, "%*s", length, "");
    return push_level(writer, 1, first, other);
}

/* A list in an item begins on the next line; another one is a block. */
static enum entry enter_list(struct writer *writer, const GumboNode *node) {
    for (const GumboNode *above = node->parent; above != NULL; above = above->parent) {
        if (above->type == GUMBO_NODE_ELEMENT && above->v.element.tag == GUMBO_TAG_LI) {
            writer_break(writer, 1);
            return ENTRY_LINE;
        }
    }
    writer_break(writer, 2);
    return ENTRY_BLOCK;
}

/* A table in whose cells there are other tables or headings lays out the page, and is none. */
static bool find_layout(const GumboNode *table) {
    struct page_walk walk;
    struct page_step *step;
    bool enters;
    bool is_found = false;
    page_walk_init(&walk, table);
    while (!is_found && page_walk_next(&walk, &enters, &step)) {
        const GumboNode *node = step->node;
        is_found = enters && node != table && node->type == GUMBO_NODE_ELEMENT &&
                   (node->v.element.tag == GUMBO_TAG_TABLE || node->v.element.tag == GUMBO_TAG_H1 ||
                    node->v.element.tag == GUMBO_TAG_H2 || node->v.element.tag == GUMBO_TAG_PRE);
    }
    page_walk_finish(&walk);
    return is_found || walk.failed;
}

/* Each row asks. */
static bool is_layout(struct writer *writer, const GumboNode *table) {
    if (writer->table != table) {
        writer->table = table;
        writer->is_layout = find_layout(table);
    }
    return writer->is_layout;
}

static const GumboNode *table_of(const GumboNode *node) {
    while (node != NULL &&
           (node->type != GUMBO_NODE_ELEMENT || node->v.element.tag != GUMBO_TAG_TABLE)) {
        node = node->parent;
    }
    return node;
}

static enum entry enter_row(struct writer *writer, const GumboNode *node) {
    const GumboNode *table = table_of(node);
    if (writer->cells > 0 || table == NULL || is_layout(writer, table)) {
        writer_break(writer, 1);
        return ENTRY_LINE;
    }
    writer_break(writer, 1);
    writer->columns = 0;
    return ENTRY_ROW;
}

static enum entry enter_cell(struct writer *writer) {
    if (writer->columns == 0) {
        writer_before_text(writer);
        text_add_string(&writer->out, "|");
        writer->is_at_start = false;
    }
    writer->has_space = true;
    writer->columns++;
    writer->cells++;
    return ENTRY_CELL;
}

static void leave_row(struct writer *writer) {
    if (writer->columns > 0 && writer->is_first_row) {
        text_add_string(&writer->out, "\n");
        writer_begin_line(writer, true);
        text_add_string(&writer->out, "|");
        for (unsigned i = 0; i < writer->columns; i++) {
            text_add_string(&writer->out, " --- |");
        }
        writer->is_first_row = false;
    }
    writer_break(writer, 1);
}

static enum entry enter_heading(struct writer *writer, GumboTag tag) {
    char marks[8] = "";
    for (unsigned i = 0; i <= (unsigned)(tag - GUMBO_TAG_H1); i++) {
        (void)strcat(marks, "#");
    }
    (void)strcat(marks, " ");
    return push_level(writer, 2, marks, marks);
}

/* What an element is; `parent` is what entering the one around it did. */
static enum entry enter(struct writer *writer, const GumboNode *node, enum entry parent) {
    GumboTag tag = node->v.element.tag;
    switch (tag) {
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5:
    case GUMBO_TAG_H6: return enter_heading(writer, tag);
    case GUMBO_TAG_BLOCKQUOTE: return push_level(writer, 2, "> ", "> ");
    case GUMBO_TAG_LI: return enter_item(writer, node);
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL: return enter_list(writer, node);
    case GUMBO_TAG_DT: writer_break(writer, 1); return ENTRY_LINE;
    case GUMBO_TAG_DD: return push_level(writer, 1, ": ", "  ");
    case GUMBO_TAG_STRONG:
    case GUMBO_TAG_B: return push_mark(writer, "**");
    case GUMBO_TAG_EM:
    case GUMBO_TAG_I: return push_mark(writer, "*");
    case GUMBO_TAG_DEL:
    case GUMBO_TAG_S:
    case GUMBO_TAG_STRIKE: return push_mark(writer, "~~");
    case GUMBO_TAG_A: return enter_link(writer, node);
    case GUMBO_TAG_TABLE:
        writer_break(writer, 2);
        writer->is_first_row = writer->cells > 0 ? writer->is_first_row : true;
        return ENTRY_BLOCK;
    case GUMBO_TAG_TR: return enter_row(writer, node);
    case GUMBO_TAG_TH:
    case GUMBO_TAG_TD:
        if (parent == ENTRY_ROW) {
            return enter_cell(writer);
        }
        writer_break(writer, 1);
        return ENTRY_LINE;
    case GUMBO_TAG_P:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_FIGURE: writer_break(writer, 2); return ENTRY_BLOCK;
    case GUMBO_TAG_HTML:
    case GUMBO_TAG_BODY:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_ARTICLE:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_HEADER:
    case GUMBO_TAG_ADDRESS:
    case GUMBO_TAG_FIELDSET:
    case GUMBO_TAG_FORM:
    case GUMBO_TAG_DETAILS:
    case GUMBO_TAG_SUMMARY:
    case GUMBO_TAG_FIGCAPTION:
    case GUMBO_TAG_CAPTION:
    case GUMBO_TAG_LEGEND:
    case GUMBO_TAG_OPTION: writer_break(writer, 2); return ENTRY_BLOCK;
    default: return ENTRY_PLAIN;
    }
}

static void leave(struct writer *writer, enum entry entry) {
    switch (entry) {
    case ENTRY_PLAIN: break;
    case ENTRY_BLOCK: writer_break(writer, 2); break;
    case ENTRY_LINE: writer_break(writer, 1); break;
    case ENTRY_LEVEL:
    case ENTRY_LEVEL_LINE:
        writer_break(writer, entry == ENTRY_LEVEL ? 2 : 1);
        writer->level_count--;
        break;
    case ENTRY_MARK:
    case ENTRY_LINK: {
        struct mark *mark = &writer->marks[writer->mark_count - 1];
        writer_close_mark(writer, mark);
        free((char *)(uintptr_t)mark->url);
        writer->mark_count--;
        break;
    }
    case ENTRY_ROW: leave_row(writer); break;
    case ENTRY_CELL:
        writer_end_marks(writer);
        writer->has_space = false;
        writer->cells--;
        text_add_string(&writer->out, " |");
        break;
    }
}

/* An element that has no children to be walked; false: it has. */
static bool write_whole(struct writer *writer, const GumboNode *node) {
    bool is_heading =
            writer->level_count > 0 && writer->levels[writer->level_count - 1].first[0] == '#';
    switch (node->v.element.tag) {
    case GUMBO_TAG_IMG: write_image(writer, node); return true;
    case GUMBO_TAG_BR:
        if (is_heading || writer->cells > 0) {
            writer->has_space = true;
        } else {
            bool is_first = writer->breaks == 0 && writer->out.length > 0 && !writer->is_at_start;
            writer_break(writer, 1);
            writer->is_broken = writer->is_broken || is_first;
        }
        return true;
    case GUMBO_TAG_HR:
        writer_break(writer, 2);
        if (writer->out.length > 0 && writer->cells == 0) {
            writer_before_text(writer);
            text_add_string(&writer->out, "---");
            writer->is_at_start = false;
            writer_break(writer, 2);
        }
        return true;
    case GUMBO_TAG_PRE:
        if (writer->cells == 0) {
            write_pre(writer, node);
            return true;
        }
        write_code(writer, node);
        return true;
    case GUMBO_TAG_CODE:
    case GUMBO_TAG_KBD:
    case GUMBO_TAG_SAMP:
    case GUMBO_TAG_TT: write_code(writer, node); return true;
    default: return false;
    }
}

/* False: stopped. */
static bool write_tree(struct writer *writer, const GumboNode *root, struct page *page) {
    struct page_walk walk;
    struct page_step *step;
    bool enters;
    unsigned steps = 0;
    bool is_stopped = false;
    page_walk_init(&walk, root);
    while (!is_stopped && !writer->out.failed && page_walk_next(&walk, &enters, &step)) {
        const GumboNode *node = step->node;
        is_stopped = ++steps % STOP_CHECK == 0 && page->is_stopped(page->user);
        if (!enters) {
            leave(writer, (enum entry)step->entry);
        } else if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA ||
                   node->type == GUMBO_NODE_WHITESPACE) {
            writer_text(writer, node->v.text.text);
        } else if (node->type == GUMBO_NODE_ELEMENT) {
            bool is_root = walk.depth == 1;
            if ((!is_root && is_left_out(node)) || write_whole(writer, node)) {
                page_walk_skip(&walk);
            } else {
                step->entry =
                        enter(writer, node, is_root ? ENTRY_PLAIN : (enum entry)step[-1].entry);
            }
        }
    }
    /* What is still open after a stop. */
    while (walk.depth > 0) {
        leave(writer, (enum entry)walk.steps[--walk.depth].entry);
    }
    writer->out.failed = writer->out.failed || walk.failed;
    page_walk_finish(&walk);
    return !is_stopped;
}

/* ----------------------------------------------------------- the whole page */

struct finds {
    const GumboNode *main;
    const char *title;
    const char *base;
    size_t text;      /* bytes of text on the page */
    size_t main_text; /* and below `main` */
    bool has_heading; /* an <h1> */
};

static bool is_main(const GumboNode *node) {
    const char *role = page_attribute(node, "role");
    return node->v.element.tag == GUMBO_TAG_MAIN || (role != NULL && strcmp(role, "main") == 0);
}

/* The first main part, or the only article. */
static bool look_around(struct page *page, struct finds *ret) {
    struct page_walk walk;
    struct page_step *step;
    bool enters;
    const GumboNode *article = NULL;
    unsigned articles = 0;
    page_walk_init(&walk, page->output->root);
    while (page_walk_next(&walk, &enters, &step)) {
        const GumboNode *node = step->node;
        if (!enters || node->type != GUMBO_NODE_ELEMENT) {
            continue;
        }
        GumboTag tag = node->v.element.tag;
        const GumboVector *children = page_children(node);
        const GumboNode *first = children->length > 0 ? children->data[0] : NULL;
        if (tag == GUMBO_TAG_TITLE && ret->title == NULL && first != NULL &&
            first->type == GUMBO_NODE_TEXT) {
            ret->title = first->v.text.text;
        } else if (tag == GUMBO_TAG_BASE && ret->base == NULL) {
            ret->base = page_attribute(node, "href");
        } else if (tag == GUMBO_TAG_ARTICLE) {
            articles++;
            article = node;
        } else if (is_main(node) && ret->main == NULL) {
            ret->main = node;
        }
    }
    if (ret->main == NULL && articles == 1) {
        ret->main = article;
    }
    page_walk_finish(&walk);
    return !walk.failed;
}

static size_t count_text(const GumboNode *root, bool *ret_has_heading) {
    struct page_walk walk;
    struct page_step *step;
    bool enters;
    size_t size = 0;
    page_walk_init(&walk, root);
    while (page_walk_next(&walk, &enters, &step)) {
        const GumboNode *node = step->node;
        if (enters && node->type == GUMBO_NODE_TEXT) {
            size += strlen(node->v.text.text);
        } else if (enters && node->type == GUMBO_NODE_ELEMENT) {
            *ret_has_heading = *ret_has_heading || node->v.element.tag == GUMBO_TAG_H1;
            if (node != root && is_left_out(node)) {
                page_walk_skip(&walk);
            }
        }
    }
    page_walk_finish(&walk);
    return size;
}

static bool write_page(struct writer *writer, struct page *page, const char *url) {
    struct finds finds = {0};
    if (!look_around(page, &finds)) {
        writer->out.failed = true;
        return true;
    }
    bool has_heading = false;
    const GumboNode *root = page->output->root;
    if (finds.main != NULL && count_text(finds.main, &has_heading) >= MAIN_LEAST) {
        root = finds.main;
    } else {
        has_heading = false;
        (void)count_text(root, &has_heading);
    }
    writer->base = url;
    char *base = finds.base != NULL ? writer_resolve(writer, finds.base) : NULL;
    writer->base = base != NULL ? base : url;
    writer->is_at_start = true;
    if (!has_heading && finds.title != NULL) {
        (void)push_level(writer, 2, "# ", "# ");
        writer_text(writer, finds.title);
        leave(writer, ENTRY_LEVEL);
    }
    bool is_done = write_tree(writer, root, page);
    free(base);
    return is_done;
}

enum markdown_fault markdown_of_html(const char *html, size_t length, const char *url,
                                     bool (*is_stopped)(void *user), void *user, char **ret,
                                     size_t *ret_length) {
    struct page *page = malloc(sizeof *page);
    struct writer *writer = calloc(1, sizeof *writer);
    enum markdown_fault fault = MARKDOWN_LIMIT;
    if (page != NULL && writer != NULL) {
        writer->out.max = OUTPUT_MAX;
        bool is_parsed = page_init(page, html, length, is_stopped, user);
        bool is_done = is_parsed && write_page(writer, page, url);
        text_add_string(&writer->out, writer->out.length > 0 ? "\n" : "");
        page_finish(page);
        if (is_done && !writer->out.failed) {
            *ret = writer->out.data;
            *ret_length = writer->out.length;
            writer->out = (struct text){0};
            fault = MARKDOWN_OK;
        } else if (is_stopped(user)) {
            fault = MARKDOWN_STOPPED;
        }
        text_finish(&writer->out);
    }
    free(writer);
    free(page);
    return fault;
}
