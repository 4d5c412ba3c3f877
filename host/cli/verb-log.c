/* log: the calls so far, and with --follow each new one. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/records.h"

#define NS_PER_MS      1000000
#define MS_PER_S       1000
/* How often --follow reads the log, and how many calls it reads at once. */
#define FOLLOW_MS      200
#define FOLLOW_AT_ONCE 100000u

static const char *const headings[] = {"ID",       "TIME", "TOOL", "RESULT",
                                       "DURATION", "IN",   "OUT",  "DETAIL"};

/* ------------------------------------------------------------------ filter */

/* Read a day, or a moment, in local time; with a Z at the end in UTC. */
static bool read_time(const char *text, int64_t *ret_ms) {
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
                                        "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"};
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        struct tm parts = {.tm_isdst = -1};
        const char *end = strptime(text, forms[i], &parts);
        bool utc = end != NULL && strcmp(end, "Z") == 0;
        if (end != NULL && (utc || *end == '\0')) {
            *ret_ms = (int64_t)(utc ? timegm(&parts) : mktime(&parts)) * MS_PER_S;
            return true;
        }
    }
    return false;
}

static int read_since(struct cli *cli, int64_t *ret_ms) {
    const char *text = cli->options.since;
    uint32_t seconds;
    if (text == NULL || read_time(text, ret_ms)) {
        return 0;
    }
    if (!options_duration(text, &seconds)) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--since takes a duration such as 30s, 10m, 2h or 7d, or a time such as "
                         "2026-01-31 or 2026-01-31T18:00, not \"%s\"",
                         text);
    }
    *ret_ms = (clock_wall_s() - seconds) * MS_PER_S;
    return 0;
}

/* -------------------------------------------------------------------- rows */

static const char *member(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

/* The text beside the numbers: why the call failed, or its arguments. */
static const char *detail(yyjson_val *call) {
    const char *message = member(yyjson_obj_get(call, "error"), "message");
    return message != NULL ? message : member(call, "arguments");
}

static const char *outcome(yyjson_val *call) {
    const char *type = member(yyjson_obj_get(call, "error"), "type");
    return yyjson_is_true(yyjson_obj_get(call, "ok")) ? "ok" : type != NULL ? type : "failed";
}

/* All cells of a row except the last, one after the other, each with its final zero. */
static void add_cells(struct buf *out, yyjson_val *call) {
    char time[ROWS_TIME_ROOM];
    int64_t time_ms = yyjson_get_sint(yyjson_obj_get(call, "time_ms"));
    buf_printf(out, "%llu%c", (unsigned long long)rows_number(call, "id"), '\0');
    buf_printf(out, "%s.%03d%c", rows_time(time_ms / MS_PER_S, time), (int)(time_ms % MS_PER_S),
               '\0');
    buf_printf(out, "%s@%s%c", member(call, "tool"), member(call, "version"), '\0');
    buf_printf(out, "%s%c", outcome(call), '\0');
    text_add_duration(out, rows_number(call, "duration_ns"));
    buf_add_char(out, '\0');
    buf_printf(out, "%llu%c", (unsigned long long)rows_number(call, "bytes_in"), '\0');
    buf_printf(out, "%llu%c", (unsigned long long)rows_number(call, "bytes_out"), '\0');
}

static void add_row(struct table *table, yyjson_val *call) {
    CLEANUP(buf_finish) struct buf cells = BUF_INIT;
    add_cells(&cells, call);
    const char *at = cells.failed ? NULL : cells.data;
    for (size_t i = 0; i + 1 < ARRAY_LENGTH(headings); i++) {
        table_add(table, at);
        at = at != NULL ? at + strlen(at) + 1 : NULL;
    }
    table_add(table, detail(call));
}

/* ------------------------------------------------------------------ follow */

static void add_line(struct buf *out, yyjson_val *call) {
    static const int widths[] = {6, 23, 24, 20, 9, 7, 7};
    CLEANUP(buf_finish) struct buf cells = BUF_INIT;
    add_cells(&cells, call);
    const char *at = cells.failed ? NULL : cells.data;
    for (size_t i = 0; at != NULL && i < ARRAY_LENGTH(widths); i++) {
        buf_printf(out, "%-*s ", widths[i], at);
        at += strlen(at) + 1;
    }
    const char *text = detail(call);
    text_add_line(out, text != NULL ? text : "-", text != NULL ? strlen(text) : 1);
    buf_add_char(out, '\n');
}

static void add_json_line(struct buf *out, yyjson_val *call) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_val_write(call, YYJSON_WRITE_NOFLAG, &length);
    out->failed = out->failed || text == NULL;
    buf_add(out, text != NULL ? text : "", length);
    buf_add_char(out, '\n');
}

/* Print the calls that are new. */
static int print_new(struct cli *cli, struct toolrack_log_filter *filter) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    int code = toolrack_log(cli->host, filter, &text, cli->err);
    if (code < 0) {
        return code;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, call) {
        (cli->options.json ? add_json_line : add_line)(&lines, call);
        filter->after_id = rows_number(call, "id");
    }
    filter->limit = FOLLOW_AT_ONCE;
    int failed = doc == NULL || lines.failed
                         ? -ENOMEM
                         : output_write(STDOUT_FILENO, lines.data, lines.length);
    return failed == 0 ? 0
                       : cli_error(cli, TOOLRACK_E_IO, "cannot write to standard output: %s",
                                   strerror(-failed));
}

static int follow(struct cli *cli, struct toolrack_log_filter *filter) {
    const struct timespec pause = {.tv_nsec = (long)FOLLOW_MS * NS_PER_MS};
    sigset_t signals;
    sigset_t before;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
    output_note("waiting for calls; Ctrl-C ends");
    int code;
    do {
        code = print_new(cli, filter);
    } while (code == 0 && sigtimedwait(&signals, NULL, &pause) < 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int verb_log(struct cli *cli) {
    const struct options *options = &cli->options;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.tool = options->tool;
    filter.errors = options->errors;
    filter.limit = options->limit;
    int code = read_since(cli, &filter.since_ms);
    if (code < 0) {
        return cli_fail_usage(cli);
    }
    code = options->follow ? follow(cli, &filter)
                           : toolrack_log(cli->host, &filter, &text, cli->err);
    if (code < 0 || options->follow) {
        return code < 0 ? cli_fail(cli) : CLI_OK;
    }
    return rows_print(cli, text,
                      &(struct rows_view){headings, ARRAY_LENGTH(headings), add_row,
                                          "no matching calls in the log"});
}
