#include "cli/run-view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/person.h"
#include "cli/width.h"

/* Events may come faster than anybody reads; without any the times go on. */
#define DRAWN_AGAIN_MS 50u
#define TIMES_MS       250u
/* Lines that are no rows of nodes: the sum, how many more there are, and where the cursor waits. */
#define OTHER_LINES    3u
#define ROWS_MIN       1u

struct row {
    const char *state; /* static, of the events, or "waiting" */
    uint64_t attempts;
    uint64_t began_ns; /* 0: it has not begun */
    uint64_t duration_ns;
    size_t ended;   /* the how many-th that ended; 0: it has not */
    bool fell_back; /* its fallback gave the result, in place of the error */
    char *error;    /* owned */
};

struct run_view {
    const struct toolrack_plan *plan;
    size_t count;
    size_t name_width;
    uint64_t began_ns;
    bool color;

    struct lock lock;
    char id[TOOLRACK_RUN_ID_ROOM]; /* of the run; "": it has not begun */
    struct row *rows;
    size_t ended;
    size_t failed;
    bool is_new; /* something happened that was not drawn */

    /* Of the thread that draws. */
    size_t lines; /* above the cursor */
    uint64_t drawn_ns;
    uint64_t asked; /* questions to the person before it was drawn */
};

/* -------------------------------------------------------------------------------------- events */

struct run_view *run_view_begin(const struct cli *cli, const struct toolrack_plan *plan) {
    if (!output_has_cursor()) {
        return NULL;
    }
    struct run_view *view = calloc(1, sizeof *view);
    struct row *rows = calloc(toolrack_plan_count(plan) + 1, sizeof *rows);
    if (view == NULL || rows == NULL) {
        free(view);
        free(rows);
        return NULL;
    }
    *view = (struct run_view){.plan = plan,
                              .count = toolrack_plan_count(plan),
                              .began_ns = clock_now_ns(),
                              .color = output_has_color(cli->options.color),
                              .rows = rows,
                              .is_new = true};
    lock_init(&view->lock);
    for (size_t i = 0; i < view->count; i++) {
        size_t width = strlen(toolrack_plan_node(plan, i)); /* ids are ASCII */
        view->name_width = width > view->name_width ? width : view->name_width;
        rows[i].state = "waiting";
    }
    return view;
}

void run_view_name(struct run_view *view, const char *id) {
    lock_take(&view->lock);
    (void)snprintf(view->id, sizeof view->id, "%s", id);
    view->is_new = true;
    lock_release(&view->lock);
}

void run_view_take(struct run_view *view, const struct toolrack_plan_event *event) {
    struct row *row = &view->rows[event->node];
    lock_take(&view->lock);
    row->state = event->kind == TOOLRACK_PLAN_RETRIED ? "retrying" : event->state;
    row->attempts = event->attempts;
    if (event->kind == TOOLRACK_PLAN_BEGAN) {
        row->began_ns = clock_now_ns();
    }
    if (event->kind == TOOLRACK_PLAN_ENDED) {
        row->duration_ns = event->duration_ns;
        row->ended = ++view->ended;
        view->failed += strcmp(event->state, "failed") == 0;
    }
    const struct toolrack_error *why = event->err != NULL ? event->err : event->replaced;
    free(row->error);
    row->error = why != NULL ? strdup(toolrack_error_message(why)) : NULL;
    row->fell_back = event->replaced != NULL;
    view->is_new = true;
    lock_release(&view->lock);
}

/* ---------------------------------------------------------------------------------------- rows */

static enum style style_of(const char *state) {
    return strcmp(state, "succeeded") == 0  ? STYLE_GOOD
           : strcmp(state, "failed") == 0   ? STYLE_BAD
           : strcmp(state, "retrying") == 0 ? STYLE_CAUTION
           : strcmp(state, "running") == 0  ? STYLE_HEADING
                                            : STYLE_FAINT;
}

/* Where not all rows fit: those that somebody waits for or must look at first. */
static unsigned rank_of(const char *state) {
    static const char *const first[] = {"running", "retrying",  "failed",
                                        "waiting", "cancelled", "skipped"};
    unsigned rank = 0;
    while (rank < ARRAY_LENGTH(first) && strcmp(state, first[rank]) != 0) {
        rank++;
    }
    return rank;
}

