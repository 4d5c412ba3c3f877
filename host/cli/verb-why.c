/* why, release: explain a plugin's state, and end its quarantine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/id.h"
#include "cli/json.h"
#include "cli/rows.h"

/* Lines that a plugin may have written, indented and escaped. */
static void add_lines(struct buf *out, const char *text) {
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        buf_add_text(out, "    ");
        text_add_line(out, text, length);
        buf_add_char(out, '\n');
        text += length + (text[length] == '\n');
    }
}

/* As all that people are shown, in local time; `room` is for the text. */
static const char *time_of(yyjson_val *object, char room[ROWS_TIME_ROOM]) {
    yyjson_val *time_ms = yyjson_obj_get(object, "time_ms");
    return yyjson_is_int(time_ms) ? rows_time(yyjson_get_sint(time_ms) / 1000, room)
                                  : rows_member(object, "time", "");
}

static void add_crash(struct buf *out, yyjson_val *crash) {
    char time[ROWS_TIME_ROOM];
    yyjson_val *lines = yyjson_obj_get(crash, "last_lines");
    /* A worker that was ended for its CPU time has not crashed. */
    buf_printf(out, "%s%s %llu of %s\n", out->length > 0 ? "\n" : "",
               yyjson_is_true(yyjson_obj_get(crash, "stopped")) ? "stop" : "crash",
               (unsigned long long)rows_number(crash, "id"), time_of(crash, time));
    rows_add_line(out, "tool", rows_text(crash, "tool"));
    rows_add_line(out, "version", rows_text(crash, "version"));
    rows_add_line(out, "signal", rows_text(crash, "signal"));
    rows_add_line(out, "reason", rows_text(crash, "reason"));
    rows_add_line(out, "build id", rows_text(crash, "build_id"));
    rows_add_line(out, "arguments", rows_text(crash, "arguments_hash"));
    const char *backtrace = rows_text(crash, "backtrace");
    if (backtrace != NULL && backtrace[0] != '\0') {
        buf_add_text(out, "backtrace\n");
        add_lines(out, backtrace);
    }
    if (yyjson_arr_size(lines) > 0) {
        buf_add_text(out, "last lines\n");
    }
    size_t at;
    size_t count;
    yyjson_val *line;
    yyjson_arr_foreach (lines, at, count, line) {
        add_lines(out, yyjson_get_str(line));
    }
}

/* ------------------------------------------------------------------ changes */

/* Bytes of the line at `text`, its end included. */
static size_t line_length(const char *text) {
    size_t length = strcspn(text, "\n");
    return length + (text[length] == '\n');
}

static bool same_line(const char *a, const char *b) {
    size_t length = strcspn(a, "\n");
    return length == strcspn(b, "\n") && memcmp(a, b, length) == 0;
}

/* Cut the lines that two texts share at their ends. */
static void cut_shared_end(const char *a, size_t *a_length, const char *b, size_t *b_length) {
    while (*a_length > 0 && *b_length > 0) {
        size_t a_start = *a_length - 1;
        size_t b_start = *b_length - 1;
        while (a_start > 0 && a[a_start - 1] != '\n') {
            a_start--;
        }
        while (b_start > 0 && b[b_start - 1] != '\n') {
            b_start--;
        }
        if (*a_length - a_start != *b_length - b_start ||
            memcmp(a + a_start, b + b_start, *a_length - a_start) != 0) {
            return;
        }
        *a_length = a_start;
        *b_length = b_start;
    }
}

/* Append lines of a text, each after a sign. */
static void add_signed_lines(struct buf *out, char sign, const char *text, size_t length) {
    while (length > 0) {
        size_t line = strcspn(text, "\n");
        line = line < length ? line : length;
        buf_printf(out, "  %c ", sign);
        text_add_escaped(out, text, line);
        buf_add_char(out, '\n');
        line += line < length;
        text += line;
        length -= line;
    }
}

/* The lines that differ: without those that both texts share at the beginning and at the end. */
static void add_difference(struct buf *out, const char *approved, const char *now) {
    while (*approved != '\0' && *now != '\0' && same_line(approved, now)) {
        approved += line_length(approved);
        now += line_length(now);
    }
    size_t approved_length = strlen(approved);
    size_t now_length = strlen(now);
    cut_shared_end(approved, &approved_length, now, &now_length);
    add_signed_lines(out, '-', approved, approved_length);
    add_signed_lines(out, '+', now, now_length);
}

