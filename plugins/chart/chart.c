/* chart - bar, line and scatter charts and histograms of rows, as PNG or SVG, on cairo.
 *
 * An SVG has texts as outlines of their letters, so that no text of a caller is a part of its
 * markup, and it looks the same without the font. */
#include <toolrack/plugin.h>

#include <math.h>
#include <string.h>

#include <cairo-svg.h>
#include <cairo.h>
#include <yyjson.h>

#include "base/buf.h"
#include "draw.h"
#include "font.h"
#include "table.h"

/* Places with labels that can be told apart, of bars and of lines. */
#define BARS_MAX   500u
#define PLACES_MAX 2000u

static tr_status open_chart(struct tr_host *host) {
    const char *path = tr_host_config(host, "font", NULL);
    if (path != NULL && path[0] != '/') {
        return tr_host_fail(host, "font must be an absolute path, not \"%s\"", path);
    }
    const char *why = font_open(path);
    return why == NULL ? TR_OK : tr_host_fail(host, "font %s: %s", path == NULL ? "" : path, why);
}

/* ------------------------------------------------------------ pictures */

static cairo_status_t add_bytes(void *user, const unsigned char *data, unsigned length) {
    struct buf *buf = user;
    buf_add(buf, data, length);
    return buf->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static cairo_status_t draw_on(cairo_surface_t *surface, const struct chart *chart) {
    cairo_t *cr = cairo_create(surface);
    draw_chart(cr, chart);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    return status;
}

static cairo_status_t make_png(const struct chart *chart, struct buf *out) {
    cairo_surface_t *surface =
            cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)chart->width, (int)chart->height);
    cairo_status_t status = draw_on(surface, chart);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_write_to_png_stream(surface, add_bytes, out);
    }
    cairo_surface_destroy(surface);
    return status;
}

/* cairo 1.16 numbers the surfaces of a process: the same chart is to be the same text each time. */
static void drop_surface_numbers(struct buf *svg) {
    static const char mark[] = "<g id=\"surface";
    char *at = svg->data == NULL ? NULL : strstr(svg->data, mark);
    for (; at != NULL; at = strstr(at, mark)) {
        at += strlen(mark);
        size_t digits = strspn(at, "0123456789");
        memmove(at, at + digits, strlen(at + digits) + 1);
        svg->length -= digits;
    }
}

static cairo_status_t make_svg(const struct chart *chart, struct buf *out) {
    cairo_surface_t *surface =
            cairo_svg_surface_create_for_stream(add_bytes, out, chart->width, chart->height);
    cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    cairo_status_t status = draw_on(surface, chart);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_status(surface);
    }
    cairo_surface_destroy(surface);
    drop_surface_numbers(out);
    return status;
}

/* ------------------------------------------------------------ replies */

static const char *name_of(enum chart_kind kind) {
    static const char *const names[] = {"bar chart", "line chart", "scatter chart", "histogram"};
    return names[kind];
}

/* What is on the picture in words, for those who do not see it. */
static void describe(const struct chart *chart, struct buf *out) {
    const struct table *table = chart->table;
    buf_printf(out, "%s, %.0f x %.0f, %zu rows:", name_of(chart->kind), chart->width, chart->height,
               table->count);
    for (size_t i = 0; i < table->series_count; i++) {
        double low = INFINITY;
        double high = -INFINITY;
        for (size_t row = 0; row < table->count; row++) {
            low = fmin(low, table->series[i].values[row]);
            high = fmax(high, table->series[i].values[row]);
        }
        buf_printf(out, "%s %.64s from %g to %g", i > 0 ? "," : "", table->series[i].name, low,
                   high);
    }
}

/* The first text of a chart that the font cannot write. */
static bool has_all_letters(const struct chart *chart, unsigned *ret_missing) {
    const struct table *table = chart->table;
    const char *const texts[] = {chart->title, chart->x_label, chart->y_label};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i] != NULL && !font_has(texts[i], ret_missing)) {
            return false;
        }
    }
    for (size_t i = 0; table->series_count > 1 && i < table->series_count; i++) {
        if (!font_has(table->series[i].name, ret_missing)) {
            return false;
        }
    }
    for (size_t i = 0; table->kind == X_CATEGORY && table->labels != NULL && i < table->count;
         i++) {
        if (!font_has(table->labels[i], ret_missing)) {
            return false;
        }
    }
    return true;
}

