/* search: the tools whose texts fit a sentence. */
#include "base/text.h"
#include "cli/json.h"
#include "cli/rows.h"
#include "cli/verb-install.h"
#include "toolrack/choose.h"

static const char *const headings[] = {"TOOL", "SCORE", "LIST", "PERMISSION", "DESCRIPTION"};
static const char *const reason_headings[] = {"TOOL", "SCORE", "LIST", "WORD", "IN"};

static void add_tool(struct table *table, yyjson_val *row) {
    CLEANUP(buf_finish) struct buf score = BUF_INIT;
    buf_printf(&score, "%.2f", yyjson_get_real(yyjson_obj_get(row, "score")));
    table_add(table, rows_member(row, "tool", NULL));
    table_add(table, score.data);
    table_add(table, yyjson_get_bool(yyjson_obj_get(row, "whitelisted")) ? "whitelist" : NULL);
}

static void add_row(struct table *table, yyjson_val *row) {
    add_tool(table, row);
    table_add(table, rows_member(row, "permission", NULL));
    table_add(table, rows_member(row, "description", NULL));
}

static void add_reasons(struct table *table, yyjson_val *row) {
    size_t at;
    size_t count;
    yyjson_val *reason;
    yyjson_arr_foreach (yyjson_obj_get(row, "reasons"), at, count, reason) {
        add_tool(table, row);
        table_add(table, rows_member(reason, "text", NULL));
        table_add(table, rows_member(reason, "field", NULL));
    }
}

int verb_search(struct cli *cli) {
    if (cli->options.packages) {
        return install_search_verb(cli);
    }
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    options.text = cli->options.words.items[0];
    options.limit = cli->options.limit;
    options.principal = who;
    if (toolrack_search(cli->host, &options, &text, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    static const char nothing[] = "no tool fits; use other words";
    const struct rows_view view = {headings, ARRAY_LENGTH(headings), add_row, nothing};
    const struct rows_view explained = {reason_headings, ARRAY_LENGTH(reason_headings), add_reasons,
                                        nothing};
    return rows_print(cli, text, cli->options.explain ? &explained : &view);
}