/* A schema on several lines, so that each change is on a separate line; any other text unchanged.
 * To be freed. */
static char *spread(const char *text) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    char *pretty = yyjson_is_ctn(yyjson_doc_get_root(doc))
                           ? yyjson_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, NULL)
                           : NULL;
    return pretty != NULL ? pretty : strdup(text);
}

static void add_change(struct buf *out, const char *field, yyjson_val *change) {
    const char *approved = rows_text(change, "approved");
    const char *now = rows_text(change, "now");
    if (approved == NULL || now == NULL) {
        return;
    }
    CLEANUP(freep) char *before = spread(approved);
    CLEANUP(freep) char *after = spread(now);
    if (before == NULL || after == NULL) {
        out->failed = true;
        return;
    }
    buf_add_char(out, '\n');
    for (; *field != '\0'; field++) {
        buf_add_char(out, *field == '_' ? ' ' : *field);
    }
    buf_add_text(out, ": changed since it was approved\n");
    /* Equal values that are written differently. */
    bool is_form = strcmp(before, after) == 0;
    add_difference(out, is_form ? approved : before, is_form ? now : after);
}

/* -------------------------------------------------------------------- whole */

/* Digits of a content's hash that are shown to people. */
#define HASH_SHOWN 16

/* Append the current generation and its content. */
static void add_content(struct buf *out, yyjson_val *root) {
    char text[64];
    const char *sha256 = rows_text(root, "sha256");
    (void)snprintf(text, sizeof text, "%llu%s%.*s%s",
                   (unsigned long long)rows_number(root, "generation"),
                   sha256 != NULL ? ", content " : "", HASH_SHOWN, sha256 != NULL ? sha256 : "",
                   yyjson_get_bool(yyjson_obj_get(root, "rolled_back")) ? " (rolled back)" : "");
    rows_add_line(out, "generation", text);
}

static void add_retired(struct buf *out, yyjson_val *retired) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *cause = rows_text(retired, "cause");
    buf_printf(&text, "%llu, %s%s%s", (unsigned long long)rows_number(retired, "generation"),
               rows_text(retired, "state"), cause != NULL ? ": " : "", cause != NULL ? cause : "");
    rows_add_line(out, "earlier", text.data);
}

static void add_refused(struct buf *out, yyjson_val *refused) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *fix = rows_text(refused, "fix");
    buf_printf(&text, "%s%s%s", rows_text(refused, "reason"), fix != NULL ? "; " : "",
               fix != NULL ? fix : "");
    rows_add_line(out, "refused", text.data);
}

static void for_each(struct buf *out, yyjson_val *list,
                     void (*add)(struct buf *out, yyjson_val *item)) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (list, at, count, item) {
        add(out, item);
    }
}

/* Append the default version, if one was set. */
static void add_default(struct buf *out, yyjson_val *chosen) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *set = rows_text(chosen, "set");
    const char *reason = rows_text(chosen, "reason");
    if (set == NULL) {
        return;
    }
    buf_printf(&text, "%s", rows_text(chosen, "version"));
    if (reason != NULL) {
        buf_printf(&text, "; %s was set but %s", set, reason);
    } else {
        buf_add_text(&text, ", set");
    }
    rows_add_line(out, "default", text.data);
}

static void add_compatibility(struct buf *out, yyjson_val *compatibility) {
    size_t at;
    size_t count;
    yyjson_val *difference;
    if (compatibility == NULL) {
        return;
    }
    buf_printf(out, "\nnot compatible with %s, although its version promises it\n",
               rows_text(compatibility, "older"));
    yyjson_arr_foreach (yyjson_obj_get(compatibility, "differences"), at, count, difference) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        const char *field = rows_text(difference, "field");
        buf_printf(&text, "%s: %s", field[0] != '\0' ? field : "/", rows_text(difference, "text"));
        add_lines(out, text.data);
    }
}

/* Append a text. A crash that it quotes is described below and named by its number here. */
static void add_with_crash(struct buf *out, const char *text, yyjson_val *crashes) {
    size_t at;
    size_t count;
    yyjson_val *crash;
    yyjson_arr_foreach (crashes, at, count, crash) {
        const char *reason = rows_text(crash, "reason");
        const char *found = reason != NULL && reason[0] != '\0' ? strstr(text, reason) : NULL;
        if (found != NULL) {
            buf_printf(out, "%.*s%s %llu%s", (int)(found - text), text,
                       yyjson_is_true(yyjson_obj_get(crash, "stopped")) ? "stop" : "crash",
                       (unsigned long long)rows_number(crash, "id"), found + strlen(reason));
            return;
        }
    }
    buf_add_text(out, text);
}

