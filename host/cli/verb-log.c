/* log: the calls so far, with --follow each new one, with an id one call. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/id.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/records.h"

#define NS_PER_MS      1000000
#define MS_PER_S       1000
/* How often --follow reads the log, and how many calls it reads at once. */
#define FOLLOW_MS      200
#define FOLLOW_AT_ONCE 100000u

static const char result_heading[] = "RESULT";
static const char *const headings[] = {"ID",       "TIME", "TOOL", result_heading,
                                       "DURATION", "IN",   "OUT",  "DETAIL"};

/* ----------------------------------------------------------------- outcome */

/* The codes with which a call may end. */
static const int codes[] = {
#define CODE(constant, value, name, recoverable) TOOLRACK_E_##constant,
        TOOLRACK_CODES(CODE)
#undef CODE
};

/* Append the outcomes that a word of --exit means. False: it means none. */
static bool add_outcomes(struct buf *out, const char *word, size_t length) {
    char *end = NULL;
    long number = strtol(word, &end, 10);
    bool is_exit = length > 0 && end == word + length;
    bool is_failed = length == strlen("failed") && strncasecmp(word, "failed", length) == 0;
    bool is_ok = length == strlen("ok") && strncasecmp(word, "ok", length) == 0;
    bool found = is_ok || (is_exit && number == CLI_OK);
    if (found) {
        buf_add_text(out, "ok,");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
        const char *name = toolrack_code_name(codes[i]);
        if (is_failed || (is_exit && cli_exit_of(codes[i]) == number) ||
            (strlen(name) == length && strncasecmp(name, word, length) == 0)) {
            buf_printf(out, "%s,", name);
            found = true;
        }
    }
    return found;
}

