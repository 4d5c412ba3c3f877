#include "cli/output.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/width.h"

#define WIDTH_DEFAULT   80u
#define WIDTH_MAX       10000u
#define HEIGHT_DEFAULT  24u
/* The text of a line with a label begins at this column at the latest; otherwise the spaces are
 * not those behind a label. */
#define LABEL_WIDTH_MAX 30u
#define TAB_WIDTH       8u
#define BENEATH_SPACE   4u /* indentation of a text without room beside its label */

int output_write(int fd, const char *text, size_t length) {
    if (length == 0) {
        return 0;
    }
    if (isatty(fd) != 1) {
        return write_all(fd, text, length);
    }
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    text_add_escaped(&escaped, text, length);
    return escaped.failed ? -ENOMEM : write_all(fd, escaped.data, escaped.length);
}

/* Columns of the terminal, 0: it is none. */
static size_t columns_of(int fd) {
    struct winsize size;
    return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int output_line(int fd, const char *line, size_t length) {
    CLEANUP(buf_finish) struct buf wrapped = BUF_INIT;
    width_wrap(&wrapped, "", "  ", line, length, columns_of(fd), false);
    return wrapped.failed ? -ENOMEM : write_all(fd, wrapped.data, wrapped.length);
}

/* A thread of the daemon runs one verb at a time. */
static _Thread_local struct {
    void (*take)(void *user, const char *text, size_t length);
    void *user;
} notes;

void output_take_notes(void (*take)(void *user, const char *text, size_t length), void *user) {
    notes.take = take;
    notes.user = user;
}

/* Lines that wait for the end of a question, as they are to be written. */
static struct {
    pthread_mutex_t lock; /* held while a line is written, too: none is written into a question */
    bool holds;
    void (*came)(void); /* or NULL */
    struct buf lines;
    size_t left_out;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Around each that is written at once; under the lock of `held`. */
static struct {
    void (*begin)(void *user);
    void (*end)(void *user);
    void *user;
} guard;

void output_guard_notes(void (*begin)(void *user), void (*end)(void *user), void *user) {
    (void)pthread_mutex_lock(&held.lock);
    guard.begin = begin;
    guard.end = end;
    guard.user = user;
    (void)pthread_mutex_unlock(&held.lock);
}

void output_hold_notes(void (*came)(void)) {
    (void)pthread_mutex_lock(&held.lock);
    held.holds = true;
    held.came = came;
    (void)pthread_mutex_unlock(&held.lock);
}

void output_release_notes(void) {
    (void)pthread_mutex_lock(&held.lock);
    held.holds = false;
    if (!held.lines.failed && held.lines.length > 0) {
        (void)write_all(STDERR_FILENO, held.lines.data, held.lines.length);
    }
    if (held.left_out > 0) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "toolrack: %zu more lines came while the question was open\n",
                   held.left_out);
        if (!line.failed) {
            (void)write_all(STDERR_FILENO, line.data, line.length);
        }
    }
    buf_finish(&held.lines);
    held.left_out = 0;
    (void)pthread_mutex_unlock(&held.lock);
}

/* Write a line to standard error, or keep it until the question that is open is answered.
 * `columns`: it is broken there; 0: it stays whole. */
static void write_note(const struct buf *line, size_t columns) {
    CLEANUP(buf_finish) struct buf broken = BUF_INIT;
    width_wrap(&broken, "", "  ", line->data, line->length, columns, false);
    (void)pthread_mutex_lock(&held.lock);
    if (!held.holds) {
        if (guard.begin != NULL) {
            guard.begin(guard.user);
        }
        if (!broken.failed) {
            (void)write_all(STDERR_FILENO, broken.data, broken.length);
        }
        if (guard.end != NULL) {
            guard.end(guard.user);
        }
    } else if (held.lines.length > OUTPUT_HELD_MAX) {
        held.left_out++;
    } else {
        buf_add(&held.lines, broken.data, broken.length);
    }
    if (held.holds && held.came != NULL) {
        held.came();
    }
    (void)pthread_mutex_unlock(&held.lock);
}

static void note(const char *text, size_t length, bool is_whole) {
    if (notes.take != NULL) {
        notes.take(notes.user, text, length);
        return;
    }
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_add_text(&line, "toolrack: ");
    if (length > 0) {
        text_add_line(&line, text, length);
    }
    if (!line.failed) {
        write_note(&line, is_whole ? 0 : columns_of(STDERR_FILENO));
    }
}

void output_note(const char *format, ...) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    note(text.failed ? "out of memory" : text.data,
         text.failed ? strlen("out of memory") : text.length, false);
}

void output_note_whole(const char *what, const char *text) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_printf(&line, "%s: %s", what, text);
    note(line.failed ? "out of memory" : line.data,
         line.failed ? strlen("out of memory") : line.length, true);
}

size_t output_width(void) {
    if (isatty(STDOUT_FILENO) != 1) {
        return 0;
    }
    const char *columns = getenv("COLUMNS");
    long long width = 0;
    if (columns != NULL && options_number(columns, 1, WIDTH_MAX, &width)) {
        return (size_t)width;
    }
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return WIDTH_DEFAULT;
}

size_t output_height(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row
                                                                           : HEIGHT_DEFAULT;
}

bool output_has_cursor(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && term != NULL && term[0] != '\0' &&
           strcmp(term, "dumb") != 0;
}

