/* runs: runs of plans that are kept. */
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/id.h"
#include "cli/json.h"
#include "cli/rows.h"
#include "cli/runs.h"
#include "toolrack/plan.h"

/* -------------------------------------------------------------------- list */

static bool is_bad(const char *state) {
    return strcmp(state, "failed") == 0 || strcmp(state, "interrupted") == 0 ||
           strcmp(state, "waiting") == 0;
}

/* From its beginning to its end, with the time in which it was interrupted; "" for one that has not
 * ended. */
static void add_duration(struct buf *out, yyjson_val *run) {
    const uint64_t began_ms = rows_number(run, "created_ms");
    const uint64_t ended_ms = rows_number(run, "ended_ms");
    if (ended_ms >= began_ms && ended_ms > 0) {
        text_add_duration(out, (ended_ms - began_ms) * CLOCK_NS_PER_MS);
    }
}

/* "3 of 5": of the nodes, so many have ended with a result. */
static void add_run(struct table *table, yyjson_val *run) {
    CLEANUP(buf_finish) struct buf done = BUF_INIT;
    CLEANUP(buf_finish) struct buf duration = BUF_INIT;
    const char *state = rows_member(run, "state", "");
    buf_printf(&done, "%llu of %llu", (unsigned long long)rows_number(run, "succeeded"),
               (unsigned long long)rows_number(run, "nodes"));
    table_add(table, rows_member(run, "id", NULL));
    table_add(table, rows_member(run, "name", "-"));
    table_add(table, state);
    if (is_bad(state)) {
        table_emphasize(table, STYLE_BAD);
    }
    table_add(table, done.failed ? "" : done.data);
    rows_add_time(table, yyjson_obj_get(run, "created_ms"), 1000, "-");
    add_duration(&duration, run);
    table_add(table, duration.length > 0 && !duration.failed ? duration.data : "-");
    table_add(table, rows_member(run, "caller", "-"));
}

static int list(struct cli *cli) {
    static const char *const headings[] = {"ID",    "PLAN",     "STATE", "DONE",
                                           "SINCE", "DURATION", "CALLER"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_runs(cli->host, cli->options.owner, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_run,
                                          .nothing = "no run of a plan is kept"});
}

/* ---------------------------------------------------------------- one run */

int runs_find(struct cli *cli, const char *given, char **ret) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_runs(cli->host, cli->options.owner, &text, cli->err) < 0) {
        return toolrack_error_code(cli->err);
    }
    return id_complete(text, "id", given, ret, cli->own);
}

static void add_node(struct table *table, yyjson_val *node) {
    CLEANUP(freep) char *result = NULL;
    CLEANUP(buf_finish) struct buf attempts = BUF_INIT;
    yyjson_val *value = yyjson_obj_get(node, "result");
    const char *state = rows_member(node, "state", "");
    const char *text = rows_member(yyjson_obj_get(node, "error"), "message", NULL);
    const char *fallback = rows_member(yyjson_obj_get(node, "fallback"), "message", NULL);
    result = value != NULL ? yyjson_val_write(value, 0, NULL) : NULL;
    buf_printf(&attempts, "%llu", (unsigned long long)rows_number(node, "attempts"));
    table_add(table, rows_member(node, "id", NULL));
    table_add(table, rows_member(node, "tool", "-"));
    table_add(table, rows_text(node, "word") != NULL ? "needs a word"
                     : fallback != NULL              ? "fallback"
                                                     : state);
    if (strcmp(state, "failed") == 0 || rows_text(node, "word") != NULL) {
        table_emphasize(table, STYLE_BAD);
    }
    table_add(table, attempts.failed ? "" : attempts.data);
    table_add(table, text != NULL     ? text
                     : result != NULL ? result
                                      : rows_member(node, "unkept", "-"));
}

static void add_commands(struct buf *out, yyjson_val *run) {
    size_t at;
    size_t count;
    yyjson_val *command;
    yyjson_arr_foreach (yyjson_obj_get(run, "resume"), at, count, command) {
        rows_add_line(out, at == 0 ? "go on" : "or", yyjson_get_str(command));
    }
}

/* A value as JSON, if it says something. */
static void add_value(struct buf *out, const char *label, yyjson_val *value) {
    CLEANUP(freep)
    char *text = value != NULL && !(yyjson_is_obj(value) && yyjson_obj_size(value) == 0)
                         ? yyjson_val_write(value, 0, NULL)
                         : NULL;
    rows_add_line(out, label, text);
}

static int show(struct cli *cli, const char *id) {
    static const char *const headings[] = {"NODE", "TOOL", "STATE", "ATTEMPTS", "RESULT"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_run_get(cli->host, cli->options.owner, id, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *run = yyjson_doc_get_root(doc);
    if (run == NULL) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    rows_add_line(&cli->out, "id", rows_text(run, "id"));
    rows_add_line(&cli->out, "plan", rows_text(run, "name"));
    rows_add_line(&cli->out, "state", rows_text(run, "state"));
    CLEANUP(buf_finish) struct buf duration = BUF_INIT;
    char since[ROWS_TIME_ROOM];
    add_duration(&duration, run);
    rows_add_line(&cli->out, "since",
                  rows_time((int64_t)(rows_number(run, "created_ms") / 1000), since));
    rows_add_line(&cli->out, "duration", duration.failed ? NULL : duration.data);
    rows_add_line(&cli->out, "caller", rows_text(run, "caller"));
    add_value(&cli->out, "inputs", yyjson_obj_get(run, "inputs"));
    rows_add_line(&cli->out, "error", rows_text(run, "error"));
    if (strcmp(rows_member(run, "state", ""), "succeeded") == 0) {
        add_value(&cli->out, "result", yyjson_obj_get(run, "result"));
    }
    add_commands(&cli->out, run);
    CLEANUP(table_finish) struct table table;
    size_t at;
    size_t count;
    yyjson_val *node;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    yyjson_arr_foreach (yyjson_obj_get(run, "nodes"), at, count, node) {
        add_node(&table, node);
    }
    table_print(&table, cli->width, &cli->out, &cli->styles);
    return CLI_OK;
}

static int end_decision(struct cli *cli, const char *id, const char *key, const char *words) {
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s %s\n", id, words);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "id", id);
    (void)yyjson_mut_obj_add_bool(doc, root, key, true);
    return json_print(cli, doc, root);
}

int verb_runs(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    const char *first = words->count > 0 ? words->items[0] : "list";
    bool cancels = strcmp(first, "cancel") == 0;
    bool removes = strcmp(first, "remove") == 0;
    bool is_action = cancels || removes || strcmp(first, "show") == 0;
    CLEANUP(freep) char *id = NULL;
    if (words->count < 2 && strcmp(first, "list") == 0) {
        return list(cli);
    }
    if ((words->count == 2) != is_action) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "the argument must be list, or the id of a run, or show, cancel or remove "
                        "with the id of one, as in 'toolrack runs show ID'");
        return cli_fail_usage(cli);
    }
    if (runs_find(cli, words->items[words->count - 1], &id) < 0) {
        return cli_fail_usage(cli);
    }
    if (!cancels && !removes) {
        return show(cli, id);
    }
    int code = cancels ? toolrack_run_cancel(cli->host, cli->options.owner, id, cli->err)
                       : toolrack_run_remove(cli->host, cli->options.owner, id, cli->err);
    if (code < 0) {
        return cli_fail(cli);
    }
    return end_decision(cli, id, cancels ? "cancelled" : "removed",
                        cancels ? "is cancelled" : "is removed");
}
