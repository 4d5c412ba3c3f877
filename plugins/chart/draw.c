#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "font.h"
#include "scale.h"

#define MARGIN       18.0
#define GAP          8.0
#define TITLE_SIZE   17.0
#define TEXT_SIZE    12.0
#define LINE_HEIGHT  18.0
#define LABEL_MAX    140.0 /* longest label of a place; longer ones are cut */
#define SLANT        (M_PI / 4)
#define PLOT_MIN     40.0 /* what is left for the plot, however long the labels are */
#define TEXT_ROOM    512u
#define BINS_MAX     60u
#define Y_TICK_EVERY 56.0 /* pixels */
#define X_TICK_EVERY 92.0

/* 0xRRGGBB. The colours of the series are told apart by most people who are colour blind. */
#define INK        0x1f2933
#define TEXT       0x52606d
#define GRID       0xe4e7eb
#define BASELINE   0x9aa5b1
#define BACKGROUND 0xffffff
static const unsigned colours[TABLE_SERIES_MAX] = {0x4269d0, 0xefb118, 0xff725c, 0x6cc5b0,
                                                   0x9c6b4e, 0xa463f2, 0x3ca951, 0xff8ab7,
                                                   0x97bbf5, 0x6b7280};

/* Where the plot is, and its axes. */
struct plot {
    cairo_t *cr;
    const struct chart *chart;
    double left, top, right, bottom;
    struct scale x; /* of X_NUMBER and X_TIME */
    struct scale y;
    bool places; /* x is places beside each other, as many as rows */
    double label_width;
    bool slanted;
};

static void set_colour(cairo_t *cr, unsigned colour, double alpha) {
    cairo_set_source_rgba(cr, (colour >> 16) / 255.0, (colour >> 8 & 0xff) / 255.0,
                          (colour & 0xff) / 255.0, alpha);
}

/* ------------------------------------------------------------ text */

static double width_of(cairo_t *cr, const char *text) {
    cairo_text_extents_t extents;
    cairo_text_extents(cr, text, &extents);
    return extents.x_advance;
}

