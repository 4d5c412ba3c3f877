/* agent-view.c - the terminal is written under the lock, by the thread of the conversation, by the
 * one that draws, and by whoever writes a note.
 *
 * Invariants, while the lock is free:
 *
 *  (1) The cursor is at the beginning of a line, below the drawn lines. Nothing that is typed is
 *      shown (typing.h).
 *  (2) Above the drawn lines is what stays. It is written after they were erased.
 *  (3) During a question nothing is drawn, and what is to stay is kept until it has ended. */
#include "cli/agent-view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/text.h"
#include "cli/markdown.h"
#include "cli/output.h"
#include "cli/style.h"
#include "cli/typing.h"
#include "cli/width.h"

/* As in run-view.c: events may come faster than anybody reads, and times go on without any. */
#define DRAWN_AGAIN_MS 50u
#define TIMES_MS       250u
/* What comes sooner is not announced. */
#define QUIET_MS       500u
/* Lines of the screen that are not for calls: the heading, how many more there are, the cursor. */
#define OTHER_LINES    4u
#define STATE_WIDTH    9
#define PARTS          3u /* one of so many parts of a line is for arguments */

enum doing { DOING_NOTHING, DOING_THINKING, DOING_WRITING, DOING_CALLS, DOING_WAITING };

struct row {
    char *tool;      /* owned */
    char *arguments; /* owned */
    char *said;      /* owned: progress, result or failure; or NULL */
    const char *state;
    uint64_t began_ns;
    uint64_t duration_ns; /* once it has ended */
    double done;
    double total;
    bool has_progress;
    bool has_ended;
};

struct agent_view {
    bool color;
    struct lock lock;
    struct markdown *markdown;
    enum doing doing;
    uint64_t since_ns; /* it does this since then */
    uint64_t shown_ns; /* when text was shown last */
    uint32_t step;
    uint32_t left_ms; /* WAITING */
    struct row *rows; /* of the message whose calls run */
    size_t count;
    size_t ended;
    bool is_new; /* something happened that was not drawn */
    uint64_t drawn_ns;
    size_t drawn;   /* lines */
    size_t *widths; /* their columns; of lines without room here: 0 */
    size_t width_room;
    bool reflows;       /* a terminal that becomes narrower breaks them */
    unsigned questions; /* that are open */
    struct buf kept;    /* during a question: of standard error */
    int unwritten;      /* why standard output cannot be written */
};

/* -------------------------------------------------------------------- drawing */

static size_t columns_now(void) {
    size_t columns = output_width();
    return columns > 0 ? columns : 1;
}

/* The rows that the drawn lines take now. A terminal that became narrower may have broken them, or
 * not: where it is not known to do that, parts of them are left rather than that text above them is
 * lost. */
static size_t drawn_rows(const struct agent_view *view) {
    const size_t columns = columns_now();
    size_t rows = 0;
    for (size_t i = 0; i < view->drawn; i++) {
        size_t width = view->reflows && i < view->width_room ? view->widths[i] : 0;
        rows += width > columns ? (width + columns - 1) / columns : 1;
    }
    return rows;
}

/* Append what erases the drawn lines, one by one: where all below the top of the screen is erased,
 * tmux keeps it as text that was scrolled away. */
static void erase(struct agent_view *view, struct buf *out) {
    const size_t rows = drawn_rows(view);
    buf_add_text(out, rows > 0 ? "\r" : "");
    for (size_t i = 0; i < rows; i++) {
        buf_add_text(out, "\x1b[A\x1b[2K");
    }
    view->drawn = 0;
}

/* One more line is drawn. */
static void count_drawn(struct agent_view *view, size_t width) {
    if (view->drawn == view->width_room) {
        size_t room = view->width_room > 0 ? 2 * view->width_room : 16;
        size_t *grown = reallocarray(view->widths, room, sizeof *grown);
        if (grown != NULL) {
            view->widths = grown;
            view->width_room = room;
        }
    }
    if (view->drawn < view->width_room) {
        view->widths[view->drawn] = width;
    }
    view->drawn++;
}

