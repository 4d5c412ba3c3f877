/* select: from a sentence to the tool that does it, with its arguments. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/calling.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/choose.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* ------------------------------------------------------------------ forgetting */

/* What was kept of the texts of a caller. */
static int forget(struct cli *cli, const char *who) {
    uint64_t count = 0;
    if (!cli_keeps(cli) || toolrack_select_forget(cli->host, who, &count, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "forgotten: %llu text%s of %s\n", (unsigned long long)count,
                   count == 1 ? "" : "s", who);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "caller", who);
    (void)yyjson_mut_obj_add_uint(doc, root, "forgotten", count);
    return json_print(cli, doc, root);
}

/* -------------------------------------------------------------------- printing */

static const char *const headings[] = {"CANDIDATE", "SCORE",   "FUNCTION",  "PARAMETERS",
                                       "COST",      "SUCCESS", "PERMISSION"};

static void add_number(struct table *table, yyjson_val *object, const char *key) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "%.2f", yyjson_get_num(yyjson_obj_get(object, key)));
    table_add(table, text.data);
}

static void add_candidate(struct table *table, yyjson_val *row) {
    yyjson_val *scores = yyjson_obj_get(row, "scores");
    bool is_granted = yyjson_get_bool(yyjson_obj_get(row, "granted"));
    const char *permission = rows_member(row, "permission", "");
    table_add(table, rows_member(row, "tool", NULL));
    add_number(table, row, "score");
    add_number(table, scores, "function");
    add_number(table, scores, "parameters");
    add_number(table, scores, "cost");
    add_number(table, scores, "success");
    table_add(table, strcmp(permission, "dangerous") != 0 ? permission
                     : is_granted                         ? "dangerous, granted"
                                                          : "dangerous, not granted");
}

static void print_candidates(struct cli *cli, yyjson_val *root) {
    CLEANUP(table_finish) struct table table;
    size_t at;
    size_t count;
    yyjson_val *row;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    yyjson_arr_foreach (yyjson_obj_get(root, "candidates"), at, count, row) {
        add_candidate(&table, row);
    }
    if (count > 0) {
        buf_add_char(&cli->out, '\n');
        table_print(&table, cli->width, &cli->out, &cli->styles);
    }
}

/* The command that makes the call, or grants the tool; `arguments`: NULL: none. */
static void add_command(struct buf *out, const char *label, const char *verb, const char *tool,
                        const char *arguments) {
    CLEANUP(buf_finish) struct buf command = BUF_INIT;
    if (command_begin(&command, verb) && command_add_word(&command, tool) &&
        (arguments == NULL || command_add_word(&command, arguments))) {
        rows_add_line(out, label, command.failed ? NULL : command.data);
    }
}

static void print_questions(struct buf *out, yyjson_val *list, const char *label) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (list, at, count, row) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        const char *reason = rows_text(row, "reason");
        buf_printf(&line, "%s%s%s: %s", rows_member(row, "parameter", ""),
                   reason != NULL ? " " : "", reason != NULL ? reason : "",
                   rows_member(row, "question", ""));
        rows_add_line(out, label, line.failed ? NULL : line.data);
    }
}

/* "unit, place": the parameters whose value nothing says; empty: there are none. */
static void add_assumed(struct buf *out, yyjson_val *root) {
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_arr_foreach (yyjson_obj_get(root, "assumed"), at, count, name) {
        buf_printf(out, "%s%s", at > 0 ? ", " : "", yyjson_get_str(name));
    }
}

/* What the text wants besides, each in quotation marks; empty: nothing. */
static void add_undone(struct buf *out, yyjson_val *root) {
    size_t at;
    size_t count;
    yyjson_val *wish;
    yyjson_arr_foreach (yyjson_obj_get(root, "undone"), at, count, wish) {
        buf_printf(out, "%s\"%s\"", at > 0 ? ", " : "", yyjson_get_str(wish));
    }
}

/* "qwen3 decided evaluate, arguments": what a model had to do with it; empty: nothing. */
static void add_model(struct buf *out, yyjson_val *root) {
    yyjson_val *model = yyjson_obj_get(root, "model");
    const char *problem = rows_text(model, "problem");
    const char *before = " decided ";
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *step;
    if (!yyjson_is_obj(model)) {
        return;
    }
    buf_add_text(out, rows_member(model, "name", ""));
    yyjson_val *steps = yyjson_obj_get(root, "steps");
    json_obj_foreach (steps, at, count, name, step) {
        if (yyjson_equals_str(yyjson_obj_get(step, "by"), "model")) {
            buf_printf(out, "%s%s", before, yyjson_get_str(name));
            before = ", ";
        }
    }
    buf_add_text(out, before[0] == ' ' ? " decided nothing" : "");
    buf_printf(out, "%s%s", problem != NULL ? ": " : "", problem != NULL ? problem : "");
}