/* A text of one line that is at most so wide; what is cut is told by an ellipsis. */
static void fit(cairo_t *cr, const char *text, double width_max, char ret[static TEXT_ROOM]) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    char whole[TEXT_ROOM];
    utf8_copy(whole, sizeof whole - sizeof ellipsis, text);
    size_t length = strlen(whole);
    bool is_whole = text[length] == '\0';
    utf8_make_line(whole);
    memcpy(ret, whole, length + 1);
    if (is_whole && width_of(cr, ret) <= width_max) {
        return;
    }
    size_t fits = 0;
    for (size_t too_long = length + 1; fits + 1 < too_long;) {
        size_t middle = fits + (too_long - fits) / 2;
        size_t cut = utf8_cut(whole, middle);
        memcpy(ret, whole, cut);
        memcpy(ret + cut, ellipsis, sizeof ellipsis);
        if (width_of(cr, ret) <= width_max) {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    size_t cut = utf8_cut(whole, fits);
    memcpy(ret, whole, cut);
    memcpy(ret + cut, ellipsis, sizeof ellipsis);
}

/* `align` says what part of the text is left of x: 0, 0.5 or 1. */
static void write_at(cairo_t *cr, double x, double y, double align, const char *text) {
    cairo_move_to(cr, x - align * width_of(cr, text), y);
    cairo_show_text(cr, text);
}

static void write_turned(cairo_t *cr, double x, double y, double angle, double align,
                         const char *text) {
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_rotate(cr, angle);
    write_at(cr, 0, 0, align, text);
    cairo_restore(cr);
}

/* ------------------------------------------------------------ what is around the plot */

static void draw_title(struct plot *plot) {
    char text[TEXT_ROOM];
    if (plot->chart->title == NULL || plot->chart->title[0] == '\0') {
        return;
    }
    cairo_set_font_size(plot->cr, TITLE_SIZE);
    set_colour(plot->cr, INK, 1);
    fit(plot->cr, plot->chart->title, plot->chart->width - 2 * MARGIN, text);
    write_at(plot->cr, MARGIN, plot->top + TITLE_SIZE, 0, text);
    cairo_set_font_size(plot->cr, TEXT_SIZE);
    plot->top += TITLE_SIZE + GAP + 6;
}

/* The names of the series in lines, where there are several. */
static void draw_legend(struct plot *plot) {
    const struct table *table = plot->chart->table;
    double x = MARGIN;
    char text[TEXT_ROOM];
    if (table->series_count < 2) {
        return;
    }
    for (size_t i = 0; i < table->series_count; i++) {
        fit(plot->cr, table->series[i].name, plot->chart->width / 2, text);
        double width = 16 + width_of(plot->cr, text) + 18;
        if (x > MARGIN && x + width > plot->chart->width - MARGIN) {
            x = MARGIN;
            plot->top += LINE_HEIGHT;
        }
        set_colour(plot->cr, colours[i], 1);
        cairo_rectangle(plot->cr, x, plot->top + 2, 10, 10);
        cairo_fill(plot->cr);
        set_colour(plot->cr, TEXT, 1);
        write_at(plot->cr, x + 16, plot->top + 11, 0, text);
        x += width;
    }
    plot->top += LINE_HEIGHT + 4;
}

static void draw_axis_names(struct plot *plot) {
    const struct chart *chart = plot->chart;
    char text[TEXT_ROOM];
    set_colour(plot->cr, TEXT, 1);
    if (chart->x_label != NULL && chart->x_label[0] != '\0') {
        fit(plot->cr, chart->x_label, plot->right - plot->left, text);
        write_at(plot->cr, (plot->left + plot->right) / 2, chart->height - MARGIN + 4, 0.5, text);
    }
    if (chart->y_label != NULL && chart->y_label[0] != '\0') {
        fit(plot->cr, chart->y_label, plot->bottom - plot->top, text);
        write_turned(plot->cr, MARGIN + 4, (plot->top + plot->bottom) / 2, -M_PI / 2, 0.5, text);
    }
}

/* ------------------------------------------------------------ the plot's place */

static double y_at(const struct plot *plot, double value) {
    return plot->bottom - scale_at(&plot->y, value) * (plot->bottom - plot->top);
}

static double x_at(const struct plot *plot, double value) {
    return plot->left + scale_at(&plot->x, value) * (plot->right - plot->left);
}

static double place_width(const struct plot *plot) {
    return (plot->right - plot->left) / (double)plot->chart->table->count;
}

static double x_of_row(const struct plot *plot, size_t row) {
    return plot->places ? plot->left + place_width(plot) * ((double)row + 0.5)
                        : x_at(plot, plot->chart->table->x[row]);
}

static double widest_tick(cairo_t *cr, const struct scale *scale) {
    double widest = 0;
    for (size_t i = 0; i < scale->count; i++) {
        widest = fmax(widest, width_of(cr, scale->ticks[i].label));
    }
    return widest;
}

/* How much of the height the labels of places take: slanted where they are too wide to stand side
 * by side. */
static double height_of_places(struct plot *plot) {
    const struct table *table = plot->chart->table;
    char text[TEXT_ROOM];
    for (size_t i = 0; i < table->count; i++) {
        fit(plot->cr, table->labels[i], LABEL_MAX, text);
        plot->label_width = fmax(plot->label_width, width_of(plot->cr, text));
    }
    plot->slanted = plot->label_width > place_width(plot) - 6;
    return plot->slanted ? plot->label_width * sin(SLANT) + TEXT_SIZE + 4 : LINE_HEIGHT;
}

/* Room on each side, and scales that fit into it. `low` and `high` are of the values. */
static void place_plot(struct plot *plot, double low, double high) {
    const struct chart *chart = plot->chart;
    bool has_x_label = chart->x_label != NULL && chart->x_label[0] != '\0';
    bool has_y_label = chart->y_label != NULL && chart->y_label[0] != '\0';
    plot->bottom = chart->height - MARGIN - (has_x_label ? LINE_HEIGHT + 4 : 0) - LINE_HEIGHT;
    scale_numbers(low, high, (size_t)fmax((plot->bottom - plot->top) / Y_TICK_EVERY, 2), true,
                  &plot->y);
    plot->left =
            MARGIN + (has_y_label ? LINE_HEIGHT + 4 : 0) + widest_tick(plot->cr, &plot->y) + GAP;
    plot->right = chart->width - MARGIN;
    plot->left = fmin(plot->left, plot->right - PLOT_MIN);
    if (plot->places) {
        double bottom = plot->bottom + LINE_HEIGHT - height_of_places(plot);
        plot->bottom = fmax(bottom, plot->top + PLOT_MIN);
        /* The first slanted label reaches to the left of its place. */
        double reach = plot->slanted ? plot->label_width * cos(SLANT) + 6 : 0;
        plot->left = fmin(fmax(plot->left, reach), plot->right - PLOT_MIN);
    }
}

/* ------------------------------------------------------------ axes */

static void draw_y_axis(struct plot *plot) {
    cairo_set_line_width(plot->cr, 1);
    for (size_t i = 0; i < plot->y.count; i++) {
        const struct tick *tick = &plot->y.ticks[i];
        double y = floor(y_at(plot, tick->value)) + 0.5;
        set_colour(plot->cr, fabs(tick->value) < 1e-300 ? BASELINE : GRID, 1);
        cairo_move_to(plot->cr, plot->left, y);
        cairo_line_to(plot->cr, plot->right, y);
        cairo_stroke(plot->cr);
        set_colour(plot->cr, TEXT, 1);
        write_at(plot->cr, plot->left - GAP, y + 4, 1, tick->label);
    }
}

static void draw_places(struct plot *plot) {
    const struct table *table = plot->chart->table;
    double least = plot->slanted ? TEXT_SIZE + 4 : 1;
    size_t every = (size_t)fmax(ceil(least / place_width(plot)), 1);
    char text[TEXT_ROOM];
    set_colour(plot->cr, TEXT, 1);
    for (size_t i = 0; i < table->count; i += every) {
        fit(plot->cr, table->labels[i], LABEL_MAX, text);
        if (plot->slanted) {
            write_turned(plot->cr, x_of_row(plot, i) + 4, plot->bottom + TEXT_SIZE + 2, -SLANT, 1,
                         text);
        } else {
            write_at(plot->cr, x_of_row(plot, i), plot->bottom + TEXT_SIZE + 5, 0.5, text);
        }
    }
}

static void draw_x_axis(struct plot *plot) {
    if (plot->places) {
        draw_places(plot);
        return;
    }
    double written_to = 0;
    for (size_t i = 0; i < plot->x.count; i++) {
        const struct tick *tick = &plot->x.ticks[i];
        double x = floor(x_at(plot, tick->value)) + 0.5;
        double half = width_of(plot->cr, tick->label) / 2;
        set_colour(plot->cr, BASELINE, 1);
        cairo_move_to(plot->cr, x, plot->bottom);
        cairo_line_to(plot->cr, x, plot->bottom + 4);
        cairo_stroke(plot->cr);
        if (x - half < written_to) {
            continue; /* it would run into the label before it */
        }
        set_colour(plot->cr, TEXT, 1);
        double at = fmin(x, plot->chart->width - 4 - half);
        write_at(plot->cr, at, plot->bottom + TEXT_SIZE + 6, 0.5, tick->label);
        written_to = at + half + 6;
    }
}

static void scale_x(struct plot *plot, bool round) {
    const struct table *table = plot->chart->table;
    double low = table->x[0];
    double high = table->x[table->count - 1];
    size_t wanted = (size_t)fmax((plot->right - plot->left) / X_TICK_EVERY, 2);
    if (table->kind == X_TIME) {
        double more = round ? (high - low) * 0.02 : 0;
        scale_times(low - more, high + more, wanted, &plot->x);
    } else {
        scale_numbers(low, high, wanted, round, &plot->x);
    }
}

/* ------------------------------------------------------------ bars */

/* The lowest and the highest value, or sum of a place where bars are stacked. */
static void find_bounds(const struct chart *chart, double *ret_low, double *ret_high) {
    const struct table *table = chart->table;
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t row = 0; row < table->count; row++) {
        double below = 0;
        double above = 0;
        for (size_t i = 0; i < table->series_count; i++) {
            double value = table->series[i].values[row];
            if (isnan(value)) {
                continue;
            }
            below += fmin(value, 0);
            above += fmax(value, 0);
            low = fmin(low, chart->stacked ? below : value);
            high = fmax(high, chart->stacked ? above : value);
        }
    }
    *ret_low = low;
    *ret_high = high;
}