/* Append a line that fits, with a style for its bytes from `from` to `to`. */
static void add_cut(struct buf *out, const struct buf *line, size_t columns, enum style style,
                    size_t from, size_t to) {
    size_t next;
    size_t length = line->length;
    if (line->failed) {
        out->failed = true;
        return;
    }
    if (width_of(line->data, length) > columns) {
        length = width_fit(line->data, length, columns, &next);
    }
    if (style == STYLE_PLAIN || to > length) {
        buf_add(out, line->data, length);
    } else {
        buf_add(out, line->data, from);
        buf_add_text(out, style_sequence(style));
        buf_add(out, line->data + from, to - from);
        buf_add_text(out, style_sequence(STYLE_PLAIN));
        buf_add(out, line->data + to, length - to);
    }
    buf_add_text(out, "\x1b[K\n"); /* what stood behind it goes */
}

static void add_row(const struct run_view *view, size_t index, uint64_t now_ns, size_t columns,
                    struct buf *out) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf time = BUF_INIT;
    const struct row *row = &view->rows[index];
    const char *tool = toolrack_plan_tool(view->plan, index);
    if (row->began_ns > 0) {
        text_add_duration(&time, row->ended > 0 ? row->duration_ns : now_ns - row->began_ns);
    } else {
        buf_add_char(&time, '-');
    }
    buf_printf(&line, "%-*s  ", (int)view->name_width, toolrack_plan_node(view->plan, index));
    const size_t from = line.length;
    const size_t to = from + strlen(row->state);
    buf_printf(&line, "%-9s  %8s  ", row->state, time.failed ? "" : time.data);
    text_add_line(&line, tool, strlen(tool));
    if (row->attempts > 1) {
        buf_printf(&line, ", %llu attempts", (unsigned long long)row->attempts);
    }
    if (row->error != NULL) {
        buf_add_text(&line, row->fell_back ? ", by its fallback: " : ": ");
        text_add_line(&line, row->error, strlen(row->error));
    }
    add_cut(out, &line, columns, view->color ? style_of(row->state) : STYLE_PLAIN, from, to);
}

/* As many rows as fit, in the order of the plan if all do. @return lines */
static size_t add_rows(const struct run_view *view, uint64_t now_ns, size_t columns, size_t room,
                       struct buf *out) {
    size_t added = 0;
    if (view->count <= room) {
        for (size_t i = 0; i < view->count; i++) {
            add_row(view, i, now_ns, columns, out);
        }
        return view->count;
    }
    for (unsigned rank = 0; rank <= rank_of("succeeded"); rank++) {
        for (size_t i = 0; i < view->count && added < room; i++) {
            if (rank_of(view->rows[i].state) == rank) {
                add_row(view, i, now_ns, columns, out);
                added++;
            }
        }
    }
    buf_printf(out, "+%zu more\x1b[K\n", view->count - added);
    return added + 1;
}

/* @return lines */
static size_t add_all(const struct run_view *view, uint64_t now_ns, struct buf *out) {
    CLEANUP(buf_finish) struct buf sum = BUF_INIT;
    const size_t height = output_height();
    const size_t columns = output_width();
    buf_printf(&sum, "%zu of %zu node%s ended", view->ended, view->count, text_plural(view->count));
    if (view->failed > 0) {
        buf_printf(&sum, ", %zu failed", view->failed);
    }
    buf_add_text(&sum, ", ");
    text_add_duration(&sum, now_ns - view->began_ns);
    if (view->id[0] != '\0') {
        buf_printf(&sum, ", run %s", view->id);
    }
    add_cut(out, &sum, columns, STYLE_PLAIN, 0, 0);
    return 1 + add_rows(view, now_ns, columns,
                        height > OTHER_LINES ? height - OTHER_LINES : ROWS_MIN, out);
}

/* The person is not asked meanwhile. */
static void draw(struct run_view *view, uint64_t now_ns) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (view->lines > 0) {
        buf_printf(&out, "\r\x1b[%zuA", view->lines);
    }
    lock_take(&view->lock);
    view->is_new = false;
    view->lines = add_all(view, now_ns, &out);
    lock_release(&view->lock);
    buf_add_text(&out, "\x1b[J"); /* of a longer one before */
    view->drawn_ns = now_ns;
    if (!out.failed) {
        (void)write_all(STDOUT_FILENO, out.data, out.length);
    }
}

/* Draw it beneath a question that was asked since. @return whether no question is open */
static bool draw_unasked(struct run_view *view, uint64_t now_ns) {
    uint64_t asked;
    if (!person_hold(&asked)) {
        return false;
    }
    if (asked != view->asked) {
        view->lines = 0;
        view->asked = asked;
    }
    draw(view, now_ns);
    person_release();
    return true;
}