static void write_error(const struct buf *out) {
    if (!out->failed && out->length > 0) {
        (void)write_all(STDERR_FILENO, out->data, out->length);
    }
}

static enum style style_of(const struct row *row) {
    return !row->has_ended                        ? STYLE_CAUTION
           : strcmp(row->state, "succeeded") == 0 ? STYLE_GOOD
                                                  : STYLE_BAD;
}

/* Append a line that fits, with a style from byte `from` to `to`.
 * @return its columns */
static size_t add_cut(const struct agent_view *view, struct buf *out, const struct buf *line,
                      enum style style, size_t from, size_t to) {
    size_t columns = columns_now();
    size_t length = line->length;
    if (line->failed) {
        out->failed = true;
        return 0;
    }
    if (width_of(line->data, length) > columns) {
        length = columns > 1 ? width_cut(line->data, length, columns - 1) : 0;
    }
    bool is_styled = view->color && to > from && to <= length;
    buf_add(out, line->data, is_styled ? from : length);
    if (is_styled) {
        buf_add_text(out, style_sequence(style));
        buf_add(out, line->data + from, to - from);
        buf_add_text(out, style_sequence(STYLE_PLAIN));
        buf_add(out, line->data + to, length - to);
    }
    buf_add_text(out, length < line->length ? "\xe2\x80\xa6\n" : "\n");
    return width_of(line->data, length) + (length < line->length);
}

/* The same of a line that is drawn, and erased later. */
static void draw_line(struct agent_view *view, struct buf *out, const struct buf *line,
                      enum style style, size_t from, size_t to) {
    count_drawn(view, add_cut(view, out, line, style, from, to));
}

static void add_progress(const struct row *row, struct buf *line) {
    if (row->total > 0) {
        buf_printf(line, ": %g of %g", row->done, row->total);
    } else {
        buf_printf(line, ": %g", row->done);
    }
    if (row->said != NULL) {
        buf_printf(line, " %s", row->said);
    }
}

/* Append a line whole, in pieces that fit; the style is in the first. */
static void add_whole(const struct agent_view *view, struct buf *out, const struct buf *line,
                      enum style style, size_t from, size_t to) {
    CLEANUP(buf_finish) struct buf wrapped = BUF_INIT;
    if (!line->failed) {
        width_wrap(&wrapped, "", "    ", line->data, line->length, columns_now(), false);
    }
    const char *end = wrapped.length > 0 ? memchr(wrapped.data, '\n', wrapped.length) : NULL;
    bool is_styled = view->color && end != NULL && to <= (size_t)(end - wrapped.data);
    buf_add(out, wrapped.data, is_styled ? from : wrapped.length);
    if (is_styled) {
        buf_add_text(out, style_sequence(style));
        buf_add(out, wrapped.data + from, to - from);
        buf_add_text(out, style_sequence(STYLE_PLAIN));
        buf_add(out, wrapped.data + to, wrapped.length - to);
    }
    out->failed = out->failed || line->failed || wrapped.failed;
}

/* `is_left`: it stays, and why it failed is not cut. */
static void add_row(struct agent_view *view, const struct row *row, uint64_t now_ns, bool is_left,
                    struct buf *out) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf time = BUF_INIT;
    const char *state = row->has_ended ? row->state : "running";
    if (row->has_ended && row->duration_ns == 0) {
        buf_add_char(&time, '-'); /* it did not begin */
    } else {
        text_add_duration(&time, row->has_ended ? row->duration_ns : now_ns - row->began_ns);
    }
    buf_add_text(&line, view->count > 1 ? "  " : "");
    size_t from = line.length;
    buf_add_text(&line, state);
    size_t to = line.length;
    buf_printf(&line, "%*s %8s  %s ", STATE_WIDTH - (int)strlen(state), "",
               time.failed ? "" : time.data, row->tool);
    text_add_cut(&line, row->arguments, strlen(row->arguments), columns_now() / PARTS + 1);
    if (row->has_ended && row->said != NULL) {
        buf_printf(&line, ": %s", row->said);
    } else if (!row->has_ended && row->has_progress) {
        add_progress(row, &line);
    }
    if (!is_left) {
        draw_line(view, out, &line, style_of(row), from, to);
    } else if (strcmp(state, "succeeded") != 0) {
        add_whole(view, out, &line, style_of(row), from, to);
    } else {
        (void)add_cut(view, out, &line, style_of(row), from, to);
    }
}