static void draw_bar(struct plot *plot, double x, double width, double from, double to,
                     unsigned colour) {
    double a = y_at(plot, from);
    double b = y_at(plot, to);
    set_colour(plot->cr, colour, 1);
    cairo_rectangle(plot->cr, x, fmin(a, b), fmax(width, 0.5), fabs(a - b));
    cairo_fill(plot->cr);
}

static void draw_bars_of_row(struct plot *plot, size_t row) {
    const struct table *table = plot->chart->table;
    size_t beside = plot->chart->stacked ? 1 : table->series_count;
    double band = place_width(plot) * (table->count > 60 ? 0.9 : 0.72);
    double width = fmin(band / (double)beside, 90);
    double left = x_of_row(plot, row) - width * (double)beside / 2;
    double above = 0;
    double below = 0;
    for (size_t i = 0; i < table->series_count; i++) {
        double value = table->series[i].values[row];
        if (isnan(value)) {
            continue;
        }
        double *sum = value < 0 ? &below : &above;
        double from = plot->chart->stacked ? *sum : 0;
        double gap = width > 8 && beside > 1 ? 1 : 0;
        draw_bar(plot, left + (plot->chart->stacked ? 0 : width * (double)i) + gap / 2, width - gap,
                 from, from + value, colours[i]);
        *sum += value;
    }
}

