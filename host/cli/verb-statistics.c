/* statistics: counts and times of all calls of tools. */
#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/records.h"

#define MS_PER_S 1000

static const char *const headings[] = {"NAME", "VERSION", "CALLS", "SUCCESS",
                                       "MEAN", "P50",     "P95",   "P99"};

/* ------------------------------------------------------------------- table */

static void add_duration_cell(struct table *table, yyjson_val *row, const char *key) {
    CLEANUP(buf_finish) struct buf cell = BUF_INIT;
    text_add_duration(&cell, rows_number(row, key));
    table_add(table, cell.data);
}

static void add_row(struct table *table, yyjson_val *row) {
    CLEANUP(buf_finish) struct buf cell = BUF_INIT;
    table_add(table, rows_member(row, "tool", NULL));
    table_add(table, rows_member(row, "version", NULL));
    buf_printf(&cell, "%llu", (unsigned long long)rows_number(row, "calls"));
    table_add(table, cell.data);
    buf_clear(&cell);
    buf_printf(&cell, "%.1f %%", 100 * yyjson_get_num(yyjson_obj_get(row, "success_rate")));
    table_add(table, cell.data);
    add_duration_cell(table, row, "mean_ns");
    add_duration_cell(table, row, "p50_ns");
    add_duration_cell(table, row, "p95_ns");
    add_duration_cell(table, row, "p99_ns");
}

/* ----------------------------------------------------------------- one tool */

static void add_time(struct buf *out, const char *label, yyjson_val *time_ms) {
    char text[ROWS_TIME_ROOM];
    rows_add_label(out, label);
    buf_printf(out, "%s\n", rows_time(yyjson_get_sint(time_ms) / MS_PER_S, text));
}

static void add_duration(struct buf *out, const char *label, yyjson_val *ns) {
    if (yyjson_is_uint(ns)) {
        rows_add_label(out, label);
        text_add_duration(out, yyjson_get_uint(ns));
        buf_add_char(out, '\n');
    }
}

/* Of how many calls a mean is; not of all of them. */
static void add_share(struct buf *out, uint64_t calls) {
    buf_printf(out, ", of %llu call%s\n", (unsigned long long)calls, text_plural(calls));
}

static void add_cpu(struct buf *out, yyjson_val *row) {
    yyjson_val *ns = yyjson_obj_get(row, "cpu_ns");
    if (yyjson_is_uint(ns)) {
        rows_add_label(out, "cpu");
        text_add_duration(out, yyjson_get_uint(ns));
        add_share(out, rows_number(row, "cpu_calls"));
    }
}

static void add_memory(struct buf *out, yyjson_val *row) {
    yyjson_val *bytes = yyjson_obj_get(row, "memory");
    if (yyjson_is_uint(bytes)) {
        rows_add_label(out, "memory");
        buf_printf(out, "%llu KiB", (unsigned long long)(yyjson_get_uint(bytes) + 1023) / 1024);
        add_share(out, rows_number(row, "memory_calls"));
    }
}

/* A recommendation does not count these against the tool. */
static void add_hindered(struct buf *out, uint64_t hindered) {
    if (hindered > 0) {
        rows_add_label(out, "hindered");
        buf_printf(out, "%llu, which failed before the tool ran\n", (unsigned long long)hindered);
    }
}

static void add_unlogged(struct buf *out, uint64_t unlogged) {
    if (unlogged > 0) {
        rows_add_label(out, "not logged");
        buf_printf(out, "%llu, because they came faster than the log is written\n",
                   (unsigned long long)unlogged);
    }
}

static void add_error(struct buf *out, yyjson_val *error) {
    const char *message = rows_member(error, "message", NULL);
    if (message != NULL) {
        rows_add_label(out, "last error");
        buf_printf(out, "%s: ", rows_member(error, "type", NULL));
        text_add_line(out, message, strlen(message));
        buf_add_char(out, '\n');
        add_time(out, "  at", yyjson_obj_get(error, "time_ms"));
    }
}

/* Whose numbers they are: a tool of the name and another plugin has its own. */
static void add_plugin(struct buf *out, yyjson_val *row) {
    const char *plugin = rows_member(row, "plugin", NULL);
    const char *origin = rows_member(row, "origin", NULL);
    if (plugin != NULL && origin != NULL) {
        rows_add_label(out, "plugin");
        buf_printf(out, "%s, %s\n", plugin, origin);
    }
}

static void print_one(struct buf *out, yyjson_val *row) {
    buf_printf(out, "%s %s\n", rows_member(row, "tool", NULL), rows_member(row, "version", NULL));
    add_plugin(out, row);
    rows_add_label(out, "calls");
    buf_printf(out, "%llu, %llu of them failed\n", (unsigned long long)rows_number(row, "calls"),
               (unsigned long long)rows_number(row, "failures"));
    add_hindered(out, rows_number(row, "hindered"));
    add_unlogged(out, rows_number(row, "unlogged"));
    add_duration(out, "mean", yyjson_obj_get(row, "mean_ns"));
    add_duration(out, "p50", yyjson_obj_get(row, "p50_ns"));
    add_duration(out, "p95", yyjson_obj_get(row, "p95_ns"));
    add_duration(out, "p99", yyjson_obj_get(row, "p99_ns"));
    add_duration(out, "longest", yyjson_obj_get(row, "max_ns"));
    add_cpu(out, row);
    add_memory(out, row);
    rows_add_label(out, "bytes");
    buf_printf(out, "%llu in, %llu out\n", (unsigned long long)rows_number(row, "bytes_in"),
               (unsigned long long)rows_number(row, "bytes_out"));
    add_time(out, "first", yyjson_obj_get(row, "first_ms"));
    add_time(out, "last", yyjson_obj_get(row, "last_ms"));
    add_error(out, yyjson_obj_get(row, "last_error"));
}

static void print_each(struct cli *cli, yyjson_val *rows) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        buf_add_text(&cli->out, at > 0 ? "\n" : "");
        print_one(&cli->out, row);
    }
    if (count == 0) {
        output_note("no calls have been made");
    }
}

int verb_statistics(struct cli *cli) {
    const struct options *options = &cli->options;
    const char *name = options->words.count > 0 ? options->words.items[0] : NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_statistics(cli->host, name, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (options->json || name == NULL) {
        return rows_print(cli, text,
                          &(struct rows_view){headings, ARRAY_LENGTH(headings), add_row,
                                              "no calls have been made"});
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    print_each(cli, yyjson_doc_get_root(doc));
    return CLI_OK;
}