/* In this order, since one terminal may have been started in another one. */
bool output_reflows(void) {
    static const struct {
        const char *variable;
        bool reflows;
    } terminals[] = {{"STY", false}, /* screen */
                     {"TMUX", true},
                     {"XTERM_VERSION", false},
                     {"KITTY_WINDOW_ID", true},
                     {"ALACRITTY_WINDOW_ID", true},
                     {"WEZTERM_PANE", true},
                     {"KONSOLE_VERSION", true},
                     {"VTE_VERSION", true},
                     {"WT_SESSION", true}};
    for (size_t i = 0; i < ARRAY_LENGTH(terminals); i++) {
        const char *value = getenv(terminals[i].variable);
        if (value != NULL && value[0] != '\0') {
            return terminals[i].reflows;
        }
    }
    return false;
}

bool output_wants_color(void) {
    const char *none = getenv("NO_COLOR");
    return output_has_cursor() && (none == NULL || none[0] == '\0');
}

bool output_has_color(const char *option) {
    bool is_auto = option == NULL || strcmp(option, "auto") == 0;
    return is_auto ? output_wants_color() : strcmp(option, "always") == 0;
}

/* ------------------------------------------------------------------ render */

/* Escaped text on its way out. */
struct renderer {
    const char *text;
    const struct styles *styles;
    size_t next; /* of the styles */
    enum style now;
    bool color;
    size_t width;
    struct buf *out;
};

/* Escape the text between the marks; `moved` are the marks in the escaped text. */
static void escape(const struct buf *text, const struct styles *styles, struct buf *escaped,
                   struct styles *moved) {
    size_t at = 0;
    for (size_t i = 0; i < styles->count; i++) {
        const struct style_mark *mark = &styles->marks[i];
        text_add_escaped(escaped, text->data + at, mark->at - at);
        style_begin(moved, escaped->length, mark->style);
        at = mark->at;
    }
    text_add_escaped(escaped, text->data + at, text->length - at);
}

static void begin_style(struct renderer *renderer, enum style style) {
    if (renderer->color && style != renderer->now) {
        buf_add_text(renderer->out, style_sequence(style));
    }
    renderer->now = style;
}

/* Append a part of the text and what styles begin in it. */
static void add_part(struct renderer *renderer, size_t from, size_t to) {
    const struct styles *styles = renderer->styles;
    while (renderer->next < styles->count && styles->marks[renderer->next].at <= to) {
        const struct style_mark *mark = &styles->marks[renderer->next++];
        size_t until = mark->at > from ? mark->at : from;
        buf_add(renderer->out, renderer->text + from, until - from);
        begin_style(renderer, mark->style);
        from = until;
    }
    buf_add(renderer->out, renderer->text + from, to - from);
}

/* End a line; a pager forgets the style there. */
static void add_break(struct renderer *renderer, size_t indent) {
    enum style style = renderer->now;
    begin_style(renderer, STYLE_PLAIN);
    buf_printf(renderer->out, "\n%*s", (int)indent, "");
    begin_style(renderer, style);
}

static size_t line_width(const char *line, size_t length) {
    size_t columns = 0;
    while (length > 0) {
        const char *tab = memchr(line, '\t', length);
        size_t piece = tab != NULL ? (size_t)(tab - line) : length;
        columns += width_of(line, piece);
        columns += tab != NULL ? TAB_WIDTH - columns % TAB_WIDTH : 0;
        piece += tab != NULL;
        line += piece;
        length -= piece;
    }
    return columns;
}

/* Bytes before the text of a line: spaces, and perhaps a label with two or more spaces behind. */
static size_t label_length(const char *line, size_t length) {
    size_t spaces = 0;
    while (spaces < length && line[spaces] == ' ') {
        spaces++;
    }
    size_t most = length < LABEL_WIDTH_MAX ? length : LABEL_WIDTH_MAX;
    for (size_t i = spaces; i + 2 < most; i++) {
        if (line[i] == ' ' && line[i + 1] == ' ') {
            while (i < most && line[i] == ' ') {
                i++;
            }
            return i < most ? i : spaces;
        }
    }
    return spaces;
}

static void add_line(struct renderer *renderer, size_t from, size_t to) {
    const char *line = renderer->text + from;
    size_t length = to - from;
    if (renderer->width == 0 || line_width(line, length) <= renderer->width) {
        add_part(renderer, from, to);
        return;
    }
    size_t label = label_length(line, length);
    size_t indent = width_of(line, label);
    if (indent >= renderer->width / 2) {
        label = 0;
        indent = 0;
    }
    size_t longest = width_of_word(line + label, length - label);
    add_part(renderer, from, from + label);
    /* A path that does not fit beside its label stands beneath it, whole. */
    if (label > 0 && indent > BENEATH_SPACE && longest > renderer->width - indent &&
        longest + BENEATH_SPACE <= renderer->width) {
        indent = BENEATH_SPACE;
        add_break(renderer, indent);
    }
    for (size_t at = label; at < length;) {
        size_t next = 0;
        size_t piece = width_fit(line + at, length - at, renderer->width - indent, &next);
        add_part(renderer, from + at, from + at + piece);
        at += next;
        if (at < length) {
            add_break(renderer, indent);
        }
    }
}

void output_render(const struct buf *text, const struct styles *styles, bool color, size_t width,
                   struct buf *out) {
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    CLEANUP(style_clear) struct styles moved = {0};
    if (text->length == 0) {
        return;
    }
    escape(text, styles, &escaped, &moved);
    if (escaped.failed) {
        out->failed = true;
        return;
    }
    struct renderer renderer = {
            .text = escaped.data, .styles = &moved, .color = color, .width = width, .out = out};
    for (size_t at = 0; at < escaped.length;) {
        const char *end = memchr(escaped.data + at, '\n', escaped.length - at);
        size_t line_end = end != NULL ? (size_t)(end - escaped.data) : escaped.length;
        add_line(&renderer, at, line_end);
        if (end != NULL) {
            add_break(&renderer, 0);
        }
        at = line_end + 1;
    }
    begin_style(&renderer, STYLE_PLAIN);
}
