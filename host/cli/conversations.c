#include "cli/conversations.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/id.h"
#include "cli/json.h"
#include "cli/rows.h"

static void add_conversation(struct table *table, yyjson_val *conversation) {
    char steps[24];
    (void)snprintf(steps, sizeof steps, "%llu",
                   (unsigned long long)rows_number(conversation, "steps"));
    table_add(table, rows_member(conversation, "id", NULL));
    rows_add_time(table, yyjson_obj_get(conversation, "last_ms"), 1000, "-");
    table_add(table, rows_member(conversation, "model", "-"));
    table_add(table, steps);
    table_add(table, rows_member(conversation, "task", "-"));
}

int conversations_list(struct cli *cli) {
    static const char *const headings[] = {"ID", "LAST", "MODEL", "STEPS", "TASK"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_conversations(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_conversation,
                                          .nothing = "no conversation is kept"});
}

/* The row of an id, or of the only one that begins so; without `given` the first. */
static int find(struct cli *cli, yyjson_val *rows, const char *given, yyjson_val **ret) {
    *ret = given != NULL ? NULL : yyjson_arr_get_first(rows);
    int code = given != NULL ? id_find(rows, "id", given, ret, cli->own) : 0;
    if (code == 0 && *ret == NULL && given == NULL) {
        code = cli_error(cli, TOOLRACK_E_NOT_FOUND, "no conversation is kept: begin one");
    } else if (code == 0 && *ret == NULL) {
        code = cli_error(cli, TOOLRACK_E_NOT_FOUND,
                         "no conversation is kept with the id \"%s\"; list those that are: %s",
                         given, COMMAND("agent --list"));
    }
    return code;
}

int conversations_forget(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_conversations(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *row = NULL;
    int code = find(cli, yyjson_doc_get_root(doc), cli->options.forgotten, &row);
    if (code < 0) {
        return code == TOOLRACK_E_INVALID ? cli_fail_usage(cli) : cli_fail(cli);
    }
    const char *id = rows_member(row, "id", "");
    if (toolrack_conversation_remove(cli->host, id, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s is removed\n", id);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *out = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(out);
    json_add_text(out, root, "id", id);
    (void)yyjson_mut_obj_add_bool(out, root, "removed", true);
    return json_print(cli, out, root);
}

int conversations_find(struct cli *cli, char ret_id[TOOLRACK_CONVERSATION_ID_SIZE],
                       enum toolrack_format *ret_format) {
    const struct options *options = &cli->options;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    const char *id = options->resume;
    if (options->goes_on && (id != NULL || options->transcript != NULL)) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--continue is the last conversation of the state folder; leave it out "
                         "with --%s, or say which one: --resume ID",
                         id != NULL ? "resume" : "transcript");
    }
    if (toolrack_conversations(cli->host, &text, cli->err) < 0) {
        return toolrack_error_code(cli->err);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    if (options->transcript == NULL) {
        yyjson_val *row = NULL;
        int code = find(cli, yyjson_doc_get_root(doc), id, &row);
        if (code < 0) {
            return code;
        }
        id = rows_member(row, "id", "");
        if (toolrack_format_find(rows_member(row, "format", ""), ret_format, cli->err) < 0) {
            return toolrack_error_code(cli->err);
        }
    }
    if (snprintf(ret_id, TOOLRACK_CONVERSATION_ID_SIZE, "%s", id) >=
        TOOLRACK_CONVERSATION_ID_SIZE) {
        return cli_error(cli, TOOLRACK_E_INVALID, "\"%s\" is not the id of a conversation", id);
    }
    return 0;
}
