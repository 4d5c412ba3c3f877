/* plan: a plan from a text, for 'toolrack run'. */
#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/choose.h"
#include "toolrack/plan.h"

/* "add is unsure: why: question": a line for each thing that nobody said. */
static void add_unsure(struct buf *out, yyjson_val *row) {
    const char *node = rows_text(row, "node");
    const char *question = rows_text(row, "question");
    const char *reason = rows_text(row, "reason");
    const char *pointer = rows_text(row, "pointer");
    buf_printf(out, "%s%s", node != NULL ? node : "", node != NULL ? ": " : "");
    if (pointer != NULL && strcmp(rows_member(row, "about", ""), "input") == 0) {
        buf_printf(out, "input %s, ", strrchr(pointer, '/') + 1);
    }
    buf_printf(out, "%s%s%s", reason != NULL ? reason : "",
               reason != NULL && question != NULL ? ": " : "", question != NULL ? question : "");
}

/* What is unsure: rows of the text, or notes beside a plan that a program reads. */
static void tell_unsure(struct cli *cli, yyjson_val *root) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_obj_get(root, "unsure"), at, count, row) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        add_unsure(&line, row);
        if (cli->options.json) {
            output_note("%s", line.failed ? "out of memory" : line.data);
        } else {
            rows_add_line(&cli->out, "unsure", line.failed ? NULL : line.data);
        }
    }
}

static void print_after(struct buf *out, yyjson_val *node) {
    size_t at;
    size_t count;
    yyjson_val *before;
    yyjson_arr_foreach (yyjson_obj_get(node, "depends_on"), at, count, before) {
        buf_printf(out, "%s%s", at == 0 ? ", after " : ", ", yyjson_get_str(before));
    }
}

static void print(struct cli *cli, yyjson_val *root) {
    yyjson_val *plan = yyjson_obj_get(root, "plan");
    size_t at;
    size_t count;
    yyjson_val *node;
    yyjson_arr_foreach (yyjson_obj_get(plan, "nodes"), at, count, node) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        CLEANUP(freep)
        char *arguments = yyjson_val_write(yyjson_obj_get(node, "arguments"), 0, NULL);
        buf_printf(&line, "%s: %s %s", rows_member(node, "id", ""), rows_member(node, "tool", ""),
                   arguments != NULL ? arguments : "");
        print_after(&line, node);
        rows_add_line(&cli->out, "node", line.failed ? NULL : line.data);
    }
    tell_unsure(cli, root);
}

int verb_plan(struct cli *cli) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    options.principal = cli->options.caller != NULL ? cli->options.caller : who;
    options.text = cli->options.words.items[0];
    options.context = cli->options.context;
    if (toolrack_plan_make(cli->host, &options, &text, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *plan = yyjson_obj_get(root, "plan");
    if (root == NULL) {
        return cli_oom(cli), cli_fail(cli);
    }
    if (!yyjson_is_obj(plan)) {
        yyjson_val *first = yyjson_arr_get_first(yyjson_obj_get(root, "unsure"));
        (void)cli_error(cli, TOOLRACK_E_NOT_FOUND, "no tool fits well enough: %s",
                        rows_member(first, "question", "say what is wanted in other words"));
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        print(cli, root);
        return CLI_OK;
    }
    tell_unsure(cli, root);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_begin();
    return json_print(cli, copy, yyjson_val_mut_copy(copy, plan));
}