static void draw_bars(struct plot *plot) {
    double low;
    double high;
    plot->places = true;
    find_bounds(plot->chart, &low, &high);
    place_plot(plot, fmin(low, 0), fmax(high, 0));
    draw_y_axis(plot);
    for (size_t row = 0; row < plot->chart->table->count; row++) {
        draw_bars_of_row(plot, row);
    }
    draw_x_axis(plot);
}

/* ------------------------------------------------------------ lines and points */

static void draw_point(struct plot *plot, size_t row, double value, double radius) {
    cairo_arc(plot->cr, x_of_row(plot, row), y_at(plot, value), radius, 0, 2 * M_PI);
    cairo_fill(plot->cr);
}

/* A value beside which there is none is a point, as a line of one point is nothing. */
static bool is_alone(const double *values, size_t count, size_t row) {
    return (row == 0 || isnan(values[row - 1])) && (row + 1 == count || isnan(values[row + 1]));
}

static void draw_line(struct plot *plot, size_t series) {
    const struct table *table = plot->chart->table;
    const double *values = table->series[series].values;
    bool points = table->count <= 40;
    set_colour(plot->cr, colours[series], 1);
    cairo_set_line_width(plot->cr, 2);
    cairo_set_line_join(plot->cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(plot->cr, CAIRO_LINE_CAP_ROUND);
    for (size_t row = 0; row < table->count; row++) {
        if (isnan(values[row])) {
            cairo_new_sub_path(plot->cr);
        } else if (row == 0 || isnan(values[row - 1])) {
            cairo_move_to(plot->cr, x_of_row(plot, row), y_at(plot, values[row]));
        } else {
            cairo_line_to(plot->cr, x_of_row(plot, row), y_at(plot, values[row]));
        }
    }
    cairo_stroke(plot->cr);
    for (size_t row = 0; row < table->count; row++) {
        if (!isnan(values[row]) && (points || is_alone(values, table->count, row))) {
            draw_point(plot, row, values[row], 3);
        }
    }
}

static void draw_lines(struct plot *plot) {
    double low;
    double high;
    plot->places = plot->chart->table->kind == X_CATEGORY;
    find_bounds(plot->chart, &low, &high);
    /* From zero, unless that would press the line flat. */
    place_plot(plot, low > 0 && low < high / 2 ? 0 : low, high);
    if (!plot->places) {
        scale_x(plot, false);
    }
    draw_y_axis(plot);
    draw_x_axis(plot);
    for (size_t i = 0; i < plot->chart->table->series_count; i++) {
        draw_line(plot, i);
    }
}

static void draw_points(struct plot *plot) {
    const struct table *table = plot->chart->table;
    double low;
    double high;
    find_bounds(plot->chart, &low, &high);
    place_plot(plot, low, high);
    scale_x(plot, true);
    draw_y_axis(plot);
    draw_x_axis(plot);
    for (size_t i = 0; i < table->series_count; i++) {
        set_colour(plot->cr, colours[i], table->count > 400 ? 0.45 : 0.75);
        for (size_t row = 0; row < table->count; row++) {
            if (!isnan(table->series[i].values[row])) {
                draw_point(plot, row, table->series[i].values[row], table->count > 400 ? 2.5 : 4);
            }
        }
    }
}

/* ------------------------------------------------------------ histogram */

/* Bins between round numbers. Each has its lower bound in it, the last one both. */
struct bins {
    double counts[BINS_MAX + 2];
    size_t count;
    double first;
    double step;
    double most;
};

static void count_bins(const struct chart *chart, const struct scale *scale, struct bins *ret) {
    const struct series *series = &chart->table->series[0];
    ret->first = scale->low;
    ret->step = scale->count > 1 ? scale->ticks[1].value - scale->ticks[0].value
                                 : scale->high - scale->low;
    ret->count = (size_t)fmin(fmax(round((scale->high - scale->low) / ret->step), 1), BINS_MAX + 1);
    for (size_t row = 0; row < chart->table->count; row++) {
        double value = series->values[row];
        if (!isnan(value)) {
            double at = floor((value - ret->first) / ret->step + 1e-9);
            size_t bin = (size_t)fmin(fmax(at, 0), (double)(ret->count - 1));
            ret->most = fmax(ret->most, ++ret->counts[bin]);
        }
    }
}

static void draw_histogram(struct plot *plot) {
    const struct chart *chart = plot->chart;
    struct bins bins = {.count = 0};
    struct scale edges;
    double low;
    double high;
    find_bounds(chart, &low, &high);
    double usual = ceil(sqrt((double)chart->table->count));
    size_t wanted = chart->bins > 0 ? chart->bins : (size_t)fmin(fmax(usual, 5), 30);
    scale_numbers(low, high, wanted > BINS_MAX ? BINS_MAX : wanted, true, &edges);
    count_bins(chart, &edges, &bins);
    place_plot(plot, 0, bins.most);
    scale_numbers(edges.low, edges.high, (size_t)fmax((plot->right - plot->left) / X_TICK_EVERY, 2),
                  false, &plot->x);
    draw_y_axis(plot);
    for (size_t i = 0; i < bins.count; i++) {
        double from = x_at(plot, bins.first + bins.step * (double)i);
        double to = x_at(plot, bins.first + bins.step * (double)(i + 1));
        draw_bar(plot, from + 0.5, to - from - 1, 0, bins.counts[i], colours[0]);
    }
    draw_x_axis(plot);
}

void draw_chart(cairo_t *cr, const struct chart *chart) {
    struct plot plot = {.cr = cr, .chart = chart, .top = MARGIN};
    font_use(cr);
    cairo_set_font_size(cr, TEXT_SIZE);
    set_colour(cr, BACKGROUND, 1);
    cairo_paint(cr);
    draw_title(&plot);
    draw_legend(&plot);
    switch (chart->kind) {
    case CHART_BAR: draw_bars(&plot); break;
    case CHART_LINE: draw_lines(&plot); break;
    case CHART_SCATTER: draw_points(&plot); break;
    case CHART_HISTOGRAM: draw_histogram(&plot); break;
    }
    draw_axis_names(&plot);
}