/* Whether an administrator must grant the tool first. */
static bool lacks_grant(yyjson_val *root) {
    yyjson_val *best = yyjson_arr_get_first(yyjson_obj_get(root, "candidates"));
    return !yyjson_get_bool(yyjson_obj_get(best, "granted"));
}

static bool has_questions(yyjson_val *root) {
    return yyjson_arr_size(yyjson_obj_get(root, "missing")) +
                           yyjson_arr_size(yyjson_obj_get(root, "invalid")) >
                   0 ||
           rows_text(root, "question") != NULL;
}

static void print(struct cli *cli, yyjson_val *root) {
    struct buf *out = &cli->out;
    const char *tool = rows_text(root, "tool");
    CLEANUP(buf_finish) struct buf confidence = BUF_INIT;
    CLEANUP(buf_finish) struct buf assumed = BUF_INIT;
    CLEANUP(buf_finish) struct buf model = BUF_INIT;
    CLEANUP(buf_finish) struct buf undone = BUF_INIT;
    CLEANUP(freep) char *arguments = yyjson_val_write(yyjson_obj_get(root, "arguments"), 0, NULL);
    add_assumed(&assumed, root);
    add_model(&model, root);
    buf_printf(&confidence, "%.2f (a tool is chosen from %.2f on)",
               yyjson_get_num(yyjson_obj_get(root, "confidence")),
               yyjson_get_num(yyjson_obj_get(root, "threshold")));
    rows_add_line(out, "tool", tool != NULL ? tool : "none");
    if (tool != NULL) {
        rows_add_line(out, "arguments", arguments);
        if (assumed.length > 0) {
            bool ready = yyjson_get_bool(yyjson_obj_get(root, "ready"));
            buf_add_text(&assumed, ready ? ": nothing says it, the default of the schema"
                                         : ": nothing says it");
            rows_add_line(out, "assumed", assumed.data);
        }
    }
    rows_add_line(out, "confidence", confidence.data);
    rows_add_line(out, "model", model.data);
    add_undone(&undone, root);
    rows_add_line(out, "undone", undone.data);
    print_questions(out, yyjson_obj_get(root, "missing"), "missing");
    print_questions(out, yyjson_obj_get(root, "invalid"), "invalid");
    rows_add_line(out, "question", rows_text(root, "question"));
    rows_add_line(out, "id", rows_text(root, "id"));
    if (tool != NULL && arguments != NULL && yyjson_get_bool(yyjson_obj_get(root, "ready"))) {
        add_command(out, "call it", "call", tool, arguments);
    } else if (tool != NULL && lacks_grant(root)) {
        add_command(out, "grant it", "grant", tool, NULL);
    }
    print_candidates(cli, root);
}

/* --------------------------------------------------------------------- calling */

/* Whether nothing is to be asked before a call. Of a grant that lacks, the call says what to do. */
static bool can_be_tried(yyjson_val *root) {
    return rows_text(root, "tool") != NULL && (yyjson_get_bool(yyjson_obj_get(root, "ready")) ||
                                               (lacks_grant(root) && !has_questions(root)));
}

