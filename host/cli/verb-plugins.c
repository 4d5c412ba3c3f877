/* plugins: one row for each plugin, and for each file of which nothing was registered. */
#include <stdio.h>
#include <string.h>

#include "cli/json.h"
#include "cli/rows.h"

static const char *const headings[] = {"ID",    "VERSION",   "TRUST",       "STATE",
                                       "TOOLS", "ISOLATION", "FILE, REASON"};

/* The last cell also has the reason of the state. */
static void add_file(struct table *table, yyjson_val *row) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *reason = rows_member(row, "reason", NULL);
    buf_printf(&text, "%s%s%s", rows_member(row, "file", "the app"), reason != NULL ? ": " : "",
               reason != NULL ? reason : "");
    table_add(table, text.failed ? NULL : text.data);
}

static void add_row(struct table *table, yyjson_val *row) {
    char tools[24];
    bool is_kept = yyjson_get_bool(yyjson_obj_get(row, "kept"));
    const char *state = rows_state(rows_member(row, "state", ""), true, is_kept);
    (void)snprintf(tools, sizeof tools, "%llu", (unsigned long long)rows_number(row, "tools"));
    table_add(table, rows_member(row, "id", NULL));
    table_add(table, rows_member(row, "version", NULL));
    table_add(table, rows_member(row, "trust", NULL));
    table_add(table, state);
    table_emphasize(table, style_of_state(state));
    table_add(table, tools);
    table_add(table, rows_member(row, "isolation", NULL));
    add_file(table, row);
}

int verb_plugins(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_plugins_info(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = "there are no plugins"});
}