/* The group of calls; those that run come first where not all fit. */
static void add_calls(struct agent_view *view, uint64_t now_ns, struct buf *out) {
    size_t height = output_height();
    size_t room = height > OTHER_LINES + 1 ? height - OTHER_LINES : 1;
    size_t shown = 0;
    if (view->count > 1) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "%zu calls", view->count);
        if (view->ended < view->count) {
            buf_printf(&line, ", %zu ended", view->ended);
        }
        draw_line(view, out, &line, STYLE_HEADING, 0, line.length);
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < view->count && shown < room; i++) {
            bool is_due = view->count <= room ? pass == 0 : view->rows[i].has_ended == (pass == 1);
            if (is_due && view->rows[i].tool != NULL) {
                add_row(view, &view->rows[i], now_ns, false, out);
                shown++;
            }
        }
    }
    if (view->count > room) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "  %zu more", view->count - shown);
        draw_line(view, out, &line, STYLE_PLAIN, 0, 0);
    }
}

/* The end of the text that is not shown yet: it is seen that something comes. */
static void add_tail(const struct agent_view *view, struct buf *line) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const struct buf *pending = markdown_pending(view->markdown);
    size_t columns = columns_now();
    size_t taken = width_of(line->data, line->length) + 4;
    if (pending == NULL || pending->failed || columns <= taken) {
        return;
    }
    size_t from = pending->length > columns ? pending->length - columns : 0;
    while (from < pending->length && ((unsigned char)pending->data[from] & 0xc0) == 0x80) {
        from++;
    }
    text_add_line(&text, pending->data + from, pending->length - from);
    if (text.failed || text.length == 0) {
        return;
    }
    size_t at = 0;
    while (at < text.length && width_of(text.data + at, text.length - at) > columns - taken) {
        at++;
        while (at < text.length && ((unsigned char)text.data[at] & 0xc0) == 0x80) {
            at++;
        }
    }
    buf_printf(line, ": \xe2\x80\xa6%s", text.data + at);
}

/* What is waited for, on one line. */
static void add_status(struct agent_view *view, uint64_t now_ns, struct buf *out) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    uint64_t s = (now_ns - view->since_ns) / CLOCK_NS_PER_S;
    switch (view->doing) {
    case DOING_THINKING: buf_printf(&line, "thinking, %llu s", (unsigned long long)s); break;
    case DOING_WRITING:
        buf_printf(&line, "writing, %llu s", (unsigned long long)s);
        if (!line.failed) {
            add_tail(view, &line);
        }
        break;
    case DOING_WAITING:
        buf_add_text(&line, "asking again in ");
        text_add_wait(&line, (view->left_ms + 999) / 1000 * 1000);
        break;
    default: return;
    }
    if (!line.failed) {
        draw_line(view, out, &line, STYLE_FAINT, 0, line.length);
    }
}

/* Replace the drawn lines. */
static void draw(struct agent_view *view, uint64_t now_ns) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    erase(view, &out);
    if (view->doing == DOING_CALLS) {
        add_calls(view, now_ns, &out);
    } else if (view->doing != DOING_WRITING ||
               now_ns - view->shown_ns >= QUIET_MS * CLOCK_NS_PER_MS) {
        add_status(view, now_ns, &out);
    }
    view->is_new = false;
    view->drawn_ns = now_ns;
    write_error(&out);
}