static int read_outcomes(struct cli *cli, struct buf *ret) {
    const char *at = cli->options.outcome;
    while (at != NULL) {
        size_t length = strcspn(at, ",");
        if (!add_outcomes(ret, at, length)) {
            return cli_error(cli, TOOLRACK_E_INVALID,
                             "--exit takes ok, failed, the type of an error such as Timeout or "
                             "InvalidArguments, or an exit code, not \"%.*s\"",
                             (int)length, at);
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return ret->failed ? cli_oom(cli) : 0;
}

/* -------------------------------------------------------------------- rows */

/* Append why the call failed, with the field at fault; or its arguments. */
static void add_detail(struct buf *out, yyjson_val *call) {
    yyjson_val *error = yyjson_obj_get(call, "error");
    const char *message = rows_text(error, "message");
    const char *field = rows_text(error, "field");
    if (message == NULL) {
        buf_add_text(out, rows_member(call, "arguments", "-"));
    } else {
        buf_printf(out, "%s%s%s", field != NULL ? field : "", field != NULL ? ": " : "", message);
    }
}

static const char *outcome(yyjson_val *call) {
    const char *type = rows_text(yyjson_obj_get(call, "error"), "type");
    return yyjson_is_true(yyjson_obj_get(call, "ok")) ? "ok" : type != NULL ? type : "failed";
}

/* All cells of a row except the last, one after the other, each with its final zero. */
static void add_cells(struct buf *out, yyjson_val *call) {
    char time[ROWS_TIME_ROOM];
    int64_t time_ms = yyjson_get_sint(yyjson_obj_get(call, "time_ms"));
    buf_printf(out, "%llu%c", (unsigned long long)rows_number(call, "id"), '\0');
    buf_printf(out, "%s.%03d%c", rows_time(time_ms / MS_PER_S, time), (int)(time_ms % MS_PER_S),
               '\0');
    buf_printf(out, "%s@%s%c", rows_text(call, "tool"), rows_text(call, "version"), '\0');
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
        if (headings[i] == result_heading && !yyjson_is_true(yyjson_obj_get(call, "ok"))) {
            table_emphasize(table, STYLE_BAD);
        }
        at = at != NULL ? at + strlen(at) + 1 : NULL;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_detail(&text, call);
    table_add(table, text.failed ? NULL : text.data);
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
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_detail(&text, call);
    text_add_line(out, text.failed ? "" : text.data, text.length);
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
        uint64_t id = rows_number(call, "id");
        filter->after_id = id > filter->after_id ? id : filter->after_id;
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

/* --------------------------------------------------------------- one call */

static void add_lines(struct buf *out, const char *label, yyjson_val *lines) {
    size_t at;
    size_t count;
    yyjson_val *line;
    yyjson_arr_foreach (lines, at, count, line) {
        rows_add_line(out, at == 0 ? label : "", yyjson_get_str(line));
    }
}

static void add_duration(struct buf *out, const char *label, yyjson_val *ns) {
    if (yyjson_is_uint(ns)) {
        rows_add_label(out, label);
        text_add_duration(out, yyjson_get_uint(ns));
        buf_add_char(out, '\n');
    }
}

static void add_bytes(struct buf *out, const char *label, yyjson_val *bytes) {
    if (yyjson_is_uint(bytes)) {
        rows_add_label(out, label);
        buf_printf(out, "%llu bytes\n", (unsigned long long)yyjson_get_uint(bytes));
    }
}

static void add_changes(struct buf *out, yyjson_val *changed) {
    size_t at;
    size_t count;
    yyjson_val *change;
    yyjson_arr_foreach (changed, at, count, change) {
        rows_add_label(out, "changed");
        buf_printf(out, "%s: %s\n", rows_member(change, "field", ""),
                   rows_member(change, "change", ""));
    }
}

static void print_call(struct cli *cli, yyjson_val *call) {
    static const char *const keys[] = {"plugin",       "caller", "channel",
                                       "conversation", "trace",  "run"};
    struct buf *out = &cli->out;
    yyjson_val *error = yyjson_obj_get(call, "error");
    char time[ROWS_TIME_ROOM];
    int64_t time_ms = yyjson_get_sint(yyjson_obj_get(call, "time_ms"));
    cli_style(cli, STYLE_HEADING);
    buf_printf(out, "call %llu of %s %s", (unsigned long long)rows_number(call, "id"),
               rows_member(call, "tool", ""), rows_member(call, "version", ""));
    cli_style(cli, STYLE_PLAIN);
    buf_add_text(out, "\n\n");
    rows_add_label(out, "time");
    buf_printf(out, "%s.%03d\n", rows_time(time_ms / MS_PER_S, time), (int)(time_ms % MS_PER_S));
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        rows_add_line(out, keys[i], rows_text(call, keys[i]));
    }
    rows_add_line(out, "outcome", outcome(call));
    rows_add_line(out, "field", rows_text(error, "field"));
    rows_add_line(out, "error", rows_text(error, "message"));
    add_lines(out, "backtrace", yyjson_obj_get(error, "trace"));
    add_duration(out, "duration", yyjson_obj_get(call, "duration_ns"));
    add_duration(out, "cpu", yyjson_obj_get(call, "cpu_ns"));
    add_bytes(out, "memory", yyjson_obj_get(call, "memory"));
    add_bytes(out, "in", yyjson_obj_get(call, "bytes_in"));
    add_bytes(out, "out", yyjson_obj_get(call, "bytes_out"));
    rows_add_line(out, "arguments", rows_text(call, "arguments"));
    add_changes(out, yyjson_obj_get(call, "changed"));
    rows_add_line(out, "result", rows_text(call, "result"));
}

static int show_call(struct cli *cli, const struct toolrack_text *text, const char *id) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *call = NULL;
    if (id_find(yyjson_doc_get_root(doc), "id", id, &call, cli->own) < 0) {
        return cli_fail_usage(cli);
    }
    if (call == NULL) {
        (void)cli_error(cli, TOOLRACK_E_NOT_FOUND,
                        "there is no call %s in the log, or a filter hides it", id);
        return cli_fail(cli);
    }
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_begin();
        return json_print(cli, copy, yyjson_val_mut_copy(copy, call));
    }
    print_call(cli, call);
    return CLI_OK;
}

int verb_log(struct cli *cli) {
    const struct options *options = &cli->options;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf outcomes = BUF_INIT;
    filter.tool = options->tool;
    filter.errors = options->errors;
    filter.limit = options->limit;
    filter.caller = options->caller;
    filter.conversation = options->conversation;
    filter.trace = options->trace;
    filter.id = options->words.count > 0 ? options->words.items[0] : NULL;
    int code = cli_since(cli, &filter.since_ms);
    code = code < 0 ? code : read_outcomes(cli, &outcomes);
    if (code == 0 && filter.id != NULL && options->follow) {
        code = cli_error(cli, TOOLRACK_E_INVALID, "--follow takes no id");
    }
    if (code < 0) {
        return cli_fail_usage(cli);
    }
    filter.outcomes = options->outcome != NULL ? outcomes.data : NULL;
    code = options->follow ? follow(cli, &filter)
                           : toolrack_log(cli->host, &filter, &text, cli->err);
    if (code < 0 || options->follow) {
        return code < 0 ? cli_fail_usage(cli) : CLI_OK;
    }
    if (filter.id != NULL) {
        return show_call(cli, text, filter.id);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = "no matching calls in the log"});
}