uint32_t run_view_draw(struct run_view *view) {
    const uint64_t now_ns = clock_now_ns();
    const uint64_t shown_ms = (now_ns - view->drawn_ns) / CLOCK_NS_PER_MS;
    lock_take(&view->lock);
    bool is_new = view->is_new;
    lock_release(&view->lock);
    const uint32_t due_ms = is_new ? DRAWN_AGAIN_MS : TIMES_MS;
    if (shown_ms < due_ms) {
        return due_ms - (uint32_t)shown_ms;
    }
    (void)draw_unasked(view, now_ns);
    return TIMES_MS;
}

/* ------------------------------------------------------------------------------- critical path */

/* The node that ended last of those that one needs; SIZE_MAX: it needs none. It is the one that
 * was waited for. */
static size_t waited_for(const struct run_view *view, size_t index) {
    size_t last = SIZE_MAX;
    size_t node;
    bool data;
    for (size_t k = 0; toolrack_plan_need(view->plan, index, k, &node, &data); k++) {
        if (last == SIZE_MAX || view->rows[node].ended > view->rows[last].ended) {
            last = node;
        }
    }
    return last;
}

static int by_duration(const void *a, const void *b) {
    const uint64_t first = *(const uint64_t *)a;
    const uint64_t second = *(const uint64_t *)b;
    return first < second ? 1 : first > second ? -1 : 0;
}

/* The time that a node must have taken to be among the `room` longest of a path. */
static uint64_t least_shown(const struct run_view *view, const size_t *path, size_t count,
                            size_t room) {
    CLEANUP(freep) uint64_t *times = count > room ? calloc(count, sizeof *times) : NULL;
    if (times == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        times[i] = view->rows[path[i]].duration_ns;
    }
    qsort(times, count, sizeof *times, by_duration);
    return times[room - 1];
}

static void add_share(const struct run_view *view, size_t index, uint64_t whole_ns,
                      struct buf *out) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    const uint64_t ns = view->rows[index].duration_ns;
    buf_printf(&line, "  %-*s  %10.1f ms  %3.0f %%", (int)view->name_width,
               toolrack_plan_node(view->plan, index), (double)ns / CLOCK_NS_PER_MS,
               whole_ns > 0 ? 100.0 * (double)ns / (double)whole_ns : 0.0);
    add_cut(out, &line, output_width(), STYLE_PLAIN, 0, 0);
}

/* The chain of nodes, each waiting for the one before, that ended last. Nodes that did not run,
 * such as those of an earlier part of the run, took no time of it. */
static void add_critical_path(const struct run_view *view, uint64_t whole_ns, struct buf *out) {
    CLEANUP(freep) size_t *path = calloc(view->count + 1, sizeof *path);
    CLEANUP(buf_finish) struct buf sum = BUF_INIT;
    const size_t height = output_height();
    const size_t room = height > OTHER_LINES ? height - OTHER_LINES : ROWS_MIN;
    size_t last = SIZE_MAX;
    size_t count = 0;
    uint64_t ns = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct row *row = &view->rows[i];
        if (row->began_ns > 0 && row->ended > 0 &&
            (last == SIZE_MAX || row->ended > view->rows[last].ended)) {
            last = i;
        }
    }
    for (; path != NULL && last != SIZE_MAX; last = waited_for(view, last)) {
        if (view->rows[last].began_ns > 0) {
            path[count++] = last;
            ns += view->rows[last].duration_ns;
        }
    }
    if (count == 0) {
        return;
    }
    buf_printf(&sum, "critical path: %zu node%s, ", count, text_plural(count));
    text_add_duration(&sum, ns);
    buf_add_text(&sum, " of ");
    text_add_duration(&sum, whole_ns);
    add_cut(out, &sum, output_width(), STYLE_PLAIN, 0, 0);
    const uint64_t least_ns = least_shown(view, path, count, room);
    size_t shown = 0;
    for (size_t i = count; i-- > 0 && shown < room;) {
        if (view->rows[path[i]].duration_ns >= least_ns) {
            add_share(view, path[i], whole_ns, out);
            shown++;
        }
    }
    if (shown < count) {
        buf_printf(out, "  +%zu shorter\n", count - shown);
    }
}

void run_view_end(struct run_view *view) {
    if (view == NULL) {
        return;
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const uint64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < view->count; i++) { /* the run has ended without them */
        view->rows[i].state = view->rows[i].ended > 0 ? view->rows[i].state : "cancelled";
    }
    (void)draw_unasked(view, now_ns);
    add_critical_path(view, now_ns - view->began_ns, &out);
    if (!out.failed && out.length > 0) {
        (void)write_all(STDOUT_FILENO, out.data, out.length);
    }
    for (size_t i = 0; i < view->count; i++) {
        free(view->rows[i].error);
    }
    lock_finish(&view->lock);
    free(view->rows);
    free(view);
}