/* What was chosen and why, before the call: standard output is for the result of the tool. */
static void tell_choice(const struct cli *cli, yyjson_val *root) {
    const char *id = rows_text(root, "id");
    CLEANUP(buf_finish) struct buf model = BUF_INIT;
    add_model(&model, root);
    if (model.length > 0) {
        output_note("model: %s", model.data);
    }
    if (cli->options.explain) {
        const char *explanation = rows_member(root, "explanation", "");
        for (const char *line = explanation; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            output_note("%.*s", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
    if (id != NULL) {
        output_note("this choice is %s, for 'feedback --select'", id);
    }
}

/* Why there is no call to make. */
static int refuse_call(struct cli *cli, yyjson_val *root) {
    const char *tool = rows_text(root, "tool");
    const char *question = rows_member(root, "question", "say what is wanted in other words");
    if (tool == NULL) {
        (void)cli_error(cli, TOOLRACK_E_NOT_FOUND, "no tool fits well enough (%.2f of %.2f): %s",
                        yyjson_get_num(yyjson_obj_get(root, "confidence")),
                        yyjson_get_num(yyjson_obj_get(root, "threshold")), question);
    } else {
        (void)cli_error(cli, TOOLRACK_E_INVALID_ARGUMENTS,
                        "'%s' cannot be called yet, an argument is missing or invalid: %s", tool,
                        question);
        cli_error_set_tool(cli, tool);
    }
    return cli_fail(cli);
}

/* Whether the tool, and not a person or a limit, is why a call ended so. */
static bool says_of_choice(int code) {
    return code == 0 || code == TOOLRACK_E_EXECUTION_FAILED || code == TOOLRACK_E_TIMEOUT ||
           code == TOOLRACK_E_INVALID_ARGUMENTS;
}

/* Whether a part of a schema may say that something is a secret, or refers to a part that may. */
static bool may_be_secret(yyjson_val *schema) {
    static const char *const words[] = {"writeOnly", "password", "$ref", "$dynamicRef"};
    CLEANUP(freep) char *text = yyjson_val_write(schema, 0, NULL);
    bool may = text == NULL;
    for (size_t i = 0; !may && i < ARRAY_LENGTH(words); i++) {
        may = strstr(text, words[i]) != NULL;
    }
    return may;
}

/* Whether an argument may be shown: one that the schema knows, if none of its parts says that it is
 * a secret. */
static bool may_show(yyjson_val *schema, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    yyjson_val *own = yyjson_obj_get(yyjson_obj_get(schema, "properties"), name);
    json_obj_foreach (schema, at, count, key, part) {
        if (yyjson_is_ctn(part) && !yyjson_equals_str(key, "properties") &&
            !yyjson_equals_str(key, "required") && may_be_secret(part)) {
            return false;
        }
    }
    return own != NULL && !may_be_secret(own);
}

/* The arguments without secrets, for the line that says what is called. NULL: out of memory. */
static char *write_shown(const struct toolrack_tool *tool, yyjson_val *arguments) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    const char *text = toolrack_tool_schema(tool);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *schema = text != NULL ? yyjson_read(text, strlen(text), 0) : NULL;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *shown = yyjson_mut_obj(doc);
    yyjson_val *root = yyjson_doc_get_root(schema);
    bool has_secrets = may_be_secret(root);
    json_obj_foreach (arguments, at, count, key, value) {
        bool shows = !has_secrets || may_show(root, yyjson_get_str(key));
        (void)yyjson_mut_obj_add(shown, yyjson_val_mut_copy(doc, key),
                                 shows ? yyjson_val_mut_copy(doc, value)
                                       : yyjson_mut_str(doc, "***"));
    }
    return yyjson_mut_val_write(shown, 0, NULL);
}

/* What the text wants besides is told last, where it is read. */
static void tell_undone(yyjson_val *root) {
    CLEANUP(buf_finish) struct buf undone = BUF_INIT;
    add_undone(&undone, root);
    if (undone.length > 0) {
        output_note("left undone: %s", undone.data);
    }
}

static int call(struct cli *cli, yyjson_val *root) {
    const char *name = rows_text(root, "tool");
    const char *id = rows_text(root, "id");
    tell_choice(cli, root);
    if (!can_be_tried(root)) {
        return refuse_call(cli, root);
    }
    CLEANUP(buf_finish) struct buf assumed = BUF_INIT;
    add_assumed(&assumed, root);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = cli_find_called(cli, name);
    CLEANUP(freep) char *arguments = yyjson_val_write(yyjson_obj_get(root, "arguments"), 0, NULL);
    if (tool == NULL) {
        return cli_fail(cli);
    }
    if (arguments == NULL) {
        return cli_oom(cli), cli_fail(cli);
    }
    int code = 0;
    CLEANUP(freep) char *shown = write_shown(tool, yyjson_obj_get(root, "arguments"));
    output_note("%s %s%s%s", name, shown != NULL ? shown : "",
                assumed.length > 0 ? "; nothing says, assumed: " : "",
                assumed.length > 0 ? assumed.data : "");
    int status = calling_run(cli, tool, name, arguments, &code);
    tell_undone(root);
    if (id != NULL && says_of_choice(code)) {
        /* The call has its result, whether that can be kept or not. */
        (void)toolrack_select_worked(cli->host, NULL, id, code == 0, NULL);
    }
    return status;
}

int verb_select(struct cli *cli) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    options.principal = cli->options.caller != NULL ? cli->options.caller : who;
    if (cli->options.forget && cli->options.words.count == 0) {
        return forget(cli, options.principal);
    }
    if (cli->options.forget || cli->options.words.count == 0) {
        if (cli->options.forget) {
            (void)cli_error(cli, TOOLRACK_E_INVALID, "--forget takes no text");
        } else {
            (void)cli_error(cli, TOOLRACK_E_INVALID,
                            "an argument is missing; usage: toolrack %s %s",
                            cli->options.verb->name, cli->options.verb->arguments);
        }
        return cli_fail_usage(cli);
    }
    options.text = cli->options.words.items[0];
    options.context = cli->options.context;
    options.limit = cli->options.limit;
    options.explain = cli->options.explain;
    if (toolrack_select(cli->host, &options, &text, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (root == NULL) {
        return cli_oom(cli), cli_fail(cli);
    }
    if (cli->options.calls) {
        return call(cli, root);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    if (cli->options.explain) {
        const char *explanation = rows_member(root, "explanation", "");
        text_add_escaped(&cli->out, explanation, strlen(explanation));
        return CLI_OK;
    }
    print(cli, root);
    return CLI_OK;
}