static void add_reason(struct buf *out, yyjson_val *root) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_with_crash(&text, rows_member(root, "reason", ""), yyjson_obj_get(root, "crashes"));
    rows_add_line(out, "reason", text.failed ? NULL : text.data);
}

static void add_history(struct buf *out, yyjson_val *history, yyjson_val *crashes) {
    size_t at;
    size_t count;
    yyjson_val *happening;
    if (yyjson_arr_size(history) > 0) {
        buf_add_text(out, "\nhistory\n");
    }
    yyjson_arr_foreach (history, at, count, happening) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        const char *event = rows_member(happening, "event", "");
        bool is_crash = strcmp(event, "crash") == 0 || strcmp(event, "stopped") == 0;
        char time[ROWS_TIME_ROOM];
        buf_printf(&text, "%s  %s%s", time_of(happening, time), is_crash ? "" : event,
                   is_crash ? "" : "  ");
        add_with_crash(&text, rows_member(happening, "text", ""), crashes);
        add_lines(out, text.data);
    }
}

static void print_text(struct buf *out, yyjson_val *root) {
    const char *plugin =
            rows_text(root, "plugin"); /* neither is known of a file that is no plugin */
    const char *version = rows_text(root, "version");
    const char *title = plugin != NULL ? plugin : rows_text(root, "file");
    buf_printf(out, "%s%s%s\n\n", title != NULL ? title : "", version != NULL ? " " : "",
               version != NULL ? version : "");
    rows_add_line(out, "state",
                  rows_state(rows_text(root, "state"), true,
                             yyjson_is_true(yyjson_obj_get(root, "kept"))));
    add_reason(out, root);
    rows_add_line(out, "file", rows_text(root, "file"));
    if (version != NULL) {
        add_content(out, root);
    }
    for_each(out, yyjson_obj_get(root, "retired"), add_retired);
    for_each(out, yyjson_obj_get(root, "refused"), add_refused);
    rows_add_line(out, "tool", rows_text(root, "tool"));
    rows_add_line(out, "permission", rows_text(root, "permission"));
    rows_add_line(out, "deprecated", rows_text(root, "deprecated"));
    add_default(out, yyjson_obj_get(root, "default"));
    add_compatibility(out, yyjson_obj_get(root, "compatibility"));
    size_t at;
    size_t count;
    yyjson_val *field;
    yyjson_val *change;
    json_obj_foreach (yyjson_obj_get(root, "changed"), at, count, field, change) {
        add_change(out, yyjson_get_str(field), change);
    }
    add_history(out, yyjson_obj_get(root, "history"), yyjson_obj_get(root, "crashes"));
    for_each(out, yyjson_obj_get(root, "crashes"), add_crash);
}

/* Show the one crash that --crash names. */
static int show_crash(struct cli *cli, yyjson_val *root) {
    const char *id = cli->options.crash;
    yyjson_val *crash = NULL;
    if (id_find(yyjson_obj_get(root, "crashes"), "id", id, &crash, cli->own) < 0) {
        return cli_fail_usage(cli);
    }
    if (crash == NULL) {
        (void)cli_error(cli, TOOLRACK_E_NOT_FOUND, "%s has no stored crash %s",
                        cli->options.words.items[0], id);
        return cli_fail(cli);
    }
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_begin();
        return json_print(cli, copy, yyjson_val_mut_copy(copy, crash));
    }
    add_crash(&cli->out, crash);
    return CLI_OK;
}

int verb_why(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_why(cli->host, cli->options.words.items[0], &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json && cli->options.crash == NULL) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    if (cli->options.crash != NULL) {
        return show_crash(cli, yyjson_doc_get_root(doc));
    }
    print_text(&cli->out, yyjson_doc_get_root(doc));
    return CLI_OK;
}

int verb_release(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    if (!cli_keeps(cli) || toolrack_release(cli->host, name, NULL, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s released", name);
        cli_end_decision(cli);
        return CLI_OK;
    }
    return json_print_done(cli, name, "released", true);
}
