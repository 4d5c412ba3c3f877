/* tasks: calls that a server has answered with a task. */
#include <string.h>

#include "cli/id.h"
#include "cli/json.h"
#include "cli/rows.h"
#include "toolrack/serving.h"

static int read_tasks(struct cli *cli, struct toolrack_text **ret) {
    return toolrack_tasks(cli->host, cli->options.owner, ret, cli->err);
}

/* -------------------------------------------------------------------- list */

static void add_task(struct table *table, yyjson_val *task) {
    const char *status = rows_member(task, "status", "");
    table_add(table, rows_member(task, "taskId", NULL));
    table_add(table, rows_member(task, "owner", NULL));
    table_add(table, rows_member(task, "tool", NULL));
    table_add(table, status);
    if (strcmp(status, "failed") == 0) {
        table_emphasize(table, STYLE_BAD);
    }
    table_add(table, rows_member(task, "createdAt", NULL));
    table_add(table, rows_member(task, "statusMessage", NULL));
}

static int list(struct cli *cli) {
    static const char *const headings[] = {"ID", "OWNER", "TOOL", "STATUS", "SINCE", "MESSAGE"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (read_tasks(cli, &text) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_task,
                                          .nothing = cli->options.owner != NULL
                                                             ? "this owner has no task"
                                                             : "there are no tasks"});
}

/* ---------------------------------------------------------------- one task */

/* The id that begins with what was typed; the same when none does: then the host says why. To be
 * freed. @return 0; or the code of the failure. */
static int find(struct cli *cli, const char *given, char **ret) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (read_tasks(cli, &text) < 0) {
        return toolrack_error_code(cli->err);
    }
    return id_complete(text, "taskId", given, ret, cli->own);
}

static void add_value(struct buf *out, const char *label, yyjson_val *value) {
    CLEANUP(freep) char *text = value != NULL ? yyjson_val_write(value, 0, NULL) : NULL;
    rows_add_line(out, label, text);
}

static int show(struct cli *cli, const char *id) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_task_get(cli->host, cli->options.owner, id, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read_exact(text);
    yyjson_val *task = yyjson_doc_get_root(doc);
    struct buf *out = &cli->out;
    rows_add_line(out, "id", rows_text(task, "taskId"));
    rows_add_line(out, "owner", rows_text(task, "owner"));
    rows_add_line(out, "tool", rows_text(task, "tool"));
    rows_add_line(out, "version", rows_text(task, "version"));
    rows_add_line(out, "status", rows_text(task, "status"));
    rows_add_line(out, "message", rows_text(task, "statusMessage"));
    rows_add_line(out, "since", rows_text(task, "createdAt"));
    rows_add_line(out, "updated", rows_text(task, "lastUpdatedAt"));
    add_value(out, "kept ms", yyjson_obj_get(task, "ttlMs"));
    add_value(out, "asks", yyjson_obj_get(task, "inputRequests"));
    add_value(out, "result", yyjson_obj_get(task, "result"));
    add_value(out, "error", yyjson_obj_get(task, "error"));
    if (doc == NULL) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    return CLI_OK;
}

static int cancel(struct cli *cli, const char *id) {
    if (!cli_keeps(cli) || toolrack_task_cancel(cli->host, cli->options.owner, id, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s is cancelled", id);
        cli_end_decision(cli);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "id", id);
    (void)yyjson_mut_obj_add_bool(doc, root, "cancelled", true);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

static int remove_ended(struct cli *cli, const char *id) {
    if (!cli_keeps(cli) || toolrack_task_remove(cli->host, cli->options.owner, id, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s is removed\n", id);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "id", id);
    (void)yyjson_mut_obj_add_bool(doc, root, "removed", true);
    return json_print(cli, doc, root);
}

int verb_tasks(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    const char *action = words->count > 0 ? words->items[0] : "list";
    bool shows = strcmp(action, "show") == 0;
    if (words->count < 2 && strcmp(action, "list") == 0) {
        return list(cli);
    }
    bool removes = strcmp(action, "remove") == 0;
    if (words->count == 2 && (shows || removes || strcmp(action, "cancel") == 0)) {
        CLEANUP(freep) char *id = NULL;
        if (find(cli, words->items[1], &id) < 0) {
            return cli_fail_usage(cli);
        }
        return shows ? show(cli, id) : removes ? remove_ended(cli, id) : cancel(cli, id);
    }
    (void)cli_error(
            cli, TOOLRACK_E_INVALID,
            "the argument must be list, or show, cancel or remove with the id of one task, as in "
            "'toolrack tasks show ID'");
    return cli_fail_usage(cli);
}