static tr_status reply_chart(struct tr_call *call, const struct chart *chart, bool svg) {
    struct buf picture = BUF_INIT;
    struct buf text = BUF_INIT;
    unsigned missing;
    cairo_status_t made = svg ? make_svg(chart, &picture) : make_png(chart, &picture);
    describe(chart, &text);
    if (!has_all_letters(chart, &missing)) {
        buf_printf(&text,
                   "; the font has no character U+%04X: an administrator can name another one in "
                   "the plugin's setting \"font\"",
                   missing);
    }
    tr_status status;
    if (made != CAIRO_STATUS_SUCCESS || picture.failed || text.failed) {
        status = tr_fail(call, TR_FAILED, NULL, "cairo cannot draw it: %s",
                         cairo_status_to_string(made));
    } else if (svg) {
        status = tr_reply_text(call, picture.data);
    } else {
        status = tr_reply_image(call, picture.data, picture.length, "image/png");
        status = status == TR_OK ? tr_reply_text(call, text.data) : status;
    }
    buf_finish(&picture);
    buf_finish(&text);
    return status;
}

/* ------------------------------------------------------------ the tools */

static bool read_chart(struct tr_call *call, yyjson_val *arguments, struct chart *chart,
                       struct table *table) {
    static const enum x_wanted wanted[] = {WANT_CATEGORY, WANT_ANY, WANT_SCALE, WANT_NONE};
    chart->title = yyjson_get_str(yyjson_obj_get(arguments, "title"));
    chart->x_label = yyjson_get_str(yyjson_obj_get(arguments, "x_label"));
    chart->y_label = yyjson_get_str(yyjson_obj_get(arguments, "y_label"));
    chart->width = (double)tr_get_i64(call, "width", 800);
    chart->height = (double)tr_get_i64(call, "height", 480);
    chart->stacked = tr_get_bool(call, "stacked", false);
    chart->bins = (size_t)tr_get_u64(call, "bins", 0);
    chart->table = table;
    if (!table_read(call, arguments, wanted[chart->kind], table)) {
        return false;
    }
    size_t most = chart->kind == CHART_BAR ? BARS_MAX : PLACES_MAX;
    if (chart->kind != CHART_HISTOGRAM && table->kind == X_CATEGORY && table->count > most) {
        (void)tr_fail(call, TR_LIMIT_EXCEEDED, "rows",
                      "at most %zu rows with labels stand beside each other; aggregate them first",
                      most);
        return false;
    }
    return true;
}

static tr_status run_chart(struct tr_call *call, enum chart_kind kind) {
    const char *text = tr_arguments(call);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    if (doc == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "out of memory");
    }
    struct chart chart = {.kind = kind};
    struct table table;
    tr_status status = TR_FAILED;
    if (read_chart(call, yyjson_doc_get_root(doc), &chart, &table)) {
        status =
                reply_chart(call, &chart, strcmp(tr_get_string(call, "format", "png"), "svg") == 0);
    }
    yyjson_doc_free(doc);
    return status;
}

static tr_status chart_bar(struct tr_call *call) {
    return run_chart(call, CHART_BAR);
}

static tr_status chart_line(struct tr_call *call) {
    return run_chart(call, CHART_LINE);
}

static tr_status chart_scatter(struct tr_call *call) {
    return run_chart(call, CHART_SCATTER);
}

static tr_status chart_histogram(struct tr_call *call) {
    return run_chart(call, CHART_HISTOGRAM);
}

/* clang-format off */
#define ROWS \
    "\"rows\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":20000,\"description\":\"The rows: each an array of cells in the order of columns, or an object with the columns as keys\"," \
    "\"items\":{\"type\":[\"array\",\"object\"],\"items\":{\"type\":[\"string\",\"number\",\"boolean\",\"null\"]}}}," \
    "\"columns\":{\"type\":\"array\",\"maxItems\":256,\"items\":{\"type\":\"string\"},\"description\":\"Names of the columns of rows that are arrays, as csv and sqlite tools give them; without, they are 1, 2, 3\"},"