uint32_t agent_view_draw(struct agent_view *view) {
    if (view == NULL) {
        return 0;
    }
    const uint64_t now_ns = clock_now_ns();
    uint32_t again_ms = TIMES_MS;
    lock_take(&view->lock);
    const uint64_t shown_ms = (now_ns - view->drawn_ns) / CLOCK_NS_PER_MS;
    const uint32_t due_ms = view->is_new ? DRAWN_AGAIN_MS : TIMES_MS;
    if (view->questions == 0 && shown_ms < due_ms) {
        again_ms = due_ms - (uint32_t)shown_ms;
    } else if (view->questions == 0) {
        draw(view, now_ns);
    }
    lock_release(&view->lock);
    return again_ms;
}

/* ---------------------------------------------------------------- what stays */

/* Write to standard error what stays; `out` erases what was drawn first. */
static void leave(struct agent_view *view, const struct buf *out) {
    if (view->questions > 0) {
        buf_add(&view->kept, out->data, out->length);
    } else {
        write_error(out);
    }
}

/* The calls have ended: their lines stay, all of them. */
static void leave_calls(struct agent_view *view) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    uint64_t now_ns = clock_now_ns();
    if (view->questions == 0) {
        erase(view, &out);
    }
    if (view->count > 1) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "%zu calls", view->count);
        (void)add_cut(view, &out, &line, STYLE_HEADING, 0, line.length);
    }
    for (size_t i = 0; i < view->count; i++) {
        struct row *row = &view->rows[i];
        if (row->tool != NULL) {
            row->state = row->has_ended ? row->state : "cancelled";
            row->duration_ns = row->has_ended ? row->duration_ns : now_ns - row->began_ns;
            row->has_ended = true;
            add_row(view, row, now_ns, true, &out);
        }
        free(row->tool);
        free(row->arguments);
        free(row->said);
    }
    free(view->rows);
    view->rows = NULL;
    view->count = view->ended = 0;
    view->doing = DOING_NOTHING;
    leave(view, &out);
}

static void show(struct agent_view *view, const struct buf *text) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (text->failed) {
        view->unwritten = -ENOMEM;
    } else if (text->length > 0) {
        erase(view, &out);
        write_error(&out);
        view->unwritten = write_all(STDOUT_FILENO, text->data, text->length);
        view->shown_ns = clock_now_ns();
    }
}

int agent_view_text(struct agent_view *view, const char *text, size_t length) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    lock_take(&view->lock);
    if (text != NULL) {
        markdown_feed(view->markdown, text, length, columns_now(), &out);
    } else {
        markdown_end(view->markdown, columns_now(), &out);
    }
    if (view->doing != DOING_WRITING || text == NULL) {
        view->doing = text != NULL ? DOING_WRITING : DOING_NOTHING;
        view->since_ns = view->shown_ns = clock_now_ns();
        view->is_new = true;
    }
    if (view->unwritten == 0) {
        show(view, &out);
    }
    int unwritten = view->unwritten;
    lock_release(&view->lock);
    return unwritten;
}

/* Around what others write to the terminal. */
static void begin_note(void *user) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct agent_view *view = user;
    lock_take(&view->lock);
    if (view->questions == 0) {
        erase(view, &out);
        write_error(&out);
    }
}

static void end_note(void *user) {
    struct agent_view *view = user;
    view->is_new = true;
    lock_release(&view->lock);
}

void agent_view_pause(struct agent_view *view) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (view != NULL) {
        lock_take(&view->lock);
        if (view->questions++ == 0) {
            erase(view, &out);
            write_error(&out);
            typing_show();
        }
        lock_release(&view->lock);
    }
}

void agent_view_resume(struct agent_view *view) {
    if (view != NULL) {
        lock_take(&view->lock);
        if (--view->questions == 0) {
            typing_hide();
            write_error(&view->kept);
            buf_clear(&view->kept);
            view->is_new = true;
        }
        lock_release(&view->lock);
    }
}