#define Y \
    "\"y\":{\"type\":[\"string\",\"array\"],\"minItems\":1,\"maxItems\":10,\"items\":{\"type\":\"string\"},\"description\":\"Column or columns to draw, each a series; without, all others that have numbers\"},"
#define LOOK \
    "\"title\":{\"type\":\"string\",\"maxLength\":300,\"description\":\"Text above the chart\"}," \
    "\"x_label\":{\"type\":\"string\",\"maxLength\":300,\"description\":\"Text below the axis\"}," \
    "\"y_label\":{\"type\":\"string\",\"maxLength\":300,\"description\":\"Text beside the axis\"}," \
    "\"width\":{\"type\":\"integer\",\"minimum\":200,\"maximum\":4000,\"default\":800,\"description\":\"In pixels\"}," \
    "\"height\":{\"type\":\"integer\",\"minimum\":150,\"maximum\":4000,\"default\":480,\"description\":\"In pixels\"}," \
    "\"format\":{\"enum\":[\"png\",\"svg\"],\"default\":\"png\",\"description\":\"png: an image to look at; svg: its text, to be written to a file\"}"
#define SCHEMA_OF(x) "{\"type\":\"object\",\"properties\":{" ROWS x LOOK "},\"required\":[\"rows\"],\"additionalProperties\":false}"

TR_JSON_TOOL(chart_bar,
    ("Draw a bar chart of rows: one place for each row, with one bar for each series. Use it to compare "
     "categories; for values over time, chart_line.",
     .title = "Bar chart", .category = "data", .tags = "chart,plot,bar,graph,diagram,image,png,svg",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"columns": ["fruit", "sold"], "rows": [["apples", 12], ["pears", 7]],
                                       "title": "Fruit sold"}), NULL))),
    SCHEMA_OF("\"x\":{\"type\":\"string\",\"description\":\"Column with the labels of the bars; without, the first\"}," Y
        "\"stacked\":{\"type\":\"boolean\",\"default\":false,\"description\":\"Put the series one upon the other\"},"))

TR_JSON_TOOL(chart_line,
    ("Draw a line chart of rows, with one line for each series. The x axis is a scale if all its values are "
     "numbers or dates (YYYY-MM-DD, perhaps with a time), and else has a place for each row. null is a gap.",
     .title = "Line chart", .category = "data", .tags = "chart,plot,line,graph,diagram,image,png,svg,time,trend",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"columns": ["day", "visits"],
                                       "rows": [["2025-01-01", 10], ["2025-01-02", 14], ["2025-01-04", 9]]}), NULL))),
    SCHEMA_OF("\"x\":{\"type\":\"string\",\"description\":\"Column of the x axis; without, the first\"}," Y))

TR_JSON_TOOL(chart_scatter,
    ("Draw a scatter chart of rows: a point for each row and series, to see how two numbers depend on each other.",
     .title = "Scatter chart", .category = "data", .tags = "chart,plot,scatter,points,correlation,image,png,svg",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"columns": ["height", "weight"], "rows": [[1.7, 65], [1.8, 80], [1.6, 58]]}), NULL))),
    SCHEMA_OF("\"x\":{\"type\":\"string\",\"description\":\"Column of the x axis, numbers or dates; without, the first\"}," Y))

TR_JSON_TOOL(chart_histogram,
    ("Draw a histogram: how many values of a column are in each of some intervals of the same width.",
     .title = "Histogram", .category = "data", .tags = "chart,plot,histogram,distribution,image,png,svg",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"rows": [[1], [2], [2], [3], [7]]}), NULL))),
    SCHEMA_OF("\"x\":{\"type\":\"string\",\"description\":\"Column of the values; without, the first\"},"
        "\"bins\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":60,\"description\":\"About how many intervals; their bounds are round numbers\"},"))

TR_PLUGIN(("chart", .description = "Draws bar, line and scatter charts and histograms", .vendor = "toolrack",
           .license = "MIT", .open = open_chart, .close = font_close,
           TR_CAPABILITIES(TR_MAY_READ("${setting:font}"))),
          "1.0.0", chart_bar, chart_line, chart_scatter, chart_histogram)