/* --------------------------------------------------------------------- events */

static void do_now(struct agent_view *view, enum doing doing) {
    view->doing = doing;
    view->since_ns = clock_now_ns();
    view->is_new = true;
}

static void begin_call(struct agent_view *view, const struct toolrack_agent_event *event) {
    if (view->rows == NULL) {
        view->rows = calloc(event->calls, sizeof *view->rows);
        view->count = view->rows != NULL ? event->calls : 0;
        view->ended = 0;
        do_now(view, DOING_CALLS);
    }
    if (event->call < view->count) {
        struct row *row = &view->rows[event->call];
        row->tool = strdup(event->tool);
        row->arguments = strdup(event->arguments);
        row->began_ns = clock_now_ns();
        if (row->arguments == NULL) {
            free(row->tool);
            row->tool = NULL;
        }
    }
}

static void change_call(struct agent_view *view, const struct toolrack_agent_event *event) {
    if (event->call >= view->count) {
        return;
    }
    struct row *row = &view->rows[event->call];
    const char *said = event->kind == TOOLRACK_AGENT_CALL_ENDED ? event->result : event->message;
    free(row->said);
    row->said = said != NULL ? strdup(said) : NULL;
    row->done = event->done;
    row->total = event->total;
    row->has_progress = true;
    if (event->kind == TOOLRACK_AGENT_CALL_ENDED) {
        row->has_ended = true;
        row->state = event->state;
        row->duration_ns = event->duration_ns;
        view->ended++;
    }
    view->is_new = true;
    if (view->ended == view->count) {
        leave_calls(view);
    }
}

void agent_view_event(struct agent_view *view, const struct toolrack_agent_event *event) {
    lock_take(&view->lock);
    switch (event->kind) {
    case TOOLRACK_AGENT_REQUEST:
        if (view->rows != NULL) {
            leave_calls(view); /* calls whose end was not told */
        }
        do_now(view, DOING_THINKING);
        view->step = event->step;
        break;
    case TOOLRACK_AGENT_CALL_BEGAN: begin_call(view, event); break;
    case TOOLRACK_AGENT_CALL_PROGRESS:
    case TOOLRACK_AGENT_CALL_ENDED: change_call(view, event); break;
    default: break;
    }
    lock_release(&view->lock);
}

void agent_view_wait(struct agent_view *view, uint32_t left_ms) {
    lock_take(&view->lock);
    view->left_ms = left_ms;
    view->doing = left_ms > 0 ? DOING_WAITING : DOING_NOTHING;
    if (view->questions == 0) {
        draw(view, clock_now_ns());
    }
    lock_release(&view->lock);
}

/* ----------------------------------------------------------------------- life */

struct agent_view *agent_view_begin(const struct cli *cli) {
    if (!output_has_cursor() || isatty(STDERR_FILENO) != 1) {
        return NULL;
    }
    struct agent_view *view = calloc(1, sizeof *view);
    struct markdown *markdown = markdown_create(output_has_color(cli->options.color));
    if (view == NULL || markdown == NULL) {
        free(view);
        markdown_destroy(markdown);
        return NULL;
    }
    view->color = output_has_color(cli->options.color);
    view->reflows = output_reflows();
    view->markdown = markdown;
    lock_init(&view->lock);
    typing_hide();
    output_guard_notes(begin_note, end_note, view);
    return view;
}

void agent_view_end(struct agent_view *view) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (view == NULL) {
        return;
    }
    (void)agent_view_text(view, NULL, 0);
    output_guard_notes(NULL, NULL, NULL);
    lock_take(&view->lock);
    if (view->rows != NULL) {
        leave_calls(view);
    }
    erase(view, &out);
    write_error(&out);
    write_error(&view->kept);
    typing_show();
    lock_release(&view->lock);
    markdown_destroy(view->markdown);
    free(view->widths);
    buf_finish(&view->kept);
    lock_finish(&view->lock);
    free(view);
}
